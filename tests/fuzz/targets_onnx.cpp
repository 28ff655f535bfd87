#include <onnx/onnx_pb.h>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/ops/op.h"
#include "core/passes/pass.h"
#include "tests/fuzz/onnx_mutator.h"
#include "tests/fuzz/targets.h"
#include "tests/workloads/onnx_models.h"
#include "workloads/onnx_import.h"

namespace assay {
namespace {

std::vector<float> ramp(std::size_t n) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = 0.25F * static_cast<float>(i % 7) - 0.5F;
  return v;
}

std::string conv_net() {
  TestModel m;
  m.input("x", 1, {"1", "2", "6", "6"}).floats("w", {3, 2, 3, 3}, ramp(54)).floats("b", {3}, ramp(3));
  auto& conv = m.node("Conv", {"x", "w", "b"}, {"c"});
  set_ints(conv, "kernel_shape", {3, 3});
  set_ints(conv, "pads", {1, 1, 1, 1});
  set_ints(conv, "strides", {1, 1});
  set_ints(conv, "dilations", {1, 1});
  set_int(conv, "group", 1);
  m.floats("s", {3}, ramp(3)).floats("v", {3}, {1, 2, 3});
  m.node("BatchNormalization", {"c", "s", "b", "b", "v"}, {"n"});
  m.node("Relu", {"n"}, {"r"});
  auto& pool = m.node("MaxPool", {"r"}, {"p"});
  set_ints(pool, "kernel_shape", {2, 2});
  set_ints(pool, "strides", {2, 2});
  set_int(pool, "ceil_mode", 1);
  m.node("GlobalAveragePool", {"p"}, {"g"});
  set_int(m.node("Flatten", {"g"}, {"f"}), "axis", 1);
  m.floats("k", {4, 3}, ramp(12));
  set_int(m.node("Gemm", {"f", "k"}, {"y"}), "transB", 1);
  return m.output("y", 1).bytes();
}

std::string attention() {
  TestModel m;
  m.input("x", 1, {"1", "4", "8"}).floats("w", {8, 8}, ramp(64)).floats("one", {8}, ramp(8));
  m.node("MatMul", {"x", "w"}, {"q"});
  m.ints("shape", {4}, {1, 4, 2, 4}).node("Reshape", {"q", "shape"}, {"h"});
  set_ints(m.node("Transpose", {"h"}, {"t"}), "perm", {0, 2, 1, 3});
  set_ints(m.node("Transpose", {"h"}, {"u"}), "perm", {0, 2, 3, 1});
  m.node("MatMul", {"t", "u"}, {"a"});
  set_int(m.node("Softmax", {"a"}, {"s"}), "axis", -1);
  m.node("MatMul", {"s", "t"}, {"o"});
  set_ints(m.node("Transpose", {"o"}, {"b"}), "perm", {0, 2, 1, 3});
  m.ints("back", {3}, {1, 4, -1}).node("Reshape", {"b", "back"}, {"z"});
  set_int(m.node("LayerNormalization", {"z", "one", "one"}, {"y"}), "axis", -1);
  return m.output("y", 1).bytes();
}

std::string shape_chain() {
  TestModel m;
  m.input("x", 1, {"2", "3", "4"});
  m.node("Shape", {"x"}, {"s"});
  m.ints("i", {1}, {1}).node("Gather", {"s", "i"}, {"d"});
  m.ints("minus", {1}, {-1});
  set_int(m.node("Concat", {"d", "minus"}, {"to"}), "axis", 0);
  m.node("Reshape", {"x", "to"}, {"r"});
  m.ints("starts", {1}, {1}).ints("ends", {1}, {9}).ints("axes", {1}, {1}).ints("steps", {1}, {2});
  m.node("Slice", {"r", "starts", "ends", "axes", "steps"}, {"sl"});
  m.ints("pads", {4}, {0, 1, 0, 1}).node("Pad", {"sl", "pads"}, {"p"});
  m.ints("reps", {2}, {2, 1}).node("Tile", {"p", "reps"}, {"ti"});
  m.ints("ax", {1}, {0}).node("Unsqueeze", {"ti", "ax"}, {"un"});
  m.node("Squeeze", {"un", "ax"}, {"sq"});
  set_int(m.node("Cast", {"sq"}, {"ca"}), "to", 10);
  set_int(m.node("Cast", {"ca"}, {"y"}), "to", 1);
  return m.output("y", 1).bytes();
}

std::string quantised() {
  TestModel m;
  m.input("x", 1, {"1", "4"}).floats("s", {}, {0.5F}).floats("ws", {3}, {0.25F, 0.5F, 1});
  m.initialiser("z", 3, {}).add_int32_data(1);
  auto& w = m.initialiser("w", 3, {4, 3});
  for (int i = 0; i < 12; ++i) w.add_int32_data(i - 6);
  auto& wz = m.initialiser("wz", 3, {3});
  for (int i = 0; i < 3; ++i) wz.add_int32_data(0);
  m.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  m.node("DequantizeLinear", {"q", "s", "z"}, {"d"});
  set_int(m.node("DequantizeLinear", {"w", "ws", "wz"}, {"e"}), "axis", 1);
  m.node("MatMul", {"d", "e"}, {"f"});
  m.node("QuantizeLinear", {"f", "s", "z"}, {"g"});
  m.node("DequantizeLinear", {"g", "s", "z"}, {"y"});
  return m.output("y", 1).bytes();
}

std::string assorted() {
  TestModel m;
  m.input("x", 1, {"1", "2", "4", "4"});
  m.floats("scales", {4}, {1, 1, 2, 2}).node("Resize", {"x", "", "scales"}, {"r"});
  set_int(m.node("DepthToSpace", {"w4"}, {"ds"}), "blocksize", 2);
  m.floats("wt", {2, 2, 2, 2}, ramp(16));
  auto& up = m.node("ConvTranspose", {"x", "wt"}, {"w4up"});
  set_ints(up, "strides", {2, 2});
  set_ints(up, "output_padding", {1, 1});
  m.ints("axes", {1}, {1}).node("ReduceMean", {"r"}, {"rm"});
  auto& split = m.node("Split", {"x"}, {"s0", "s1"});
  set_int(split, "axis", 1);
  set_int(m.node("Concat", {"s0", "s1", "s0", "s1"}, {"w4"}), "axis", 1);
  m.node("Where", {"cond", "s0", "s1"}, {"wh"});
  m.node("Greater", {"s0", "s1"}, {"cond"});
  set_int(m.node("ArgMax", {"wh"}, {"am"}), "axis", 3);
  m.floats("lo", {}, {0}).floats("hi", {}, {6}).node("Clip", {"wh", "lo", "hi"}, {"cl"});
  m.node("Erf", {"cl"}, {"y"});
  auto& average = m.node("AveragePool", {"x"}, {"ap"});
  set_ints(average, "kernel_shape", {3, 3});
  set_int(average, "count_include_pad", 1);
  set_ints(average, "pads", {1, 1, 1, 1});
  for (const char* out : {"y", "ds", "w4up", "rm", "am", "ap"}) m.output(out);
  return m.bytes();
}

std::string function_call() {
  TestModel m;
  m.input("x", 1, {"2", "2"});
  auto* import = m.model().add_opset_import();
  import->set_domain("local");
  import->set_version(1);
  auto* f = m.model().add_functions();
  f->set_name("Twice");
  f->set_domain("local");
  f->add_input("a");
  f->add_output("b");
  f->add_opset_import()->set_version(17);
  auto* add = f->add_node();
  add->set_op_type("Add");
  add->add_input("a");
  add->add_input("a");
  add->add_output("b");
  m.node("Twice", {"x"}, {"t"}).set_domain("local");
  m.node("Twice", {"t"}, {"y"}).set_domain("local");
  return m.output("y", 1).bytes();
}

constexpr const char* kSymbol = "batch_n";

}  // namespace

