#include "tests/support/random_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/ops/op.h"

namespace assay {
namespace {

constexpr int kVersion = 17;

class Generator {
 public:
  Generator(Random& random, const RandomGraphOptions& options) : random_(random), o_(options) {}

  Graph run() {
    g_.name = "random";
    inputs();
    collect_steps();
    const std::int64_t target = pick(o_.min_nodes, o_.max_nodes);
    for (int tries = 0; static_cast<std::int64_t>(g_.node_count()) < target && tries < 20 * o_.max_nodes; ++tries)
      (this->*steps_[index(steps_.size())])();
    outputs();
    return std::move(g_);
  }

 private:
  using Step = void (Generator::*)();

  // --- drawing ---
  std::int64_t pick(std::int64_t lo, std::int64_t hi) { return random_.between(lo, hi); }
  std::size_t index(std::size_t count) {
    return static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(count) - 1));
  }
  bool chance(double p) { return random_.uniform() < p; }
  template <std::size_t N>
  std::string one_of(const std::array<const char*, N>& names) {
    return names[index(N)];
  }

  // --- building ---
  const Shape& shape(TensorId t) const { return g_.tensor(t).type.shape; }

  std::vector<TensorId> node(const std::string& op, std::vector<TensorId> in, Attributes attributes = {},
                             std::size_t results = 1) {
    Node n;
    n.name = op + std::to_string(g_.node_count());
    n.op = op;
    n.version = kVersion;
    n.attributes = std::move(attributes);
    n.inputs = std::move(in);
    n.sources = {n.name};
    for (std::size_t i = 0; i < results; ++i) n.outputs.push_back(g_.add_tensor("t_" + n.name, {}));
    const std::vector<TensorId> out = n.outputs;
    const NodeId id = g_.add_node(std::move(n));
    const std::vector<TensorType> types = infer_node(op_context(g_, id));
    for (std::size_t i = 0; i < out.size(); ++i) g_.set_type(out[i], types[i]);
    return out;
  }
  TensorId one(const std::string& op, std::vector<TensorId> in, Attributes attributes = {}) {
    return node(op, std::move(in), std::move(attributes))[0];
  }
  void keep(TensorId t) { live_.push_back(t); }

  static Attributes with(std::initializer_list<std::pair<const char*, AttributeValue>> values) {
    Attributes a;
    for (const auto& [key, value] : values) a.set(key, value);
    return a;
  }

  TensorId floats(Shape s, double deviation, double offset = 0) {
    Tensor t({DType::f32, std::move(s)});
    for (std::int64_t i = 0; i < t.size(); ++i) t.set(i, offset + deviation * random_.normal());
    return g_.add_constant("w", std::make_shared<const Tensor>(std::move(t)));
  }
  TensorId positive(Shape s) {
    Tensor t({DType::f32, std::move(s)});
    for (std::int64_t i = 0; i < t.size(); ++i) t.set(i, 0.5 + random_.uniform());
    return g_.add_constant("p", std::make_shared<const Tensor>(std::move(t)));
  }
  TensorId ints(const std::vector<std::int64_t>& v) {
    return g_.add_constant("i", std::make_shared<const Tensor>(
                                    Tensor::of<std::int64_t>(DType::i64, {static_cast<std::int64_t>(v.size())}, v)));
  }
  TensorId scalar(DType t, double v) {
    return g_.add_constant("s", std::make_shared<const Tensor>(Tensor::scalar(t, v)));
  }

  // A random live value, preferably a recent one, of at least `rank` dimensions (exactly, if `exact`).
  std::optional<TensorId> any(std::size_t rank = 0, bool exact = false) {
    std::vector<TensorId> fit;
    for (const TensorId t : live_)
      if (exact ? shape(t).size() == rank : shape(t).size() >= rank) fit.push_back(t);
    if (fit.empty()) return std::nullopt;
    const std::size_t last = fit.size() - 1;
    return fit[last - std::min(last, static_cast<std::size_t>(std::floor(std::abs(random_.normal()) * 2)))];
  }

