#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/isa/verify.h"
#include "explorers/evaluate.h"
#include "hwmodels/functional/machine.h"

namespace assay {
namespace {

/// Relative tolerance of a float comparison: rounding of the type, grown by the square root of the longest fold (the
/// machine adds in another order than the reference).
double tolerance(const Graph& g) {
  double longest = 64;
  double unit = std::numeric_limits<float>::epsilon();
  for (const TensorId t : g.tensors()) {
    const GraphTensor& gt = g.tensor(t);
    if (gt.type.dtype == DType::f16) unit = std::max(unit, 0x1p-10);
    if (gt.type.dtype == DType::bf16) unit = std::max(unit, 0x1p-7);
    if (gt.kind == TensorKind::constant && gt.type.shape.size() >= 2) {
      longest = std::max(longest, static_cast<double>(element_count(gt.type.shape)) /
                                      static_cast<double>(std::max<std::int64_t>(1, gt.type.shape.front())));
    }
  }
  return 8 * unit * std::sqrt(longest);
}

struct Worst {
  double error = 0, sqnr = std::numeric_limits<double>::infinity();
  std::string detail;
};

double peak_magnitude(const Tensor& t) {
  double m = 0;
  for (std::int64_t i = 0; i < t.size(); ++i) {
    const double v = std::abs(t.get(i));
    if (std::isfinite(v)) m = std::max(m, v);
  }
  return m;
}

/// Float errors are measured against the tensor's own magnitude; integers must be equal.
void compare_output(const std::string& name, const Tensor& got, const Tensor& expected, double tol, Worst& w) {
  const bool exact = !is_float(expected.dtype());
  const double scale = peak_magnitude(expected);
  const Comparison c = compare(got, expected, exact ? 0 : tol * scale, exact ? 0 : tol);
  w.error = std::max(w.error, scale > 0 ? c.max_abs_error / scale : c.max_abs_error);
  if (!c.equal && w.detail.empty()) w.detail = fmt::format("output '{}': {}", name, c.to_string());
}

/// Executes a graph's program and finds the first intermediate, in graph order, that differs from the reference. Every
/// tensor that has bytes of its own in DRAM at the end can be read back; for the others the graph is cut there and
/// compiled again, by bisection over the topological order.
std::string bisect(const Machine& machine, const PreparedModel& model, const CompileOptions& options,
                   MappingCache& cache, double tol) {
  EvaluateOptions keep;
  keep.keep_all = true;
  const TensorMap all = evaluate_graph(model.graph, model.inputs, keep);
  const std::vector<NodeId> order = model.graph.topological_order();
  const auto differs = [&](std::size_t count) -> std::string {
    Graph cut = model.graph;
    for (const TensorId t : model.graph.outputs()) cut.unmark_output(t);
    const NodeId last = order[count - 1];
    std::vector<std::string> names;
    for (const TensorId t : model.graph.node(last).outputs) {
      if (!t.valid()) continue;
      cut.mark_output(t);
      names.push_back(model.graph.tensor(t).name);
    }
    const CompiledModel c = compile(cut, machine, options, cache);
    FunctionalMachine fm(c.program, machine);
    for (const auto& [n, b] : c.program.inputs) fm.set(n, *model.inputs.at(n));
    for (const auto& [n, b] : c.program.constants) fm.set(n, *c.graph.tensor(*c.graph.find_tensor(n)).value);
    fm.run();
    for (const std::string& n : names) {
      Worst w;
      compare_output(n, fm.get(n), *all.at(n), tol, w);
      if (!w.detail.empty())
        return fmt::format("first differing tensor '{}' of node '{}' ({})", n, model.graph.node(last).name,
                           model.graph.node(last).op);
    }
    return "";
  };
  try {
    std::size_t good = 0, bad = order.size();
    std::string found;
    while (good + 1 < bad) {
      const std::size_t middle = (good + bad) / 2;
      const std::string d = differs(middle);
      if (d.empty()) {
        good = middle;
      } else {
        bad = middle;
        found = d;
      }
    }
    return found.empty() ? fmt::format("the last node '{}' differs", model.graph.node(order.back()).name) : found;
  } catch (const std::exception& e) {
    return fmt::format("(bisection stopped: {})", e.what());
  }
}

}  // namespace

CheckResult check_phase(const Machine& machine, const PreparedPhase& phase, bool full, const CompileOptions& options,
                        MappingCache& cache) {
  const PreparedModel& model = full ? phase.full() : phase.twin();
  CheckResult r;
  r.level = full ? "full" : "twin";
  if (!model.executable()) {
    r.detail = "not executed: weights have no values (shape-only)";
    return r;
  }
  const CompiledModel c = compile(model.graph, machine, options, cache);
  const VerifyResult v = verify_program(c.program, machine, {.max_instances = kVerifiedInstances});
  r.static_ok = v.ok();
  if (!v.ok()) {
    r.detail =
        fmt::format("{}: {}: {}", v.violations.front().rule, v.violations.front().where, v.violations.front().message);
    return r;
  }
  FunctionalMachine fm(c.program, machine);
  for (const auto& [name, buffer] : c.program.inputs) fm.set(name, *model.inputs.at(name));
  for (const auto& [name, buffer] : c.program.constants)
    fm.set(name, *c.graph.tensor(*c.graph.find_tensor(name)).value);
  fm.run();
  const TensorMap& expected = model.reference();
  const double tol = tolerance(model.graph);
  Worst w;
  for (const auto& [name, buffer] : c.program.outputs) compare_output(name, fm.get(name), *expected.at(name), tol, w);
  r.max_rel_error = w.error;
  r.passed = w.detail.empty();
  r.detail = w.detail;
  if (!r.passed) r.detail += "; " + bisect(machine, model, options, cache, tol);
  if (model.quantised) {
    r.sqnr_db = std::numeric_limits<double>::infinity();
    for (const auto& [name, value] : model.float_reference()) {
      if (expected.contains(name)) r.sqnr_db = std::min(r.sqnr_db, compare(*expected.at(name), *value, 0, 0).sqnr_db);
    }
  }
  return r;
}

}  // namespace assay
