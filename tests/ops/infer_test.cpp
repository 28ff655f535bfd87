#include <doctest/doctest.h>

#include "core/base/error.h"
#include "tests/ops/one_node.h"

using namespace assay;

namespace {

Tensor f(Shape s) { return Tensor({DType::f32, std::move(s)}); }

std::string type_of(const std::string& op, int version, const std::vector<std::optional<Tensor>>& inputs,
                    const std::vector<Attribute>& attributes = {}, std::size_t outputs = 1) {
  const OneNode s = one_node(op, version, inputs, attributes, outputs);
  std::string out;
  for (const TensorId t : s.g.outputs()) out += (out.empty() ? "" : " ") + to_string(s.g.tensor(t).type);
  return out;
}

}  // namespace

TEST_CASE("shapes of windows follow strides, dilations, pads and rounding") {
  const auto conv = [](std::vector<Attribute> a) {
    return type_of("Conv", 13, {f({1, 3, 32, 31}), f({8, 3, 3, 3})}, a);
  };
  CHECK(conv({}) == "fp32[1, 8, 30, 29]");
  CHECK(conv({{"pads", Ints{1, 0, 2, 3}}}) == "fp32[1, 8, 33, 32]");
  CHECK(conv({{"strides", Ints{2, 3}}}) == "fp32[1, 8, 15, 10]");
  CHECK(conv({{"dilations", Ints{2, 4}}}) == "fp32[1, 8, 28, 23]");
  CHECK(conv({{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}}) == "fp32[1, 8, 16, 16]");
  CHECK(conv({{"auto_pad", std::string("VALID")}}) == "fp32[1, 8, 30, 29]");
  const auto pool = [](std::int64_t ceil_mode, Ints pads) {
    return type_of("MaxPool", 12, {f({1, 1, 6, 9})},
                   {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{4, 4}}, {"ceil_mode", ceil_mode}, {"pads", pads}});
  };
  CHECK(pool(0, {0, 0, 0, 0}) == "fp32[1, 1, 2, 2]");
  CHECK(pool(1, {0, 0, 0, 0}) == "fp32[1, 1, 2, 3]");
  CHECK(pool(1, {0, 0, 3, 2}) == "fp32[1, 1, 2, 3]");  // a window may not start in the end padding
  CHECK(type_of("ConvTranspose", 13, {f({1, 4, 5, 5}), f({4, 6, 3, 3})},
                {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}, {"output_padding", Ints{1, 0}}}) ==
        "fp32[1, 6, 10, 9]");
}

TEST_CASE("empty and single-element dimensions are ordinary") {
  CHECK(type_of("Add", 14, {f({0, 3}), f({1})}) == "fp32[0, 3]");
  CHECK(type_of("MatMul", 13, {f({2, 0}), f({0, 3})}) == "fp32[2, 3]");
  CHECK(type_of("Concat", 13, {f({0, 3}), f({2, 3})}, {{"axis", std::int64_t{0}}}) == "fp32[2, 3]");
  CHECK(type_of("Slice", 13, {f({3}), ints({2}), ints({1})}) == "fp32[0]");
  CHECK(type_of("Reshape", 13, {f({0, 4}), ints({-1, 4})}) == "fp32[0, 4]");
  CHECK(type_of("Reshape", 14, {f({0, 4}), ints({4, 0})}, {{"allowzero", std::int64_t{1}}}) == "fp32[4, 0]");
  CHECK(type_of("Squeeze", 13, {f({1, 2, 1})}) == "fp32[2]");
  CHECK(type_of("Squeeze", 13, {f({1, 2, 1}), ints({0})}) == "fp32[2, 1]");
  CHECK(type_of("Transpose", 13, {f({})}) == "fp32[]");
  CHECK(type_of("Flatten", 13, {f({2, 3, 4})}, {{"axis", std::int64_t{3}}}) == "fp32[24, 1]");
  CHECK(type_of("MatMul", 13, {f({3}), f({3})}) == "fp32[]");
}

TEST_CASE("meanings change with the opset") {
  CHECK(type_of("Dropout", 7, {f({2})}, {}, 2) == "fp32[2] fp32[2]");
  CHECK(type_of("Dropout", 12, {f({2})}, {}, 2) == "fp32[2] bool[2]");
  CHECK(type_of("Split", 18, {f({5})}, {{"num_outputs", std::int64_t{2}}}, 2) == "fp32[3] fp32[2]");
  CHECK(type_of("ReduceSum", 11, {f({2, 3})}, {{"axes", Ints{1}}, {"keepdims", std::int64_t{0}}}) == "fp32[2]");
  CHECK(type_of("ReduceSum", 13, {f({2, 3}), ints({1})}, {{"keepdims", std::int64_t{0}}}) == "fp32[2]");
  CHECK(type_of("Shape", 15, {f({2, 3, 4})}, {{"start", std::int64_t{1}}, {"end", std::int64_t{-1}}}) == "int64[1]");
}

