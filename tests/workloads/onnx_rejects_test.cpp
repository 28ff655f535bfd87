#include <doctest/doctest.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/random.h"
#include "tests/workloads/onnx_models.h"
#include "tests/workloads/reference.h"
#include "tests/workloads/says.h"
#include "workloads/onnx_import.h"

// One case per message of the importer.

namespace assay {
namespace {

TestModel relu(std::int64_t opset = 17) {
  TestModel m(opset);
  m.input("x", 1, {"2"}).output("y");
  m.node("Relu", {"x"}, {"y"}, "r");
  return m;
}

TEST_CASE("a truncated or foreign file is refused") {
  const std::string good = relu().bytes();
  CHECK_SAYS(error_of([&] { import_onnx_bytes(good.substr(0, good.size() - 5), "m.onnx", ""); }),
             "m.onnx: is not a complete ONNX model");
  CHECK_SAYS(error_of([] { import_onnx_bytes("workload: x\n", "m.onnx", ""); }), "is not a complete ONNX model");
  CHECK_SAYS(error_of([] { import_onnx_bytes("", "m.onnx", ""); }), "there is no graph in it");
}

TEST_CASE("every prefix of a model is refused or read, never a crash") {
  const std::string good = relu().bytes();
  for (std::size_t n = 0; n < good.size(); ++n)
    error_of([&] { import_onnx_bytes(std::string_view(good).substr(0, n), "m.onnx", ""); });
}

TEST_CASE("a damaged model is refused or imported, never a crash, an internal error or a flood of memory") {
  std::ifstream in(repository("configs/models/resnet18.onnx"), std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  REQUIRE(good.size() > 10'000);
  ImportOptions options;
  options.max_weight_bytes = 1 << 20;
  std::size_t refused = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    std::string bad = good;
    for (std::int64_t n = random.between(1, 4); n > 0; --n)
      bad[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(bad.size()) - 1))] =
          static_cast<char>(random.between(0, 255));
    options.weights = seed % 2 == 0 ? WeightMode::absent : WeightMode::seeded;
    refused += error_of([&] { import_onnx_bytes(bad, "m.onnx", "", options); }).empty() ? 0 : 1;
  }
  CHECK(refused > 100);
}

TEST_CASE("a missing file, a folder and a file over the limit are refused") {
  const ScratchFolder folder;
  CHECK_SAYS(error_of([&] { import_onnx(folder.path() + "/none.onnx"); }), "no such file");
  CHECK_SAYS(error_of([&] { import_onnx(folder.path()); }), "not a regular file");
  const std::string path = folder.write("m.onnx", relu().bytes());
  ImportOptions options;
  options.max_file_bytes = 10;
  CHECK_SAYS(error_of([&] { import_onnx(path, options); }), "at most 10 are read");
  CHECK_SAYS(error_of([&] { import_onnx_bytes(relu().bytes(), "m.onnx", "", options); }), "at most 10 are read");
  CHECK(error_of([&] { import_onnx(path); }).empty());
}

TEST_CASE("opsets that are too old, too new or missing are named") {
  CHECK_SAYS(relu(kNewestOpset + 1).error(), "uses ONNX opset 25; opsets 7 to 24 are understood");
  CHECK_SAYS(relu(6).error(), "uses ONNX opset 6");
  TestModel m = relu();
  m.model().add_opset_import()->set_version(16);
  CHECK_SAYS(m.error(), "imports domain '' in two versions");
  m.model().clear_opset_import();
  CHECK_SAYS(m.error(), "imports no opset");
  m.model().add_opset_import()->set_domain("other");
  CHECK_SAYS(m.error(), "no opset is imported for the default domain");
}

TEST_CASE("unbound symbols are listed together, with an example") {
  TestModel m;
  m.input("x", 1, {"batch", "seq"}).input("z", 1, {"batch", "seq"}).output("y");
  m.node("Add", {"x", "z"}, {"y"});
  CHECK_SAYS(m.error(),
             "symbolic dimensions without an extent: batch, seq; bind them, for example --bind batch=1 "
             "--bind seq=1");
}

TEST_CASE("dimensions without name and inputs without shape ask for a whole shape") {
  TestModel m;
  m.input("x", 1, {"?", "4"}).output("y");
  m.node("Relu", {"x"}, {"y"});
  CHECK_SAYS(m.error(), "dimension 0 of input 'x' has neither extent nor name: --shape x=1x4");
  m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  CHECK_SAYS(m.error(), "has no shape in the file; give one: --shape x=1x3x224x224");
}

TEST_CASE("options that name nothing in the model are refused") {
  TestModel m;
  m.input("x", 1, {"batch", "4"}).output("y");
  m.node("Relu", {"x"}, {"y"});
  ImportOptions options;
  options.bind["bach"] = 1;
  CHECK_SAYS(m.error(options), "no symbolic dimension 'bach'; it has batch");
  CHECK_SAYS(m.error(options), "did you mean 'batch'");
  CHECK_SAYS(relu().error(options), "(it has none at all)");
  options.bind = {{"batch", 0}};
  CHECK_SAYS(m.error(options), "batch = 0, expected at least 1");
  options.bind.clear();
  options.shapes["y"] = {1};
  CHECK_SAYS(m.error(options), "the model has no input 'y'; its inputs are x");
  options.shapes = {{"x", {1}}};
  CHECK_SAYS(m.error(options), "input 'x' has 2 dimensions, given [1]");
  options.shapes = {{"x", {2, 4}}};
  options.bind["batch"] = 3;
  CHECK_SAYS(m.error(options), "input 'x' makes batch = 2, but it is 3 elsewhere");
}

TEST_CASE("negative and absurd sizes are refused") {
  TestModel m;
  m.input("x", 1, {"-3"}).output("y");
  m.node("Relu", {"x"}, {"y"});
  CHECK_SAYS(m.error(), "a dimension of -3");
  TestModel big;
  big.input("x", 1, {"4294967296", "4294967296", "4294967296"}).output("y");
  big.node("Relu", {"x"}, {"y"});
  CHECK_SAYS(big.error(), "more than 2^40 elements");
  TestModel weight = relu();
  weight.initialiser("w", 1, {std::int64_t{1} << 62, 8});
  CHECK_SAYS(weight.error(), "tensor 'w': more than 2^40 elements");
  TestModel negative = relu();
  negative.initialiser("w", 1, {-1});
  CHECK_SAYS(negative.error(), "tensor 'w': a dimension of -1");
  TestModel grows;
  grows.input("x", 1, {"1"}).output("y").ints("to", {3}, {1 << 20, 1 << 20, 2});
  grows.node("Expand", {"x", "to"}, {"y"}, "e");
  CHECK_SAYS(grows.error(), "node 'e' (Expand)");
  CHECK_SAYS(grows.error(), "more than 2^40 elements");
  TestModel made = relu();
  made.ints("shape", {2}, {1 << 30, 1 << 30}).output("c");
  made.node("ConstantOfShape", {"shape"}, {"c"}, "cos");
  CHECK_SAYS(made.error(), "more than 2^40 elements");
}

TEST_CASE("weights that would not fit are refused before they are made") {
  TestModel m = relu();
  m.ints("shape", {2}, {1 << 19, 1 << 20}).output("c");
  m.node("ConstantOfShape", {"shape"}, {"c"}, "cos");
  CHECK_SAYS(m.error(), "bytes of weights are more than may be made");
  TestModel w;
  w.input("x", 1, {"1", "1048576"}).output("y").ints("shape", {2}, {1 << 20, 1 << 19});
  w.node("ConstantOfShape", {"shape"}, {"c"});
  w.node("MatMul", {"x", "c"}, {"y"});
  ImportOptions options;
  options.weights = WeightMode::seeded;
  CHECK_SAYS(w.error(options), "'weights: absent' keeps their shapes only");
  options.weights = WeightMode::absent;
  CHECK(w.error(options).empty());
  TestModel stored = relu();
  stored.floats("w", {4}, {1, 2, 3, 4}).output("w");
  options.weights = WeightMode::as_in_file;
  options.max_weight_bytes = 8;
  CHECK_SAYS(stored.error(options), "the weights together are larger than may be read");
}

TEST_CASE("all unsupported operations are listed at once") {
  TestModel m;
  m.input("x", 1, {"2"}).output("y");
  m.node("Frobnicate", {"x"}, {"a"}, "f1");
  m.node("Frobnicate", {"a"}, {"b"}, "f2");
  m.node("If", {"b"}, {"c"}, "branch");
  m.node("FusedThing", {"c"}, {"y"}, "ms").set_domain("com.example");
  m.model().add_opset_import()->set_domain("com.example");
  const std::string said = m.error();
  CHECK_SAYS(said, "3 operations can't be imported:");
  CHECK_SAYS(said, "Frobnicate: 2 nodes, first 'f1': not supported");
  CHECK_SAYS(said, "If: 1 node, first 'branch': control flow is not supported");
  CHECK_SAYS(said, "com.example.FusedThing: 1 node, first 'ms': operations of domain 'com.example' are not supported");
}

TEST_CASE("cycles, missing values and values written twice name the nodes") {
  TestModel m;
  m.input("x", 1, {"2"}).output("b");
  m.node("Add", {"x", "b"}, {"a"}, "first");
  m.node("Relu", {"a"}, {"b"}, "second");
  CHECK_SAYS(m.error(), "the nodes 'second' -> 'first' form a cycle");
  TestModel self;
  self.input("x", 1, {"2"}).output("a");
  self.node("Add", {"x", "a"}, {"a"}, "own");
  CHECK_SAYS(self.error(), "the nodes 'own' form a cycle");
  TestModel missing;
  missing.input("x", 1, {"2"}).output("y");
  missing.node("Add", {"x", "w"}, {"y"}, "add");
  CHECK_SAYS(missing.error(), "node 'add': reads 'w', which nothing writes (an initialiser or an input is missing)");
  TestModel twice = relu();
  twice.node("Neg", {"x"}, {"y"}, "n");
  CHECK_SAYS(twice.error(), "node 'n': writes 'y', which node 'r' writes as well");
  TestModel over = relu();
  over.node("Neg", {"x"}, {"x"}, "n");
  CHECK_SAYS(over.error(), "node 'n': writes 'x', which is an input or an initialiser");
}

TEST_CASE("an input without a name is refused") {
  TestModel m = relu();
  m.input("", 1, {"2"});
  CHECK_SAYS(m.error(), "an input has no name");
}

TEST_CASE("inputs, initialisers and outputs must be distinct and exist") {
  TestModel inputs = relu();
  inputs.input("x", 1, {"2"});
  CHECK_SAYS(inputs.error(), "stands twice in the list of inputs");
  TestModel initialisers = relu();
  initialisers.floats("w", {1}, {1}).floats("w", {1}, {1});
  CHECK_SAYS(initialisers.error(), "has the name of another input or initialiser");
  TestModel outputs = relu();
  outputs.output("y");
  CHECK_SAYS(outputs.error(), "stands twice in the list of outputs");
  TestModel none = relu();
  none.output("z");
  CHECK_SAYS(none.error(), "output 'z': nothing writes it");
  TestModel empty = relu();
  empty.graph().clear_output();
  CHECK_SAYS(empty.error(), "has no outputs");
}

TEST_CASE("wrong types are refused") {
  TestModel m;
  m.input("x", 1, {"2"}).input("i", 7, {"2"}).output("y");
  m.node("Add", {"x", "i"}, {"y"}, "mixed");
  CHECK_SAYS(m.error(), "m.onnx: node 'mixed' (Add)");
  TestModel declared;
  declared.input("x", 1, {"2"}).output("y", 7);
  declared.node("Relu", {"x"}, {"y"});
  CHECK_SAYS(declared.error(), "output 'y': is declared as int64, but its node gives fp32");
  TestModel text;
  text.input("x", 8, {"2"}).output("x");
  CHECK_SAYS(text.error(), "input 'x': has elements of type string");
  TestModel weight = relu();
  weight.initialiser("w", 17, {1});
  CHECK_SAYS(weight.error(), "elements of type float8e4m3fn are not supported");
  TestModel sequence = relu();
  sequence.graph().mutable_input(0)->mutable_type()->mutable_sequence_type();
  CHECK_SAYS(sequence.error(), "is not a tensor");
  TestModel sparse = relu();
  sparse.graph().add_sparse_initializer();
  CHECK_SAYS(sparse.error(), "sparse initialisers");
}

TEST_CASE("the amount of data must fit the shape") {
  TestModel raw = relu();
  raw.initialiser("w", 1, {3}).set_raw_data("12345678");
  raw.output("w");
  CHECK_SAYS(raw.error(), "tensor 'w': 8 bytes of data, but fp32[3] needs 12");
  TestModel typed = relu();
  typed.floats("w", {3}, {1, 2}).output("w");
  CHECK_SAYS(typed.error(), "2 values for fp32[3]");
  TestModel wrong_field = relu();
  auto& w = wrong_field.initialiser("w", 1, {1});
  w.add_int64_data(1);
  wrong_field.output("w");
  CHECK_SAYS(wrong_field.error(), "0 values for shape [1]");
  TestModel packed = relu();
  packed.initialiser("w", 22, {4}).add_int32_data(0x12);
  packed.output("w");
  CHECK_SAYS(packed.error(), "1 values for int4[4]");
  TestModel segment = relu();
  segment.initialiser("w", 1, {1}).mutable_segment()->set_begin(0);
  segment.output("w");
  CHECK_SAYS(segment.error(), "stored in segments");
}

TEST_CASE("external data must exist, be long enough and lie inside the folder") {
  const ScratchFolder folder;
  folder.write("w.bin", "1234");
  const auto with = [&](const std::vector<std::pair<std::string, std::string>>& entries) {
    TestModel m = relu();
    auto& w = m.initialiser("w", 1, {1});
    w.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [k, v] : entries) {
      auto* e = w.add_external_data();
      e->set_key(k), e->set_value(v);
    }
    m.output("w");
    return m.error({}, folder.path());
  };
  CHECK(with({{"location", "w.bin"}}).empty());
  CHECK_SAYS(with({}), "external data without a location");
  CHECK_SAYS(with({{"location", "gone.bin"}}), "external data 'gone.bin' is missing");
  CHECK_SAYS(with({{"location", "../w.bin"}}), "lies outside the model's folder");
  CHECK_SAYS(with({{"location", "/etc/hostname"}}), "lies outside the model's folder");
  CHECK_SAYS(with({{"location", "w.bin"}, {"offset", "2"}}), "has 4 bytes, but 4 at offset 2 are needed");
  CHECK_SAYS(with({{"location", "w.bin"}, {"length", "3"}}), "external data of 3 bytes, but the shape needs 4");
  CHECK_SAYS(with({{"location", "w.bin"}, {"offset", "-2"}}), "offset is '-2', expected a number of bytes");
}

