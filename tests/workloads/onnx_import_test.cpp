#include "workloads/onnx_import.h"

#include <doctest/doctest.h>
#include <onnx/onnx_pb.h>

#include "core/ops/op.h"
#include "tests/workloads/onnx_models.h"

namespace assay {
namespace {

const Tensor& constant(const Graph& g, const std::string& name) {
  const auto t = g.find_tensor(name);
  REQUIRE(t.has_value());
  REQUIRE(g.tensor(*t).value != nullptr);
  return *g.tensor(*t).value;
}

TEST_CASE("names, opset, attributes and sources are kept") {
  TestModel m(13);
  m.input("x", 1, {"2", "3"}).output("y");
  set_ints(m.node("Transpose", {"x"}, {"y"}, "turn"), "perm", {1, 0});
  const Graph g = m.import();
  const NodeId n = *g.find_node("turn");
  CHECK(g.node(n).op == "Transpose");
  CHECK(g.node(n).version == 13);
  CHECK(g.node(n).attributes.integers("perm") == std::vector<std::int64_t>{1, 0});
  CHECK(g.node(n).sources == std::vector<std::string>{"turn"});
  CHECK(to_string(g.tensor(*g.find_tensor("y")).type) == "fp32[3, 2]");
  CHECK(g.inputs().size() == 1);
  CHECK(g.outputs().size() == 1);
}

TEST_CASE("initialisers of every type arrive, from typed fields and from raw data") {
  TestModel m;
  m.input("x", 1, {"1"}).output("x2");
  m.node("Identity", {"x"}, {"x2"});
  const auto keep = [&](const std::string& name, int type, std::vector<std::int64_t> dims) -> onnx::TensorProto& {
    m.output(name);
    return m.initialiser(name, type, dims);
  };
  keep("f32", 1, {2}).set_raw_data(std::string("\0\0\x80\x3f\0\0\0\xc0", 8));
  auto& f16 = keep("f16", 10, {2});
  f16.add_int32_data(0x3c00), f16.add_int32_data(0xc000);
  auto& bf16 = keep("bf16", 16, {1});
  bf16.add_int32_data(0x3f80);
  keep("f64", 11, {1}).add_double_data(0.1);
  auto& i8 = keep("i8", 3, {2});
  i8.add_int32_data(-128), i8.add_int32_data(127);
  keep("u8", 2, {1}).add_int32_data(255);
  keep("i16", 5, {1}).add_int32_data(-300);
  keep("u16", 4, {1}).add_int32_data(65535);
  keep("i32", 6, {1}).add_int32_data(-70000);
  keep("u32", 12, {1}).add_uint64_data(4000000000);
  keep("i64", 7, {1}).add_int64_data(std::int64_t{1} << 60);
  keep("u64", 13, {1}).add_uint64_data(std::uint64_t{1} << 63);
  keep("flag", 9, {3}).set_raw_data(std::string("\0\1\2", 3));
  keep("i4", 22, {3}).set_raw_data("\x8f\x07");  // 15 → -1, 8 → -8, 7
  keep("u4", 21, {3}).add_int32_data(0x8f),
      m.graph().mutable_initializer(m.graph().initializer_size() - 1)->add_int32_data(0x07);
  keep("scalar", 1, {}).add_float_data(3);
  keep("none", 7, {0});
  const Graph g = m.import();
  using D = std::vector<double>;
  CHECK(constant(g, "f32").to_doubles() == D{1, -2});
  CHECK(constant(g, "f16").to_doubles() == D{1, -2});
  CHECK(constant(g, "bf16").to_doubles() == D{1});
  CHECK(constant(g, "f64").to_doubles() == D{0.1});
  CHECK(constant(g, "i8").to_doubles() == D{-128, 127});
  CHECK(constant(g, "u8").to_doubles() == D{255});
  CHECK(constant(g, "i16").to_doubles() == D{-300});
  CHECK(constant(g, "u16").to_doubles() == D{65535});
  CHECK(constant(g, "i32").to_doubles() == D{-70000});
  CHECK(constant(g, "u32").to_doubles() == D{4e9});
  CHECK(constant(g, "i64").get_int(0) == std::int64_t{1} << 60);
  CHECK(static_cast<std::uint64_t>(constant(g, "u64").get_int(0)) == std::uint64_t{1} << 63);
  CHECK(constant(g, "flag").to_doubles() == D{0, 1, 1});
  CHECK(constant(g, "i4").to_doubles() == D{-1, -8, 7});
  CHECK(constant(g, "u4").to_doubles() == D{15, 8, 7});
  CHECK(constant(g, "scalar").shape().empty());
  CHECK(constant(g, "none").size() == 0);
}

TEST_CASE("external data is read from the model's folder, by offset and length") {
  const ScratchFolder folder;
  folder.write("data/w.bin", std::string("\0\0\0\0\0\0\x80\x3f\0\0\0\x40", 12));
  TestModel m;
  m.input("x", 1, {"2"}).output("y");
  m.node("Add", {"x", "w"}, {"y"});
  auto& w = m.initialiser("w", 1, {2});
  w.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto entry = [&](const std::string& k, const std::string& v) {
    auto* e = w.add_external_data();
    e->set_key(k), e->set_value(v);
  };
  entry("location", "data/w.bin"), entry("offset", "4"), entry("length", "8");
  CHECK(constant(m.import({}, folder.path()), "w").to_doubles() == std::vector<double>{1, 2});
}

TEST_CASE("weights that are absent or seeded need no external data") {
  TestModel m;
  m.input("x", 1, {"1", "4"}).output("y");
  m.node("MatMul", {"x", "w"}, {"y"});
  auto& w = m.initialiser("w", 1, {4, 8});
  w.set_data_location(onnx::TensorProto::EXTERNAL);
  auto* e = w.add_external_data();
  e->set_key("location"), e->set_value("gone.bin");
  ImportOptions options;
  options.weights = WeightMode::absent;
  const Graph g = m.import(options);
  CHECK(g.tensor(*g.find_tensor("w")).value == nullptr);
  CHECK(g.tensor(*g.find_tensor("w")).kind == TensorKind::constant);
  options.weights = WeightMode::seeded;
  CHECK(constant(m.import(options), "w").size() == 32);
}

TEST_CASE("a chain of Shape, Gather, Concat and Reshape is folded once the symbols are bound") {
  TestModel m;
  m.input("x", 1, {"N", "4", "6"}).output("y");
  m.ints("zero", {}, {0}).ints("tail", {1}, {-1}).ints("axis", {1}, {0});
  m.node("Shape", {"x"}, {"s"});
  m.node("Gather", {"s", "zero"}, {"n"});
  m.node("Unsqueeze", {"n", "axis"}, {"n1"});
  m.node("Concat", {"n1", "tail"}, {"to"});
  set_int(*m.graph().mutable_node(3), "axis", 0);
  m.node("Reshape", {"x", "to"}, {"y"});
  ImportOptions options;
  options.bind["N"] = 5;
  const Graph g = m.import(options);
  CHECK(g.node_count() == 1);
  CHECK(to_string(g.tensor(g.outputs()[0]).type) == "fp32[5, 24]");
}

TEST_CASE("Constant nodes in every spelling become constants") {
  TestModel m;
  m.input("x", 1, {"2"}).output("y").output("i");
  auto* a = m.node("Constant", {}, {"f"}).add_attribute();
  a->set_name("value_floats"), a->set_type(onnx::AttributeProto::FLOATS), a->add_floats(1), a->add_floats(2);
  set_int(m.node("Constant", {}, {"i"}), "value_int", 7);
  m.node("Add", {"x", "f"}, {"y"});
  const Graph g = m.import();
  CHECK(g.node_count() == 1);
  CHECK(constant(g, "f").to_doubles() == std::vector<double>{1, 2});
  CHECK(constant(g, "i").get_int(0) == 7);
}

TEST_CASE("local functions are inlined, with attributes, defaults, own opsets and calls in calls") {
  TestModel m;
  m.input("x", 1, {"2", "3"}).output("y").output("z");
  auto* inner = m.model().add_functions();
  inner->set_name("turn"), inner->set_domain("my"), inner->add_input("a"), inner->add_output("b");
  inner->add_opset_import()->set_version(13);
  inner->add_attribute("order");
  auto* t = inner->add_node();
  t->set_op_type("Transpose"), t->add_input("a"), t->add_output("t");
  auto* perm = t->add_attribute();
  perm->set_name("perm"), perm->set_ref_attr_name("order"), perm->set_type(onnx::AttributeProto::INTS);
  auto* r = inner->add_node();
  r->set_op_type("Relu"), r->add_input("t"), r->add_output("b");
  auto* outer = m.model().add_functions();
  outer->set_name("twice"), outer->set_domain("my"), outer->add_input("a"), outer->add_output("b");
  outer->add_opset_import()->set_domain("my");
  for (const auto& [from, to] : {std::pair{"a", "c"}, std::pair{"c", "b"}}) {
    auto* call = outer->add_node();
    call->set_op_type("turn"), call->set_domain("my"), call->add_input(from), call->add_output(to);
  }
  m.node("twice", {"x"}, {"y"}, "f").set_domain("my");
  auto& keep = m.node("turn", {"x"}, {"z"}, "k");
  keep.set_domain("my");
  set_ints(keep, "order", {0, 1});
  const Graph g = m.import();
  CHECK(g.node_count() == 6);
  CHECK(to_string(g.tensor(*g.find_tensor("y")).type.shape) == "[2, 3]");
  CHECK(to_string(g.tensor(*g.find_tensor("f/c")).type.shape) == "[3, 2]");
  CHECK(to_string(g.tensor(*g.find_tensor("z")).type.shape) == "[2, 3]");
  for (const NodeId n : g.nodes()) CHECK(g.node(n).version == 13);
}

TEST_CASE("nodes in the wrong order are sorted, equal node names made unique") {
  TestModel m;
  m.input("x", 1, {"2"}).output("y");
  m.node("Relu", {"h"}, {"y"}, "same");
  m.node("Neg", {"x"}, {"h"}, "same");
  const Graph g = m.import();
  CHECK(g.node_count() == 2);
  CHECK(g.find_node("same_1").has_value());
}

TEST_CASE("initialisers that stand among the inputs (old files) are no inputs") {
  TestModel m;
  m.input("x", 1, {"2"}).input("w", 1, {"2"}).output("y").floats("w", {2}, {1, 2});
  m.node("Add", {"x", "w"}, {"y"});
  CHECK(m.import().inputs().size() == 1);
}

TEST_CASE("a whole shape binds its symbols for the other inputs") {
  TestModel m;
  m.input("x", 1, {"N", "4"}).input("z", 1, {"N", "1"}).output("y");
  m.node("Add", {"x", "z"}, {"y"});
  ImportOptions options;
  options.shapes["x"] = {3, 4};
  CHECK(to_string(m.import(options).tensor(m.import(options).outputs()[0]).type) == "fp32[3, 4]");
}

TEST_CASE("a fixed dimension may be replaced by a whole shape") {
  TestModel m;
  m.input("x", 1, {"1", "3", "224"}).output("y");
  m.node("Relu", {"x"}, {"y"});
  ImportOptions options;
  options.shapes["x"] = {1, 3, 8};
  CHECK(to_string(m.import(options).tensor(m.import(options).outputs()[0]).type) == "fp32[1, 3, 8]");
}

TEST_CASE("dequantised weights stay integers in the graph") {
  TestModel m;
  m.input("x", 1, {"1", "2"}).output("y").floats("s", {}, {0.5F});
  auto& w = m.initialiser("w", 3, {2, 2});
  for (const int v : {1, 2, 3, 4}) w.add_int32_data(v);
  m.node("DequantizeLinear", {"w", "s"}, {"wf"});
  m.node("MatMul", {"x", "wf"}, {"y"});
  CHECK(m.import().node_count() == 2);
}

TEST_CASE("an absent weight that is only rearranged is an absent weight of the new shape") {
  TestModel m;
  m.input("x", 1, {"1", "4"}).output("y").floats("w", {2, 4}, std::vector<float>(8, 1.0F));
  set_ints(m.node("Transpose", {"w"}, {"wt"}), "perm", {1, 0});
  m.node("MatMul", {"x", "wt"}, {"y"});
  ImportOptions options;
  options.weights = WeightMode::absent;
  const Graph g = m.import(options);
  CHECK(g.node_count() == 1);
  CHECK(to_string(g.tensor(*g.find_tensor("wt")).type) == "fp32[4, 2]");
  CHECK(g.tensor(*g.find_tensor("wt")).value == nullptr);
}

}  // namespace
}  // namespace assay