  // --- the parts ---
  void inputs() {
    const auto extent = [&] { return pick(1, o_.max_extent); };
    if (o_.convolutions || chance(0.3))
      keep(g_.add_input("image",
                        {DType::f32, {pick(1, 2), extent(), pick(3, 2 * o_.max_extent), pick(3, 2 * o_.max_extent)}}));
    if (o_.products || live_.empty()) keep(g_.add_input("rows", {DType::f32, {extent(), extent()}}));
    if (chance(0.4)) keep(g_.add_input("batch", {DType::f32, {pick(1, 3), extent(), extent()}}));
  }

  void collect_steps() {
    const auto add = [&](bool wanted, std::initializer_list<Step> steps) {
      if (wanted) steps_.insert(steps_.end(), steps);
    };
    add(o_.convolutions, {&Generator::conv, &Generator::conv, &Generator::batch_norm, &Generator::pool});
    add(o_.products, {&Generator::matmul, &Generator::matmul, &Generator::gemm});
    add(o_.elementwise, {&Generator::unary, &Generator::unary, &Generator::binary, &Generator::binary});
    add(o_.reductions, {&Generator::reduce});
    add(o_.movement, {&Generator::transpose, &Generator::reshape, &Generator::slice, &Generator::concat,
                      &Generator::split, &Generator::pad});
    add(o_.normalisations, {&Generator::softmax, &Generator::layer_norm, &Generator::layer_norm_in_pieces});
    add(o_.quantised, {&Generator::fake_quantise});
    add(o_.noise, {&Generator::noise});
    if (steps_.empty()) steps_.push_back(&Generator::unary);
  }

  // x, or x through QuantizeLinear and DequantizeLinear.
  TensorId maybe_quantised(TensorId x) {
    if (!o_.quantised || !chance(0.4)) return x;
    return quantised(x);
  }
  TensorId quantised(TensorId x) {
    const bool is_signed = chance(0.5);
    const DType type = is_signed ? DType::i8 : DType::u8;
    const TensorId scale = scalar(DType::f32, 0.02 + 0.03 * random_.uniform());
    const TensorId zero = scalar(type, static_cast<double>(is_signed ? pick(-3, 3) : pick(120, 135)));
    return one("DequantizeLinear", {one("QuantizeLinear", {x, scale, zero}), scale, zero});
  }
  // A weight as floats, or as int8 with a scale per index of `axis`.
  TensorId weight(Shape s, double deviation, std::int64_t axis, bool as_int8) {
    if (!as_int8) return floats(std::move(s), deviation);
    Tensor q({DType::i8, s});
    for (std::int64_t i = 0; i < q.size(); ++i) q.set(i, static_cast<double>(pick(-127, 127)));
    const std::int64_t channels = s[static_cast<std::size_t>(axis)];
    Tensor scale({DType::f32, {channels}});
    for (std::int64_t i = 0; i < channels; ++i) scale.set(i, deviation * (0.5 + random_.uniform()) / 73);
    const TensorId values = g_.add_constant("q", std::make_shared<const Tensor>(std::move(q)));
    const TensorId scales = g_.add_constant("qs", std::make_shared<const Tensor>(std::move(scale)));
    return one("DequantizeLinear", {values, scales}, with({{"axis", axis}}));
  }

  void conv() {
    const auto found = any(4, true);
    if (!found) return;
    const TensorId x = maybe_quantised(*found);
    const Shape s = shape(x);
    const std::int64_t kernel = pick(1, std::min<std::int64_t>(3, std::min(s[2], s[3])));
    const std::int64_t pad = pick(0, kernel / 2), stride = pick(1, 2);
    std::int64_t group = chance(0.3) ? s[1] : 1;
    if (s[1] % 2 == 0 && chance(0.2)) group = 2;
    const std::int64_t filters = group * pick(1, std::max<std::int64_t>(1, o_.max_extent / group));
    const double deviation = 1 / std::sqrt(static_cast<double>(s[1] / group * kernel * kernel));
    std::vector<TensorId> in = {x, weight({filters, s[1] / group, kernel, kernel}, deviation, 0, x != *found)};
    if (chance(0.6)) in.push_back(floats({filters}, 0.1));
    Attributes a = with({{"kernel_shape", std::vector<std::int64_t>{kernel, kernel}},
                         {"strides", std::vector<std::int64_t>{stride, stride}},
                         {"pads", std::vector<std::int64_t>{pad, pad, pad, pad}},
                         {"group", group}});
    keep(one("Conv", in, std::move(a)));
  }