ImportOptions import_options(const std::string& bytes) {
  ImportOptions options;
  // A binding that the model does not have is an error of its own.
  if (bytes.find(kSymbol) != std::string::npos) options.bind = {{kSymbol, 2}};
  options.max_weight_bytes = std::int64_t{64} << 20;
  return options;
}

namespace {

void read_model(const std::string& bytes, const std::string& folder) {
  Graph g = import_onnx_bytes(bytes, "fuzz.onnx", folder, import_options(bytes));
  verify_graph(g);
  PassContext context;
  run_passes(g, standard_pipeline(), {}, context);
  verify_graph(g);
}

}  // namespace

std::vector<std::string> onnx_seeds() {
  TestModel symbolic;
  symbolic.input("x", 1, {kSymbol, "4"}).node("Sigmoid", {"x"}, {"y"});
  symbolic.output("y", 1);
  return {conv_net(),
          attention(),
          shape_chain(),
          quantised(),
          assorted(),
          function_call(),
          symbolic.bytes(),
          source_text("configs/micro/two_layers.onnx"),
          source_text("configs/micro/conv1d.onnx")};
}

FuzzTarget onnx_target(const std::string& scratch) {
  return {.name = "onnx",
          .form = InputForm::bytes,
          .seeds = onnx_seeds(),
          .read = [scratch](const std::string& bytes) { read_model(bytes, scratch); },
          .mutate = mutate_onnx};
}

}  // namespace assay
