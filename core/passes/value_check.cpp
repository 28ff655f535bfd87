#include "core/passes/value_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/random.h"

namespace assay {
namespace {

// Two steps of a range of 128 steps: what a turned tie is worth at the output of a quantiser.
constexpr double kQuantisedTolerance = 1.0 / 64;

bool quantises(const Graph& g) {
  const std::vector<NodeId> nodes = g.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId n) {
    const std::string& op = g.node(n).op;
    return op == "QuantizeLinear" || op == "DynamicQuantizeLinear" || op == "QLinearConv" || op == "QLinearMatMul";
  });
}

double epsilon_ratio(const Graph& g) {
  double ratio = 1;
  for (const TensorId t : g.tensors()) {
    if (g.tensor(t).type.dtype == DType::f16) ratio = std::max(ratio, 0x1p13);
    if (g.tensor(t).type.dtype == DType::bf16) ratio = std::max(ratio, 0x1p16);
  }
  return ratio;
}

double largest_magnitude(const Tensor& t) {
  double largest = 0;
  for (std::int64_t i = 0; i < t.size(); ++i)
    if (const double v = std::abs(t.get(i)); std::isfinite(v)) largest = std::max(largest, v);
  return largest;
}

}  // namespace

TensorMap random_inputs(const Graph& g, std::uint64_t seed, std::int64_t largest_integer) {
  TensorMap inputs;
  for (const TensorId t : g.inputs()) {
    const GraphTensor& tensor = g.tensor(t);
    Random random(seed, tensor.name);
    Tensor value(tensor.type);
    for (std::int64_t i = 0; i < value.size(); ++i) {
      if (is_float(tensor.type.dtype)) {
        value.set(i, random.normal());
      } else if (tensor.type.dtype == DType::boolean) {
        value.set(i, static_cast<double>(random.between(0, 1)));
      } else if (tensor.type.dtype == DType::i8 || tensor.type.dtype == DType::u8) {
        value.set(i, static_cast<double>(random.between(0, 255) - (tensor.type.dtype == DType::i8 ? 128 : 0)));
      } else {
        value.set(i, static_cast<double>(random.between(0, largest_integer)));
      }
    }
    inputs[tensor.name] = std::make_shared<const Tensor>(std::move(value));
  }
  return inputs;
}

std::string explain_difference(const Graph& g, const TensorMap& got, const TensorMap& expected, double tolerance) {
  const bool ties = tolerance > 0 && quantises(g);
  double float_tolerance = tolerance * epsilon_ratio(g);
  if (ties) float_tolerance = std::max(float_tolerance, kQuantisedTolerance);
  if (got.size() != expected.size()) return fmt::format("{} outputs, expected {}", got.size(), expected.size());
  for (const auto& [name, want] : expected) {
    const auto it = got.find(name);
    if (it == got.end()) return fmt::format("output '{}' is gone", name);
    const Tensor& have = *it->second;
    if (have.type() != want->type())
      return fmt::format("output '{}' is {}, expected {}", name, to_string(have.type()), to_string(want->type()));
    const bool is_small_integer = is_integer(want->dtype()) && bits(want->dtype()) <= 16;
    double abs = 0;
    if (is_float(want->dtype()) && tolerance > 0) abs = float_tolerance * largest_magnitude(*want);
    if (is_small_integer && ties) abs = 1;
    const Comparison c = compare(have, *want, abs, 0);
    if (!c.equal) return fmt::format("output '{}' (tolerance {:.3g}): {}", name, abs, c.to_string());
    if (tolerance > 0 || !is_float(want->dtype())) continue;
    // compare() takes −0 for 0; a pass that says "bit-exact" must not.
    for (std::int64_t i = 0; i < want->size(); ++i)
      if (std::signbit(have.get(i)) != std::signbit(want->get(i)) && !std::isnan(want->get(i)))
        return fmt::format("output '{}': the sign of zero differs at element {}", name, i);
  }
  return "";
}

ValueCheck::ValueCheck(const Graph& g, std::uint64_t seed) {
  // Integers may be indices into something small: try again with smaller ones before giving up.
  for (const std::int64_t largest : {std::int64_t{3}, std::int64_t{1}, std::int64_t{0}}) {
    inputs_ = random_inputs(g, seed, largest);
    try {
      expected_ = evaluate_graph(g, inputs_);
      return;
    } catch (const InputError& e) {
      if (largest == 0)
        throw InputError("graph '" + g.name + "'",
                         std::string("values can't be checked, because it can't be executed: ") + e.what());
    }
  }
}

void ValueCheck::require_same(const Graph& g, const Pass& pass) {
  TensorMap got;
  try {
    got = evaluate_graph(g, inputs_);
  } catch (const InputError& e) {
    throw InternalError(fmt::format("pass '{}' made a graph that can't be executed: {}", pass.name, e.what()));
  }
  const std::string difference = explain_difference(g, got, expected_, pass.tolerance);
  if (!difference.empty())
    throw InternalError(fmt::format("pass '{}' changed the values of the graph: {}", pass.name, difference));
  expected_ = std::move(got);
}

}  // namespace assay