  void batch_norm() {
    const auto x = any(2);
    if (!x) return;
    const Shape c = {shape(*x)[1]};
    keep(one("BatchNormalization", {*x, positive(c), floats(c, 0.2), floats(c, 0.2), positive(c)}));
  }

  void pool() {
    const auto found = any(4, true);
    if (!found) return;
    const TensorId x = maybe_quantised(*found);
    if (chance(0.2)) return keep(one("GlobalAveragePool", {x}));
    const std::int64_t kernel = pick(1, std::min<std::int64_t>(3, std::min(shape(x)[2], shape(x)[3])));
    const std::int64_t pad = kernel / 2, stride = pick(1, 2);
    keep(one(one_of(std::array{"MaxPool", "AveragePool"}), {x},
             with({{"kernel_shape", std::vector<std::int64_t>{kernel, kernel}},
                   {"strides", std::vector<std::int64_t>{stride, stride}},
                   {"pads", std::vector<std::int64_t>{pad, pad, pad, pad}}})));
  }

  void matmul() {
    const auto found = any(2);
    if (!found) return;
    const TensorId x = maybe_quantised(*found);
    const std::int64_t k = shape(x).back();
    TensorId w;
    if (chance(0.25)) {  // two activations: x · xᵀ
      std::vector<std::int64_t> perm(shape(x).size());
      std::iota(perm.begin(), perm.end(), 0);
      std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
      const TensorId scaled = one("Mul", {x, scalar(DType::f32, 1.0 / static_cast<double>(k))});
      w = one("Transpose", {scaled}, with({{"perm", perm}}));
    } else {
      w = weight({k, pick(1, o_.max_extent)}, 1 / std::sqrt(static_cast<double>(k)), 1, x != *found);
    }
    TensorId y = one("MatMul", {x, w});
    if (chance(0.5)) y = one("Add", {y, floats({shape(y).back()}, 0.1)});
    keep(y);
  }

  void gemm() {
    const auto found = any(2, true);
    if (!found) return;
    const TensorId x = maybe_quantised(*found);
    const bool trans_a = chance(0.3), trans_b = chance(0.5);
    const std::int64_t k = shape(x)[trans_a ? 0 : 1], n = pick(1, o_.max_extent);
    const bool as_int8 = x != *found;
    const TensorId w =
        weight(trans_b ? Shape{n, k} : Shape{k, n}, 1 / std::sqrt(static_cast<double>(k)), trans_b ? 0 : 1, as_int8);
    std::vector<TensorId> in = {x, w};
    Attributes a = with({{"transA", std::int64_t{trans_a}}, {"transB", std::int64_t{trans_b}}});
    if (chance(0.2)) a.set("alpha", 0.5);
    if (chance(0.7)) {
      in.push_back(floats({n}, 0.1));
      if (chance(0.2)) a.set("beta", 2.0);
    }
    keep(one("Gemm", in, std::move(a)));
  }

  void unary() {
    const auto x = any();
    if (!x) return;
    const std::string op = one_of(
        std::array{"Relu", "Tanh", "Sigmoid", "Abs", "Neg", "Erf", "LeakyRelu", "Softplus", "Sqrt", "Exp", "Clip"});
    if (op == "Sqrt") return keep(one(op, {one("Abs", {*x})}));
    if (op == "Exp") return keep(one(op, {one("Tanh", {*x})}));
    if (op == "Clip") return keep(one(op, {*x, scalar(DType::f32, -1), scalar(DType::f32, 6)}));
    keep(one(op, {*x}));
  }

