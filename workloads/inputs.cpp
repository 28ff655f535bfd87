#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/base/random.h"
#include "workloads/arrays.h"

namespace assay {
namespace {

constexpr int kMaxChain = 16;
constexpr std::int64_t kMostBytes = std::int64_t{4} << 30;

std::string lower(std::string s) {
  for (char& c : s)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return s;
}

/// The smallest table that the values of `t` index, found by following them through rearranging operations.
std::optional<std::int64_t> index_limit(const Graph& g, TensorId t, int depth) {
  static const std::set<std::string> kRearranging = {"Cast",      "Reshape", "Flatten", "Identity",  "Squeeze",
                                                     "Unsqueeze", "Expand",  "Slice",   "Transpose", "Concat"};
  std::optional<std::int64_t> limit;
  const auto consider = [&limit](std::optional<std::int64_t> l) {
    if (l && (!limit || *l < *limit)) limit = l;
  };
  for (const Use& u : g.uses(t)) {
    const Node& n = g.node(u.node);
    if ((n.op == "Gather" || n.op == "GatherElements") && u.operand == 1) {
      const Shape& table = g.tensor(n.inputs[0]).type.shape;
      const std::int64_t axis = n.attributes.integer("axis", 0);
      const auto rank = static_cast<std::int64_t>(table.size());
      consider(table[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)]);
    } else if (depth > 0 && kRearranging.contains(n.op) && n.outputs[0].valid()) {
      consider(index_limit(g, n.outputs[0], depth - 1));
    }
  }
  return limit;
}

struct Range {
  std::int64_t low = 0, high = 7;
};

Range integer_range(const Graph& g, TensorId t) {
  const GraphTensor& tensor = g.tensor(t);
  if (const auto limit = index_limit(g, t, kMaxChain)) return {0, std::max<std::int64_t>(*limit - 1, 0)};
  if (lower(tensor.name).find("mask") != std::string::npos) return {0, 1};
  switch (tensor.type.dtype) {
    case DType::i8:
      return {-128, 127};
    case DType::u8:
      return {0, 255};
    case DType::i4:
      return {-8, 7};
    case DType::u4:
      return {0, 15};
    default:
      return {};
  }
}

void fill(const Graph& g, TensorId id, Random& random, Tensor& t) {
  const bool mask = lower(g.tensor(id).name).find("mask") != std::string::npos;
  const Range range = is_integer(t.dtype()) ? integer_range(g, id) : Range{};
  // Masks keep most of a row and always its first element, so that no softmax is over nothing.
  const std::int64_t row = t.shape().empty() ? 1 : t.shape().back();
  for (std::int64_t i = 0; i < t.size(); ++i) {
    if (mask || t.dtype() == DType::boolean) {
      const bool keep = random.next() % 8 != 0;
      t.set(i, keep || i % row == 0 ? 1 : 0);
    } else if (is_float(t.dtype())) {
      t.set(i, random.normal());
    } else {
      t.set(i, static_cast<double>(random.between(range.low, range.high)));
    }
  }
}

}  // namespace

TensorMap seeded_inputs(const Graph& g, std::uint64_t seed) {
  TensorMap out;
  std::int64_t left = kMostBytes;
  for (const TensorId id : g.inputs()) {
    const GraphTensor& tensor = g.tensor(id);
    Random random(seed, tensor.name);
    left -= std::min(left, tensor.type.bytes());
    if (left == 0)
      throw InputError("input '" + tensor.name + "'",
                       fmt::format("{} takes {} bytes; values are made up for less than {} of all inputs together",
                                   to_string(tensor.type), tensor.type.bytes(), kMostBytes));
    Tensor t(tensor.type);
    fill(g, id, random, t);
    out[tensor.name] = std::make_shared<const Tensor>(std::move(t));
  }
  return out;
}

}  // namespace assay
