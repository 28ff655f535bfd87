#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/ops/eval.h"

// RNN, GRU and LSTM as whole sequences; opaque. Equations and operand orders are those of the ONNX specification:
// W[d, gates·H, I], R[d, gates·H, H], B[d, 2·gates·H]; gate order z r h (GRU) and i o f c (LSTM).

namespace assay {
namespace {

using Function = std::function<double(double)>;
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Plan {
  std::int64_t seq = 0, batch = 0, in = 0, hidden = 0, gates = 0;
  std::size_t dirs = 1;
  bool reverse_first = false, batch_first = false;
  double clip = 0;                  ///< 0: none
  std::vector<Function> functions;  ///< per direction, the operation's two or three
};

Function activation(const OpContext& c, const std::string& given, std::optional<double> alpha,
                    std::optional<double> beta) {
  std::string n = given;
  std::transform(n.begin(), n.end(), n.begin(), [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
  const auto a = [&](double fallback) { return alpha.value_or(fallback); };
  const auto b = [&](double fallback) { return beta.value_or(fallback); };
  if (n == "sigmoid") return sigmoid;
  if (n == "tanh") return [](double x) { return std::tanh(x); };
  if (n == "relu") return [](double x) { return std::max(0.0, x); };
  if (n == "softsign") return [](double x) { return x / (1 + std::abs(x)); };
  if (n == "softplus") return [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); };
  if (n == "affine") return [s = a(1), t = b(0)](double x) { return s * x + t; };
  if (n == "leakyrelu") return [s = a(0.01)](double x) { return x < 0 ? s * x : x; };
  if (n == "thresholdedrelu") return [s = a(1)](double x) { return x > s ? x : 0; };
  if (n == "scaledtanh") return [s = a(1), t = b(1)](double x) { return s * std::tanh(t * x); };
  if (n == "hardsigmoid") return [s = a(0.2), t = b(0.5)](double x) { return std::clamp(s * x + t, 0.0, 1.0); };
  if (n == "elu") return [s = a(1)](double x) { return x < 0 ? s * std::expm1(x) : x; };
  c.reject("unknown activation '" + given + "'");
}

Plan plan_of(const OpContext& c) {
  const Attributes& a = *c.attributes;
  require_type(c, 0, kFloats);
  for (std::size_t i = 0; i < 3; ++i) require_rank(c, i, 3);
  Plan p;
  p.gates = c.op == "LSTM" ? 4 : c.op == "GRU" ? 3 : 1;
  p.batch_first = a.integer("layout", 0) != 0;
  const Shape& x = c.shape(0);
  p.seq = x[p.batch_first ? 1 : 0];
  p.batch = x[p.batch_first ? 0 : 1];
  p.in = x[2];
  const std::string direction = a.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    c.reject("unknown direction '" + direction + "'");
  p.dirs = direction == "bidirectional" ? 2 : 1;
  p.reverse_first = direction == "reverse";
  p.hidden = c.shape(2)[2];
  if (a.integer("hidden_size", p.hidden) != p.hidden) c.reject("hidden_size does not fit the recurrent weights");
  p.clip = a.real("clip", 0);
  const auto d = static_cast<std::int64_t>(p.dirs);
  const auto expect = [&](std::size_t i, const Shape& s) {
    if (c.has(i) && c.shape(i) != s)
      c.reject(fmt::format("operand {} has shape {}, expected {}", i, to_string(c.shape(i)), to_string(s)));
  };
  const Shape state = p.batch_first ? Shape{p.batch, d, p.hidden} : Shape{d, p.batch, p.hidden};
  expect(1, {d, p.gates * p.hidden, p.in});
  expect(2, {d, p.gates * p.hidden, p.hidden});
  expect(3, {d, 2 * p.gates * p.hidden});
  expect(4, {p.batch});
  expect(5, state);
  if (c.op == "LSTM") {
    expect(6, state);
    expect(7, {d, 3 * p.hidden});
  }
  std::vector<std::string> names;
  const std::vector<std::string> defaults = c.op == "LSTM"  ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                                            : c.op == "GRU" ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                                            : std::vector<std::string>{"Tanh"};
  if (a.has("activations")) {
    const auto& v = a.values().at("activations");
    if (const auto* list = std::get_if<std::vector<std::string>>(&v)) names = *list;
  }
  if (names.empty())
    for (std::size_t i = 0; i < p.dirs; ++i) names.insert(names.end(), defaults.begin(), defaults.end());
  if (names.size() != p.dirs * defaults.size())
    c.reject(fmt::format("{} activations, expected {}", names.size(), p.dirs * defaults.size()));
  const std::vector<double> alphas = a.reals("activation_alpha"), betas = a.reals("activation_beta");
  for (std::size_t i = 0; i < names.size(); ++i)
    p.functions.push_back(activation(c, names[i], i < alphas.size() ? std::optional(alphas[i]) : std::nullopt,
                                     i < betas.size() ? std::optional(betas[i]) : std::nullopt));
  return p;
}

std::vector<TensorType> infer(const OpContext& c) {
  const Plan p = plan_of(c);
  const auto d = static_cast<std::int64_t>(p.dirs);
  const Shape all = p.batch_first ? Shape{p.batch, p.seq, d, p.hidden} : Shape{p.seq, d, p.batch, p.hidden};
  const Shape last = p.batch_first ? Shape{p.batch, d, p.hidden} : Shape{d, p.batch, p.hidden};
  const DType t = c.type(0).dtype;
  if (c.op == "LSTM") return {{t, all}, {t, last}, {t, last}};
  return {{t, all}, {t, last}};
}

// One direction of one batch element.
class Cell {
 public:
  Cell(const EvalContext& c, const Plan& p, std::size_t dir) : c_(c), p_(p), dir_(dir) {
    const auto slice = [&](std::size_t i) {
      if (!c.op.has(i)) return std::vector<double>{};
      const std::int64_t n = c.in(i).size() / static_cast<std::int64_t>(p.dirs);
      std::vector<double> v(static_cast<std::size_t>(n));
      for (std::int64_t k = 0; k < n; ++k)
        v[static_cast<std::size_t>(k)] = c.in(i).get(static_cast<std::int64_t>(dir) * n + k);
      return v;
    };
    w_ = slice(1);
    r_ = slice(2);
    b_ = slice(3);
    if (c.op.op == "LSTM") peephole_ = slice(7);
    if (b_.empty()) b_.assign(static_cast<std::size_t>(2 * p.gates * p.hidden), 0);
  }

  void step(const std::vector<double>& x, std::vector<double>& h, std::vector<double>& cell) const {
    if (c_.op.op == "LSTM") return lstm(x, h, cell);
    if (c_.op.op == "GRU") return gru(x, h);
    std::vector<double> next(h.size());
    for (std::size_t k = 0; k < h.size(); ++k)
      next[k] = apply(0, input(0, k, x) + recurrent(0, k, h) + bias(0, k) + recurrent_bias(0, k));
    h = std::move(next);
  }

 private:
  double apply(std::size_t f, double x) const {
    if (p_.clip > 0) x = std::clamp(x, -p_.clip, p_.clip);
    return p_.functions[dir_ * (p_.functions.size() / p_.dirs) + f](x);
  }
  std::size_t row(std::size_t gate, std::size_t k) const { return gate * static_cast<std::size_t>(p_.hidden) + k; }
  double input(std::size_t gate, std::size_t k, const std::vector<double>& x) const {
    double s = 0;
    for (std::size_t i = 0; i < x.size(); ++i) s += w_[row(gate, k) * x.size() + i] * x[i];
    return s;
  }
  double recurrent(std::size_t gate, std::size_t k, const std::vector<double>& h) const {
    double s = 0;
    for (std::size_t i = 0; i < h.size(); ++i) s += r_[row(gate, k) * h.size() + i] * h[i];
    return s;
  }
  double bias(std::size_t gate, std::size_t k) const { return b_[row(gate, k)]; }
  double recurrent_bias(std::size_t gate, std::size_t k) const {
    return b_[static_cast<std::size_t>(p_.gates * p_.hidden) + row(gate, k)];
  }

  void lstm(const std::vector<double>& x, std::vector<double>& h, std::vector<double>& cell) const {
    const std::size_t n = h.size();
    const bool couple = c_.op.attributes->integer("input_forget", 0) != 0;
    const auto gate = [&](std::size_t g, std::size_t k) {
      return input(g, k, x) + recurrent(g, k, h) + bias(g, k) + recurrent_bias(g, k);
    };
    const auto peep = [&](std::size_t g, std::size_t k, double c) {
      return peephole_.empty() ? 0 : peephole_[g * n + k] * c;
    };
    std::vector<double> next_h(n), next_c(n);
    for (std::size_t k = 0; k < n; ++k) {
      const double i = apply(0, gate(0, k) + peep(0, k, cell[k]));
      const double f = couple ? 1 - i : apply(0, gate(2, k) + peep(2, k, cell[k]));
      next_c[k] = f * cell[k] + i * apply(1, gate(3, k));
      const double o = apply(0, gate(1, k) + peep(1, k, next_c[k]));
      next_h[k] = o * p_.functions[dir_ * 3 + 2](next_c[k]);
    }
    h = std::move(next_h);
    cell = std::move(next_c);
  }

  void gru(const std::vector<double>& x, std::vector<double>& h) const {
    const std::size_t n = h.size();
    const bool linear = c_.op.attributes->integer("linear_before_reset", 0) != 0;
    const auto gate = [&](std::size_t g, std::size_t k) {
      return apply(0, input(g, k, x) + recurrent(g, k, h) + bias(g, k) + recurrent_bias(g, k));
    };
    std::vector<double> reset(n), next(n);
    for (std::size_t k = 0; k < n; ++k) reset[k] = gate(1, k);
    std::vector<double> gated(n);
    for (std::size_t k = 0; k < n; ++k) gated[k] = reset[k] * h[k];
    for (std::size_t k = 0; k < n; ++k) {
      const double from_state = linear ? reset[k] * (recurrent(2, k, h) + recurrent_bias(2, k))
                                       : recurrent(2, k, gated) + recurrent_bias(2, k);
      const double candidate = apply(1, input(2, k, x) + from_state + bias(2, k));
      const double z = gate(0, k);
      next[k] = (1 - z) * candidate + z * h[k];
    }
    h = std::move(next);
  }

  const EvalContext& c_;
  const Plan& p_;
  std::size_t dir_;
  std::vector<double> w_, r_, b_, peephole_;
};

void evaluate(EvalContext& c) {
  const Plan p = plan_of(c.op);
  const auto dirs = static_cast<std::int64_t>(p.dirs);
  for (std::size_t dir = 0; dir < p.dirs; ++dir) {
    const Cell cell(c, p, dir);
    const auto d = static_cast<std::int64_t>(dir);
    const bool reverse = p.reverse_first || dir == 1;
    for (std::int64_t b = 0; b < p.batch; ++b) {
      const std::int64_t state = (p.batch_first ? b * dirs + d : d * p.batch + b) * p.hidden;
      std::vector<double> h(static_cast<std::size_t>(p.hidden), 0), cs = h, x(static_cast<std::size_t>(p.in));
      for (std::int64_t k = 0; k < p.hidden; ++k) {
        if (c.op.has(5)) h[static_cast<std::size_t>(k)] = c.in(5).get(state + k);
        if (c.op.op == "LSTM" && c.op.has(6)) cs[static_cast<std::size_t>(k)] = c.in(6).get(state + k);
      }
      const std::int64_t length = c.op.has(4) ? std::clamp<std::int64_t>(c.in(4).get_int(b), 0, p.seq) : p.seq;
      for (std::int64_t t = 0; t < length; ++t) {
        const std::int64_t at = reverse ? length - 1 - t : t;
        const std::int64_t from = (p.batch_first ? b * p.seq + at : at * p.batch + b) * p.in;
        for (std::int64_t k = 0; k < p.in; ++k) x[static_cast<std::size_t>(k)] = c.in(0).get(from + k);
        cell.step(x, h, cs);
        const std::int64_t to =
            (p.batch_first ? (b * p.seq + at) * dirs + d : (at * dirs + d) * p.batch + b) * p.hidden;
        for (std::int64_t k = 0; k < p.hidden; ++k) c.out[0].set(to + k, h[static_cast<std::size_t>(k)]);
      }
      for (std::int64_t k = 0; k < p.hidden; ++k) {
        if (c.out.size() > 1) c.out[1].set(state + k, h[static_cast<std::size_t>(k)]);
        if (c.out.size() > 2) c.out[2].set(state + k, cs[static_cast<std::size_t>(k)]);
      }
    }
  }
}

}  // namespace

void register_recurrent(OpRegistry& r) {
  for (const char* name : {"RNN", "GRU", "LSTM"}) {
    const bool lstm = std::string(name) == "LSTM";
    OpDef def;
    def.name = name;
    def.min_inputs = 3;
    def.max_inputs = lstm ? 8 : 6;
    def.max_outputs = lstm ? 3 : 2;
    def.infer = infer;
    def.evaluate = evaluate;
    r.add(std::move(def));
  }
}

}  // namespace assay