  void binary() {
    const auto x = any();
    if (!x) return;
    const std::string op = one_of(std::array{"Add", "Sub", "Mul", "Div", "Max", "Min"});
    std::vector<TensorId> same;
    for (const TensorId t : live_)
      if (shape(t) == shape(*x)) same.push_back(t);
    if (op != "Div" && chance(0.5)) {
      TensorId y = one(op, {*x, same[index(same.size())]});
      if (op == "Mul") y = one("Tanh", {y});  // squares of squares would overflow
      return keep(y);
    }
    // A constant that broadcasts: some trailing dimensions, some of them 1.
    Shape s = shape(*x);
    s.erase(s.begin(), s.begin() + pick(0, static_cast<std::int64_t>(s.size())));
    for (std::int64_t& d : s)
      if (chance(0.3)) d = 1;
    const TensorId c = op == "Div" ? positive(s) : floats(s, 0.7);
    keep(op == "Div" || chance(0.7) ? one(op, {*x, c}) : one(op, {c, *x}));
  }

  void reduce() {
    const auto x = any(1);
    if (!x) return;
    const auto rank = static_cast<std::int64_t>(shape(*x).size());
    const std::int64_t axis = pick(0, rank - 1);
    const std::string op = one_of(std::array{"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"});
    Attributes a = with({{"keepdims", pick(0, 1)}});
    std::vector<TensorId> in = {*x};
    if (op == "ReduceSum") {  // its axes are an operand since opset 13
      in.push_back(ints({axis}));
    } else {
      a.set("axes", std::vector<std::int64_t>{axis});
    }
    keep(one(op, in, std::move(a)));
  }