TEST_CASE("a shape that is computed from shapes is known without folding") {
  // Reshape(x, Concat(Gather(Shape(x), [0]), [-1])), as exporters write it
  Graph g;
  const TensorId x = g.add_input("x", {DType::f32, {2, 3, 4}});
  const auto constant = [&](Tensor t) { return g.add_constant("c", std::make_shared<const Tensor>(std::move(t))); };
  const auto add = [&](const std::string& op, std::vector<TensorId> in, std::vector<Attribute> a = {}) {
    Node n;
    n.name = op;
    n.op = op;
    n.version = 13;
    n.inputs = std::move(in);
    n.outputs = {g.add_tensor(op, {})};
    for (auto& [key, value] : a) n.attributes.set(key, value);
    const TensorId out = n.outputs[0];
    g.add_node(std::move(n));
    return out;
  };
  const TensorId shape = add("Shape", {x});
  const TensorId first = add("Gather", {shape, constant(ints({0}))});
  const TensorId target = add("Concat", {first, constant(ints({-1}))}, {{"axis", std::int64_t{0}}});
  const TensorId y = add("Reshape", {x, target});
  g.mark_output(y);
  infer_types(g);
  CHECK(to_string(g.tensor(y).type) == "fp32[2, 12]");
  verify_graph(g);
  const auto folded = fold_node(g, *g.producer(shape), 100);
  REQUIRE(folded);
  CHECK((*folded)[0].to_ints() == Ints{2, 3, 4});
  CHECK_FALSE(fold_node(g, *g.producer(first), 100));  // its operand is not a constant of the graph
  CHECK_FALSE(fold_node(g, *g.producer(shape), 2));
  const TensorMap out = evaluate_graph(g, {{"x", std::make_shared<const Tensor>(f({2, 3, 4}))}});
  CHECK(out.at(g.tensor(y).name)->shape() == Shape{2, 12});
}

TEST_CASE("results that nobody names have no type to infer and are left out of nests") {
  Graph g;
  const TensorId x = g.add_input("x", {DType::f32, {4, 2}});
  Node n;
  n.name = "split";
  n.op = "Split";
  n.version = 11;
  n.inputs = {x};
  n.outputs = {TensorId(), g.add_tensor("second", {}), TensorId()};
  n.attributes.set("split", Ints{1, 2, 1});
  g.mark_output(n.outputs[1]);
  const NodeId id = g.add_node(n);
  infer_types(g);
  CHECK(to_string(g.tensor(g.outputs()[0]).type) == "fp32[2, 2]");
  CHECK_FALSE(op_context(g, id).wants(0));
  CHECK(op_context(g, id).wants(1));
  CHECK_FALSE(op_context(g, id).wants(2));
  const auto p = nests_of(g, id);
  REQUIRE(p);
  CHECK(p->nests.size() == 1);
  CHECK(evaluate_graph(g, {{"x", std::make_shared<const Tensor>(f({4, 2}))}}).size() == 1);
}

TEST_CASE("executing a graph says which value is missing") {
  Graph g;
  g.name = "net";
  const TensorId x = g.add_input("x", {DType::f32, {2}}), w = g.add_weight("w", {DType::f32, {2}});
  Node n;
  n.name = "add";
  n.op = "Add";
  n.version = 14;
  n.inputs = {x, w};
  n.outputs = {g.add_tensor("y", {})};
  g.mark_output(n.outputs[0]);
  g.add_node(n);
  infer_types(g);
  const auto value = std::make_shared<const Tensor>(f({2}));
  CHECK_THROWS_WITH_AS(evaluate_graph(g, {}), doctest::Contains("no value for input 'x'"), InputError);
  CHECK_THROWS_WITH_AS(evaluate_graph(g, {{"x", std::make_shared<const Tensor>(f({3}))}}),
                       doctest::Contains("input 'x' is fp32[3], expected fp32[2]"), InputError);
  CHECK_THROWS_WITH_AS(evaluate_graph(g, {{"x", value}}),
                       doctest::Contains("'w' has no value (a weight by shape only)"), InputError);
  g.set_value(w, value);
  CHECK(evaluate_graph(g, {{"x", value}}, {.keep_all = true}).contains("y"));
}