TEST_CASE("a symbolic link may not lead external data out of the folder") {
  const ScratchFolder folder, other;
  other.write("secret.bin", "1234");
  std::filesystem::create_symlink(other.path() + "/secret.bin", folder.path() + "/w.bin");
  TestModel m = relu();
  auto& w = m.initialiser("w", 1, {1});
  w.set_data_location(onnx::TensorProto::EXTERNAL);
  auto* e = w.add_external_data();
  e->set_key("location"), e->set_value("w.bin");
  m.output("w");
  CHECK_SAYS(m.error({}, folder.path()), "lies outside the model's folder");
}

TEST_CASE("a shape that depends on data is refused by node") {
  TestModel m;
  m.input("x", 1, {"4"}).input("to", 7, {"1"}).output("y");
  m.node("Reshape", {"x", "to"}, {"y"}, "reshape");
  CHECK_SAYS(m.error(), "node 'reshape' (Reshape): operand 1 decides the shape of the result");
}

TEST_CASE("attributes of unsupported kinds and doubled attributes are refused") {
  TestModel m = relu();
  auto* a = m.graph().mutable_node(0)->add_attribute();
  a->set_name("body"), a->set_type(onnx::AttributeProto::GRAPH);
  CHECK_SAYS(m.error(), "attribute 'body' is of a kind that is not supported (GRAPH)");
  TestModel twice = relu();
  set_int(*twice.graph().mutable_node(0), "axis", 1);
  set_int(*twice.graph().mutable_node(0), "axis", 2);
  CHECK_SAYS(twice.error(), "attribute 'axis' is given twice");
  TestModel constant = relu();
  constant.node("Constant", {}, {"c"}, "text");
  CHECK_SAYS(constant.error(), "node 'text' (Constant): has no value of a supported kind");
}