  void transpose() {
    const auto found = any(2);
    if (!found) return;
    const TensorId x = maybe_quantised(*found);
    std::vector<std::int64_t> perm(shape(x).size());
    std::iota(perm.begin(), perm.end(), 0);
    for (std::size_t i = perm.size(); i-- > 1;) std::swap(perm[i], perm[index(i + 1)]);
    TensorId y = one("Transpose", {x}, with({{"perm", perm}}));
    if (chance(0.3)) {  // and back, perhaps around something elementwise
      if (chance(0.5)) y = one("Relu", {y});
      std::vector<std::int64_t> back(perm.size());
      for (std::size_t i = 0; i < perm.size(); ++i)
        back[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
      y = one("Transpose", {y}, with({{"perm", back}}));
    }
    keep(y);
  }

  void reshape() {
    const auto found = any(1);
    if (!found) return;
    const TensorId x = maybe_quantised(*found);
    const Shape s = shape(x);
    const std::int64_t kind = pick(0, 3);
    if (kind == 0) return keep(one("Flatten", {x}, with({{"axis", pick(0, static_cast<std::int64_t>(s.size()))}})));
    if (kind == 1 && s.size() < 5)
      return keep(one("Unsqueeze", {x, ints({pick(0, static_cast<std::int64_t>(s.size()))})}));
    if (s.size() < 2) return keep(one("Reshape", {x, ints({1, -1})}));
    // Merge two neighbouring dimensions; the merged one may be left open.
    const std::size_t at = index(s.size() - 1);
    std::vector<std::int64_t> merged(s.begin(), s.end());
    merged[at] = chance(0.5) ? -1 : s[at] * s[at + 1];
    merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    keep(one("Reshape", {x, ints(merged)}));
  }

  void slice() {
    const auto found = any(1);
    if (!found) return;
    const TensorId x = maybe_quantised(*found);
    const std::size_t axis = index(shape(x).size());
    const std::int64_t extent = shape(x)[axis], from = pick(0, extent - 1), to = pick(from + 1, extent);
    keep(one("Slice", {x, ints({from}), ints({to}), ints({static_cast<std::int64_t>(axis)}), ints({pick(1, 2)})}));
  }

  void concat() {
    const auto x = any(1);
    if (!x) return;
    const std::size_t axis = index(shape(*x).size());
    std::vector<TensorId> in = {*x};
    for (const TensorId t : live_) {
      Shape a = shape(t), b = shape(*x);
      if (a.size() != b.size() || in.size() == 3) continue;
      a[axis] = b[axis] = 1;
      if (a == b && chance(0.5)) in.push_back(t);
    }
    keep(one("Concat", in, with({{"axis", static_cast<std::int64_t>(axis)}})));
  }

  void split() {
    const auto found = any(1);
    if (!found) return;
    const TensorId x = maybe_quantised(*found);
    const std::size_t axis = index(shape(x).size());
    const std::int64_t extent = shape(x)[axis];
    if (extent < 2) return;
    const std::int64_t first = pick(1, extent - 1);
    const Attributes a = with({{"axis", static_cast<std::int64_t>(axis)}});
    const std::vector<TensorId> parts = node("Split", {x, ints({first, extent - first})}, a, 2);
    if (chance(0.3)) return keep(one("Concat", parts, a));
    for (const TensorId t : parts) keep(t);
  }

  void pad() {
    const auto x = any(1);
    if (!x) return;
    std::vector<std::int64_t> pads(2 * shape(*x).size());
    for (std::int64_t& p : pads) p = chance(0.3) ? 1 : 0;
    keep(one("Pad", {*x, ints(pads), scalar(DType::f32, chance(0.5) ? 0.0 : 0.5)}));
  }

  void softmax() {
    const auto x = any(1);
    if (!x) return;
    const auto rank = static_cast<std::int64_t>(shape(*x).size());
    keep(one("Softmax", {*x}, with({{"axis", pick(-rank, rank - 1)}})));
  }

  void layer_norm() {
    const auto x = any(1);
    if (!x) return;
    const Shape last = {shape(*x).back()};
    keep(one("LayerNormalization", {*x, positive(last), floats(last, 0.2)}, with({{"axis", std::int64_t{-1}}})));
  }

  void layer_norm_in_pieces() {
    const auto x = any(2);
    if (!x) return;
    const Shape last = {shape(*x).back()};
    const Attributes axes = with({{"axes", std::vector<std::int64_t>{-1}}, {"keepdims", std::int64_t{1}}});
    const TensorId d = one("Sub", {*x, one("ReduceMean", {*x}, axes)});
    const TensorId variance = one("ReduceMean", {one("Pow", {d, scalar(DType::f32, 2)})}, axes);
    const TensorId root = one("Sqrt", {one("Add", {variance, scalar(DType::f32, 1e-5)})});
    TensorId y = one("Mul", {one("Div", {d, root}), positive(last)});
    if (chance(0.8)) y = one("Add", {y, floats(last, 0.2)});
    keep(y);
  }

  void fake_quantise() {
    const auto x = any();
    if (x) keep(quantised(*x));
  }

  void noise() {
    const auto x = any();
    if (!x) return;
    switch (pick(0, 4)) {
      case 0:
        return keep(one("Identity", {*x}));
      case 1: {  // computed from constants
        const TensorId c = one("Add", {floats({1}, 0.5), floats({1}, 0.5)});
        return keep(one("Add", {*x, c}));
      }
      case 2:
        one("Tanh", {*x});
        return;  // dead
      case 3: {  // twice the same
        const TensorId a = one("Sigmoid", {*x}), b = one("Sigmoid", {*x});
        return keep(one("Add", {a, b}));
      }
      default:
        return keep(one("Mul", {*x, scalar(DType::f32, 1)}));
    }
  }

  void outputs() {
    std::vector<TensorId> ends;
    for (const TensorId t : live_)
      if (g_.producer(t) && (g_.uses(t).empty() || chance(0.1))) ends.push_back(t);
    if (ends.empty()) ends.push_back(one("Relu", {live_.front()}));
    for (const TensorId t : ends) g_.mark_output(t);
  }

  Random& random_;
  const RandomGraphOptions& o_;
  Graph g_;
  std::vector<TensorId> live_;
  std::vector<Step> steps_;
};

}  // namespace

Graph random_graph(Random& random, const RandomGraphOptions& options) { return Generator(random, options).run(); }

}  // namespace assay
