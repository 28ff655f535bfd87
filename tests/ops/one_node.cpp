#include "tests/ops/one_node.h"

#include "core/base/error.h"

namespace assay {

OneNode one_node(const std::string& op, int version, const std::vector<std::optional<Tensor>>& inputs,
                 const std::vector<Attribute>& attributes, std::size_t outputs, bool constant) {
  OneNode s;
  Node n;
  n.name = "n";
  n.op = op;
  n.version = version;
  for (const auto& [name, value] : attributes) n.attributes.set(name, value);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    s.values.push_back(inputs[i] ? std::make_shared<const Tensor>(*inputs[i]) : nullptr);
    const std::string name = "x" + std::to_string(i);
    n.inputs.push_back(!inputs[i] ? TensorId()
                       : constant ? s.g.add_constant(name, s.values.back())
                                  : s.g.add_input(name, inputs[i]->type()));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    n.outputs.push_back(s.g.add_tensor("y" + std::to_string(i), {}));
    s.g.mark_output(n.outputs.back());
  }
  s.node = s.g.add_node(std::move(n));
  infer_types(s.g);
  return s;
}

Tensor random_tensor(Random& random, DType t, const Shape& shape, double lo, double hi) {
  Tensor x({t, shape});
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.set(i, is_float(t)
                 ? lo + (hi - lo) * random.uniform()
                 : static_cast<double>(random.between(static_cast<std::int64_t>(lo), static_cast<std::int64_t>(hi))));
  return x;
}

Tensor floats(Shape shape, std::vector<float> values) {
  return Tensor::of<float>(DType::f32, std::move(shape), values);
}
Tensor ints(std::vector<std::int64_t> values) {
  return Tensor::of<std::int64_t>(DType::i64, {static_cast<std::int64_t>(values.size())}, values);
}
Tensor ints(Shape shape, std::vector<std::int64_t> values) {
  return Tensor::of<std::int64_t>(DType::i64, std::move(shape), values);
}
Tensor number(std::int64_t value) { return ints(Shape{}, {value}); }

Tensor typed(DType t, Shape shape, std::vector<double> values) {
  return Tensor::of<double>(DType::f64, std::move(shape), values).cast(t);
}

std::string rejection(const std::string& op, int version, const std::vector<std::optional<Tensor>>& inputs,
                      const std::vector<Attribute>& attributes, std::size_t outputs, bool constant) {
  try {
    one_node(op, version, inputs, attributes, outputs, constant);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

}  // namespace assay