onnx::FunctionProto& function(TestModel& m, const std::string& name) {
  auto* f = m.model().add_functions();
  f->set_name(name), f->set_domain("my"), f->add_input("a"), f->add_output("b");
  f->add_opset_import()->set_version(17);
  return *f;
}

TEST_CASE("functions that call themselves, are called wrongly or defined twice are refused") {
  TestModel m;
  m.input("x", 1, {"2"}).output("y");
  auto& f = function(m, "loop");
  auto* inner = f.add_node();
  inner->set_op_type("loop"), inner->set_domain("my"), inner->add_input("a"), inner->add_output("b");
  m.node("loop", {"x"}, {"y"}, "call").set_domain("my");
  CHECK_SAYS(m.error(), "function 'loop': calls itself, directly or through others");
  inner->set_op_type("Relu"), inner->clear_domain();
  m.graph().mutable_node(0)->add_input("x");
  CHECK_SAYS(m.error(), "calls function 'loop' with 2 inputs and 1 outputs; it has 1 and 1");
  m.graph().mutable_node(0)->mutable_input()->RemoveLast();
  CHECK(m.error().empty());
  function(m, "loop");
  CHECK_SAYS(m.error(), "defined twice in domain 'my'");
  TestModel through;
  through.input("x", 1, {"2"}).output("y");
  function(through, "same").set_output(0, "a");
  through.node("same", {"x"}, {"y"}).set_domain("my");
  CHECK_SAYS(through.error(), "returns its own input 'a'");
}

TEST_CASE("functions that double with every level hit the limit on nodes") {
  TestModel m;
  m.input("x", 1, {"2"}).output("y");
  for (int level = 0; level < 30; ++level) {
    auto& f = function(m, "f" + std::to_string(level));
    for (int i = 0; i < 2; ++i) {
      auto* n = f.add_node();
      n->set_op_type(level == 0 ? "Relu" : "f" + std::to_string(level - 1));
      if (level > 0) n->set_domain("my");
      n->add_input(i == 0 ? "a" : "t"), n->add_output(i == 0 ? "t" : "b");
    }
  }
  m.node("f29", {"x"}, {"y"}).set_domain("my");
  CHECK_SAYS(m.error(), "more than 250000 nodes");
}

}  // namespace
}  // namespace assay
