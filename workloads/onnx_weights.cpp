#include "workloads/onnx_weights.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

namespace assay {
namespace {

struct Reader {
  const FlatNode* node = nullptr;
  int operand = 0;
};
using Readers = std::unordered_map<std::string, std::vector<Reader>>;

const onnx::AttributeProto* attribute(const onnx::NodeProto& n, const std::string& name) {
  for (const auto& a : n.attribute())
    if (a.name() == name) return &a;
  return nullptr;
}

std::int64_t product_from(const Shape& s, std::size_t first) {
  std::int64_t p = 1;
  for (std::size_t i = first; i < s.size(); ++i) p *= s[i];
  return p;
}

std::int64_t from_end(const Shape& s, std::size_t back) { return s.size() >= back ? s[s.size() - back] : s[0]; }

bool vector_like(const Shape& s) { return s.empty() || product_from(s, 0) == *std::max_element(s.begin(), s.end()); }

bool flag(const onnx::NodeProto& n, const std::string& name) {
  const auto* a = attribute(n, name);
  return a != nullptr && a->i() != 0;
}

/// The role of an operand of shape `s`; nothing where the operation only rearranges it or does not tell.
std::optional<WeightUse> role_of(const Reader& r, const Shape& s) {
  const std::string& op = r.node->op;
  const onnx::NodeProto& n = *r.node->proto;
  const int i = r.operand;
  const auto matrix = [](std::int64_t fan_in) { return WeightUse{WeightRole::matrix, fan_in, false}; };
  const auto plain = [](WeightRole role) { return WeightUse{role, 1, false}; };
  if (op == "Conv" && i == 1) return matrix(product_from(s, 1));
  if (op == "ConvTranspose" && i == 1 && s.size() > 1) return matrix(s[0] * product_from(s, 2));
  if ((op == "Conv" || op == "ConvTranspose") && i == 2) return plain(WeightRole::bias);
  if (op == "MatMul" && !s.empty()) return matrix(i == 1 ? from_end(s, 2) : from_end(s, 1));
  if (op == "Gemm" && i < 2 && s.size() == 2) {
    const bool reduced_first = (i == 0) == flag(n, i == 0 ? "transA" : "transB");
    return matrix(reduced_first ? s[0] : s[1]);
  }
  if (op == "Gemm" && i == 2) return plain(WeightRole::bias);
  if ((op == "LSTM" || op == "GRU" || op == "RNN") && (i == 1 || i == 2) && !s.empty()) return matrix(s.back());
  if ((op == "LSTM" || op == "GRU" || op == "RNN") && i == 3) return plain(WeightRole::bias);
  if (op == "Gather" && i == 0 && s.size() >= 2) return plain(WeightRole::table);
  if (op == "BatchNormalization" && i > 0)
    return plain(i == 1 ? WeightRole::scale : i == 4 ? WeightRole::variance : WeightRole::bias);
  if ((op == "LayerNormalization" || op == "InstanceNormalization" || op == "GroupNormalization") && i > 0)
    return plain(i == 1 ? WeightRole::scale : WeightRole::bias);
  if (op == "RMSNormalization" && i == 1) return plain(WeightRole::scale);
  if (op == "PRelu" && i == 1) return plain(WeightRole::bias);
  if (product_from(s, 0) <= 1) return std::nullopt;  // constants of formulas: epsilon, sqrt(2), …
  if (op == "Add" || op == "Sub" || op == "Sum" || op == "Concat")
    return WeightUse{vector_like(s) ? WeightRole::bias : WeightRole::table, 1, true};
  if (op == "Mul" && vector_like(s)) return WeightUse{WeightRole::scale, 1, true};
  return std::nullopt;
}

/// The shape of the first result where the operation only rearranges its first operand. Where the shape is not known
/// here (Reshape) the operand's stands for it: it serves for a fan-in only.
std::optional<Shape> rearranged(const Reader& r, const Shape& s) {
  static const std::set<std::string> kRearranging = {"Identity", "Cast",    "Reshape", "Flatten", "Squeeze",
                                                     "Expand",   "Dropout", "Slice",   "Split",   "Unsqueeze"};
  if (r.operand != 0) return std::nullopt;
  if (r.node->op == "Transpose") {
    Shape out(s.rbegin(), s.rend());
    if (const auto* perm = attribute(*r.node->proto, "perm")) {
      if (perm->ints_size() != static_cast<int>(s.size())) return std::nullopt;
      for (std::size_t d = 0; d < s.size(); ++d) {
        const std::int64_t from = perm->ints(static_cast<int>(d));
        if (from < 0 || from >= static_cast<std::int64_t>(s.size())) return std::nullopt;
        out[d] = s[static_cast<std::size_t>(from)];
      }
    }
    return out;
  }
  if (kRearranging.contains(r.node->op)) return s;
  return std::nullopt;
}

WeightUse use_of(const std::string& value, const Shape& shape, const Readers& readers,
                 const std::map<std::string, TensorType>& constants, int depth) {
  WeightUse best;
  const auto consider = [&best](const WeightUse& use) {
    if (use.role == WeightRole::none) return;
    const bool better = best.role == WeightRole::none || (best.weak && !use.weak) ||
                        (best.role != WeightRole::matrix && use.role == WeightRole::matrix);
    if (better) best = use;
  };
  const auto it = readers.find(value);
  if (it == readers.end() || depth == 0) return best;
  for (const Reader& r : it->second) {
    if (const auto role = role_of(r, shape)) {
      consider(*role);
      continue;
    }
    const auto next = rearranged(r, shape);
    // A copy (Identity of a constant) is a constant of its own.
    if (!next || r.node->proto->output_size() == 0 || constants.contains(r.node->proto->output(0))) continue;
    consider(use_of(r.node->proto->output(0), *next, readers, constants, depth - 1));
  }
  return best;
}

}  // namespace

std::map<std::string, WeightUse> weight_uses(const std::vector<FlatNode>& nodes,
                                             const std::map<std::string, TensorType>& constants) {
  constexpr int kMaxChain = 8;
  Readers readers;
  for (const FlatNode& n : nodes)
    for (int i = 0; i < n.proto->input_size(); ++i)
      if (!n.proto->input(i).empty()) readers[n.proto->input(i)].push_back({&n, i});
  std::map<std::string, WeightUse> out;
  for (const auto& [name, type] : constants)
    if (is_float(type.dtype)) out[name] = use_of(name, type.shape, readers, constants, kMaxChain);
  return out;
}

bool looks_like_parameter(const Tensor& t) {
  bool any = t.shape().size() < 2;
  for (std::int64_t i = 0; i < t.size(); ++i) {
    const double v = t.get(i);
    if (!std::isfinite(v) || std::abs(v) >= 1000) return false;
    any = any || v != 0;
  }
  return any;
}

}  // namespace assay
