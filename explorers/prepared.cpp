#include "explorers/prepared.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/passes/quantise.h"
#include "workloads/arrays.h"

namespace assay {

namespace {

bool has_all_values(const Graph& g) {
  const auto all = g.tensors();
  return std::none_of(all.begin(), all.end(),
                      [&](TensorId t) { return g.tensor(t).kind == TensorKind::constant && !g.tensor(t).value; });
}

}  // namespace

Graph at_precision(const Graph& g, const std::string& precision, const TensorMap& inputs) {
  if (precision == "native") return g;
  if (precision == "fp16") return convert_precision(g, DType::f16);
  if (precision == "bf16") return convert_precision(g, DType::bf16);
  if (precision == "int8") {
    // Weights by shape only can't be run for their ranges: the structure is quantised, its scales are nominal.
    const bool calibrate = has_all_values(g);
    return quantise_int8(g, calibrate ? QuantiseOptions{{inputs}} : QuantiseOptions{}).graph;
  }
  const std::vector<std::string> known{"native", "fp16", "bf16", "int8"};
  throw InputError(Diagnostic{
      {}, "precision", "unknown precision '" + precision + "'", nearest_name(precision, known).value_or("")});
}

bool PreparedModel::executable() const { return has_all_values(graph); }

const TensorMap& PreparedModel::reference() const {
  std::call_once(once_, [&] { reference_ = evaluate_graph(graph, inputs); });
  return reference_;
}

const TensorMap& PreparedModel::float_reference() const {
  std::call_once(float_once_, [&] { float_reference_ = evaluate_graph(source(), inputs); });
  return float_reference_;
}

PreparedPhase::PreparedPhase(std::string workload, const WorkloadPhase& phase, std::string precision,
                             std::uint64_t seed)
    : workload_(std::move(workload)), phase_(phase), precision_(std::move(precision)), seed_(seed) {}

const PreparedModel& PreparedPhase::get(bool twin) const {
  const std::lock_guard lock(mutex_);
  auto& slot = twin ? twin_ : full_;
  if (slot) return *slot;
  auto model = std::make_unique<PreparedModel>();
  model->source = [phase = phase_, twin] { return build(phase, twin); };
  Graph passed = model->source();
  // Models by shape only are never executed; their inputs (caches of a language model) can be large.
  if (has_all_values(passed)) model->inputs = seeded_inputs(passed, seed_);
  // Passes first: they fold what exports carry along, so that calibration and compilation see the model proper.
  PassContext context;
  run_passes(passed, standard_pipeline(), {}, context);
  passed.compact();
  model->graph = at_precision(passed, precision_, model->inputs);
  model->quantised = precision_ == "int8";
  model->remarks = std::move(context.remarks);
  slot = std::move(model);
  return *slot;
}

}  // namespace assay
