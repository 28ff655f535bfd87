// Every rule that a shape rule can find violated, provoked once.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>

#include "core/base/check.h"
#include "core/base/error.h"
#include "tests/ops/one_node.h"

using namespace assay;

namespace {

struct Reject {
  const char* op;
  int version;
  std::vector<std::optional<Tensor>> inputs;
  std::vector<Attribute> attributes;
  const char* message;
  std::size_t outputs = 1;
};

Tensor f(Shape s) { return Tensor({DType::f32, std::move(s)}); }
Tensor of(DType t, Shape s) { return Tensor({t, std::move(s)}); }
Attribute text(const char* name, const char* v) { return {name, std::string(v)}; }
Attribute one(const char* name, std::int64_t v) { return {name, v}; }
Attribute list(const char* name, Ints v) { return {name, std::move(v)}; }

void check_all(const std::vector<Reject>& cases) {
  for (const Reject& r : cases) {
    const std::string got = rejection(r.op, r.version, r.inputs, r.attributes, r.outputs);
    const bool right = got.find(r.message) != std::string::npos;
    CHECK_MESSAGE(right, r.op, ": expected '", r.message, "', got '", got, "'");
    CHECK(got.find("node 'n' (" + std::string(r.op) + ")") != std::string::npos);
  }
}

}  // namespace

TEST_CASE("rules about counts, types and axes that all operations share") {
  check_all({
      {"Add", 14, {f({2})}, {}, "1 operands, expected 2"},
      {"Add", 14, {f({2}), f({2}), f({2})}, {}, "3 operands, expected 2"},
      {"Relu", 14, {f({2})}, {}, "2 results, expected 1", 2},
      {"Relu", 14, {f({2})}, {}, "0 results, expected 1", 0},
      {"Concat", 13, {ints({1}), ints({2})}, {one("axis", 0)}, "0 results, expected 1", 0},
      {"Concat", 13, {}, {one("axis", 0)}, "0 operands, expected 1 or more"},
      {"Where", 16, {std::nullopt, f({2}), f({2})}, {}, "operand 0 is missing"},
      {"Add", 14, {f({2}), of(DType::i32, {2})}, {}, "operand 0 is fp32, but operand 1 is int32"},
      {"Exp", 13, {of(DType::i32, {2})}, {}, "operand 0 is int32, which is not supported here"},
      {"Add", 14, {of(DType::i4, {2}), of(DType::i4, {2})}, {}, "operand 0 is int4"},
      {"Add", 14, {f({2, 3}), f({2})}, {}, "the shapes [2, 3] and [2] do not broadcast"},
      {"Softmax", 13, {f({2, 3})}, {one("axis", 2)}, "axis 2 is out of range for rank 2"},
      {"ReduceSum", 11, {f({2, 3})}, {list("axes", {1, -1})}, "name one axis twice"},
      {"Conv", 13, {f({1, 1, 4, 4}), f({1, 1, 3, 3})}, {one("strides", 2)}, "attribute 'strides': expected a list"},
      {"Tile", 13, {f({2, 3}), ints({INT64_MAX, 3})}, {}, "does not fit 64 bits"},
      {"ConstantOfShape", 9, {ints({INT64_MAX / 4, 2})}, {}, "does not fit 64 bits"},
      {"Cast", 13, {f({2})}, {one("to", 8)}, "element type 8 of ONNX is not supported"},
      {"Cast", 13, {f({2})}, {}, "attribute 'to' is missing"},
      {"Transpose", 13, {f({2, 3})}, {list("perm", {0})}, "perm has 1 entries, expected 2"},
      {"Trilu", 14, {f({2})}, {}, "operand 0 has shape [2], expected rank 2 or more"},
      {"EyeLike", 9, {f({2})}, {}, "operand 0 has shape [2], expected rank 2"},
  });
}

TEST_CASE("rules of windows and convolutions") {
  const Tensor x = f({1, 4, 5, 5}), w = f({6, 4, 3, 3});
  check_all({
      {"Conv", 13, {f({1, 4}), w}, {}, "expected rank 3 or more"},
      {"Conv", 13, {f({1, 1, 2, 2, 2, 2}), f({1, 1, 1, 1, 1, 1})}, {}, "4 spatial axes, expected 1 to 3"},
      {"Conv", 13, {x, w}, {one("group", 3)}, "group 3 does not divide 4 input and 6 output channels"},
      {"Conv", 13, {x, w}, {one("group", 0)}, "group 0 does not divide"},
      {"Conv", 13, {x, w}, {one("group", 2)}, "have 4 per group"},
      {"Conv", 13, {x, w, f({5})}, {}, "the bias has shape [5], expected [6]"},
      {"Conv", 13, {x, w}, {list("kernel_shape", {2, 3})}, "kernel_shape is [2, 3], but the weights are [3, 3]"},
      {"Conv", 13, {x, w}, {list("strides", {1})}, "strides has 1 values, expected 2"},
      {"Conv", 13, {x, w}, {list("strides", {1, 0})}, "strides holds 0, expected 1 to"},
      {"Conv", 13, {x, w}, {list("dilations", {1, INT64_MAX})}, "dilations holds 9223372036854775807"},
      {"Conv", 13, {x, w}, {list("pads", {0, 0, 0, -1})}, "pads holds -1"},
      {"Conv", 13, {x, w}, {list("dilations", {3, 1})}, "a window of 7 does not fit axis 0 of 5 padded by 0 and 0"},
      {"Conv", 13, {x, w}, {text("auto_pad", "SAME")}, "unknown auto_pad 'SAME'"},
      {"Conv", 13, {x, f({6, 4, 0, 3})}, {}, "a kernel extent is 0"},
      {"MaxPool", 12, {x}, {}, "attribute 'kernel_shape' is missing"},
      {"ConvInteger", 10, {x, w}, {}, "operand 0 is fp32, expected int8 or uint8"},
      {"ConvInteger",
       10,
       {of(DType::u8, {1, 4, 5, 5}), of(DType::i8, {6, 4, 3, 3}), of(DType::u8, {2})},
       {},
       "2 zero points in operand 2"},
      {"ConvTranspose", 13, {x, f({3, 2, 3, 3})}, {}, "the weights have 3 input channels, the data 4"},
      {"ConvTranspose", 13, {x, f({4, 2, 3, 3})}, {one("group", 3)}, "group 3 does not divide 4 input channels"},
      {"ConvTranspose", 13, {f({1, 1, 2, 2, 2, 2}), f({1, 1, 1, 1, 1, 1})}, {}, "4 spatial axes"},
      {"ConvTranspose", 13, {x, f({4, 2, 3, 3})}, {list("strides", {2})}, "strides has 1 values, expected 2"},
      {"ConvTranspose", 13, {x, f({4, 2, 3, 3})}, {list("strides", {0, 2})}, "strides holds 0"},
      {"ConvTranspose", 13, {x, f({4, 2, 0, 3})}, {}, "a kernel extent is 0"},
      {"ConvTranspose", 13, {x, f({4, 2, 3, 3}), f({9})}, {}, "the bias has shape [9], expected [2]"},
      {"ConvTranspose", 13, {x, f({4, 2, 3, 3})}, {list("output_shape", {7})}, "output_shape has 1 values"},
      {"ConvTranspose", 13, {x, f({4, 2, 3, 3})}, {list("pads", {4, 0, 4, 0})}, "axis 0 would have -1 outputs"},
      {"ConvTranspose",
       13,
       {x, f({4, 2, 1, 1})},
       {text("auto_pad", "SAME_UPPER"), list("strides", {3, 3})},
       "auto_pad cannot give 15 outputs"},
      {"LRN", 13, {x}, {}, "size is 0"},
      {"DepthToSpace", 13, {x}, {one("blocksize", 0)}, "blocksize is 0"},
      {"DepthToSpace", 13, {x}, {one("blocksize", 3)}, "4 channels in blocks of 9"},
      {"DepthToSpace", 13, {x}, {one("blocksize", 2), text("mode", "ABC")}, "unknown mode 'ABC'"},
      {"SpaceToDepth", 13, {x}, {one("blocksize", 2)}, "[1, 4, 5, 5] in blocks of 2"},
  });
}

TEST_CASE("rules of products and quantised operations") {
  const Tensor u = of(DType::u8, {2, 3}), i = of(DType::i8, {3, 4}), s = f({}), z = of(DType::u8, {}),
               zi = of(DType::i8, {});
  const Tensor xc = of(DType::u8, {1, 1, 3, 3}), wc = of(DType::u8, {2, 1, 1, 1});
  check_all({
      {"MatMul", 13, {f({2, 3}), f({4, 5})}, {}, "the inner dimensions of [2, 3] and [4, 5] differ: 3 and 4"},
      {"MatMul", 13, {f({}), f({4, 5})}, {}, "expected rank 1 or more"},
      {"MatMul", 13, {f({2, 2, 3}), f({3, 3, 5})}, {}, "do not broadcast"},
      {"MatMulInteger", 10, {f({2, 3}), f({3, 4})}, {}, "operand 0 is fp32, expected int8 or uint8"},
      {"MatMulInteger", 10, {u, i, of(DType::u8, {5})}, {}, "5 zero points in operand 2, expected 1 or 2"},
      {"Gemm", 13, {f({2, 3}), f({4, 5})}, {}, "the inner dimensions differ: 3 and 4"},
      {"Gemm", 13, {f({2, 3}), f({3, 5}), f({4})}, {}, "do not broadcast"},
      {"Gemm", 13, {f({2, 3}), f({3, 5}), f({1, 2, 5})}, {}, "C of shape [1, 2, 5] does not broadcast to [2, 5]"},
      {"Gemm", 13, {of(DType::i32, {2, 3}), of(DType::i32, {3, 5})}, {{"alpha", 2.0}}, "alpha = beta = 1"},
      {"QLinearMatMul", 10, {u, s, z, f({3, 4}), s, zi, s, z}, {}, "operand 3 is fp32"},
      {"QLinearMatMul", 10, {u, s, of(DType::u8, {1}), i, s, zi, s, z}, {}, "different shapes"},
      {"QLinearMatMul", 10, {u, s, z, i, s, zi, s, of(DType::i32, {})}, {}, "the result's zero point is int32"},
      {"QLinearMatMul", 10, {u, f({2}), of(DType::u8, {2}), i, s, zi, s, z}, {}, "expected one element"},
      {"QLinearMatMul", 10, {u, s, z, i, f({3}), of(DType::i8, {3}), s, z}, {}, "3 scales for 4 columns"},
      {"QLinearConv", 10, {xc, s, z, wc, f({3}), of(DType::u8, {3}), s, z}, {}, "3 weight scales for 2 channels"},
      {"QLinearConv", 10, {xc, s, z, wc, s, z, s, z, f({2})}, {}, "the bias is fp32[2], expected int32[2]"},
      {"QuantizeLinear", 13, {f({2, 3}), f({2}), of(DType::u8, {2})}, {}, "scales of shape [2] do not fit axis 1"},
      {"QuantizeLinear", 13, {f({2, 3}), f({3}), of(DType::u8, {})}, {}, "the zero point has shape [], the scale [3]"},
      {"QuantizeLinear", 21, {f({2, 3}), f({2, 1})}, {one("block_size", 2)}, "need scales of shape [2, 2]"},
      {"QuantizeLinear", 21, {f({2, 3}), f({})}, {one("block_size", -1)}, "block_size is -1"},
      {"QuantizeLinear", 21, {f({2, 3}), f({})}, {one("output_dtype", 1)}, "quantising to fp32 is not supported"},
  });
}

TEST_CASE("rules of elementwise operations and normalisations") {
  const Tensor x = f({2, 4, 3});
  check_all({
      {"Add", 6, {f({2, 3, 4}), f({3})}, {one("broadcast", 1), one("axis", 1)}, "opsets before 7 is not supported"},
      {"Mod", 13, {f({2}), f({2})}, {}, "floating-point operands need fmod = 1"},
      {"PRelu", 16, {f({2, 3}), f({2, 2, 3})}, {}, "the slope [2, 2, 3] does not broadcast to [2, 3]"},
      {"BitShift", 11, {of(DType::u8, {2}), of(DType::u8, {2})}, {}, "direction is '', expected LEFT or RIGHT"},
      {"BitShift", 11, {of(DType::i8, {2}), of(DType::i8, {2})}, {text("direction", "LEFT")}, "must be unsigned"},
      {"Clip", 6, {f({2}), f({})}, {}, "limits as operands need opset 11"},
      {"Clip", 13, {f({2}), f({2})}, {}, "operand 1 has shape [2], expected a scalar"},
      {"LayerNormalization", 17, {x, f({2})}, {}, "do not broadcast"},
      {"LayerNormalization", 17, {x, f({2, 2, 4, 3})}, {}, "does not broadcast to [2, 4, 3]"},
      {"BatchNormalization", 15, {x, f({4}), f({4}), f({3}), f({4})}, {}, "operand 3 has shape [3], expected [4]"},
      {"BatchNormalization", 15, {x, f({4}), f({4}), f({4}), f({4})}, {one("training_mode", 1)}, "training mode"},
      {"BatchNormalization", 7, {x, f({4}), f({4}), f({4}), f({4})}, {one("spatial", 0)}, "spatial = 0"},
      {"GroupNormalization", 18, {x, f({3}), f({3})}, {one("num_groups", 3)}, "3 groups do not divide 4 channels"},
      {"InstanceNormalization", 6, {x, f({2}), f({4})}, {}, "operand 1 has shape [2], expected [4]"},
      {"Dropout", 13, {x, f({2})}, {}, "operand 1 has shape [2], expected one element"},
      {"Dropout", 13, {x, floats({}, {0.5F}), typed(DType::boolean, {}, {1})}, {}, "training mode"},
      {"ArgMax", 13, {f({2, 0})}, {one("axis", 1)}, "the axis is empty"},
      {"TopK", 11, {x, ints({1, 1})}, {}, "K must be one number"},
      {"TopK", 11, {x, ints({4})}, {}, "K is 4 for an axis of 3"},
      {"CumSum", 14, {x, ints({0, 1})}, {}, "the axis must be one number"},
  });
}

TEST_CASE("rules of data movement") {
  const Tensor x = f({2, 3});
  const Tensor i = ints(Shape{1, 2}, {0, 0});
  check_all({
      {"Reshape", 13, {x, ints({-1, -1})}, {}, "two dimensions are -1"},
      {"Reshape", 13, {x, ints({4, -1})}, {}, "6 elements do not divide by 4"},
      {"Reshape", 13, {x, ints({7})}, {}, "[2, 3] cannot become [7]"},
      {"Reshape", 13, {x, ints({2, 3, 0})}, {}, "dimension 2 is copied from [2, 3], which has none"},
      {"Reshape", 13, {x, ints({-2})}, {}, "dimension 0 is -2"},
      {"Reshape", 13, {x}, {}, "the shape is missing"},
      {"Squeeze", 13, {x, ints({0})}, {}, "axis 0 of [2, 3] is not 1"},
      {"Unsqueeze", 11, {x}, {}, "the axes are missing"},
      {"Slice", 9, {x}, {}, "attribute 'starts' is missing"},
      {"Slice", 13, {x, ints({0}), ints({1, 2})}, {}, "1 starts, 2 ends"},
      {"Slice", 13, {x, ints({0}), ints({1}), ints({0}), ints({0})}, {}, "a step is 0"},
      {"Concat", 13, {x, x}, {}, "attribute 'axis' is missing"},
      {"Concat", 13, {x, f({2, 3, 1})}, {one("axis", 0)}, "operand 1 of shape [2, 3, 1] does not fit"},
      {"Concat", 13, {x, f({2, 4})}, {one("axis", 0)}, "operand 1 of shape [2, 4] does not fit [2, 3] beside axis 0"},
      {"Split", 13, {x}, {one("axis", 1)}, "3 does not divide into 2 equal parts", 2},
      {"Split", 13, {x, ints({1, 1})}, {one("axis", 1)}, "the parts add up to 2, but the axis has 3", 2},
      {"Split", 13, {x, ints({-1, 4})}, {one("axis", 1)}, "a part of -1", 2},
      {"Split", 18, {x}, {one("num_outputs", 0)}, "0 parts"},
      {"Split", 13, {x, ints({3})}, {one("axis", 1)}, "2 results are named, but there are 1", 2},
      {"Pad", 13, {x, ints({1})}, {}, "1 pads for 2 axes"},
      {"Pad", 13, {x, ints({0, 0, 0, 0})}, {text("mode", "mirror")}, "unknown mode 'mirror'"},
      {"Pad", 13, {x, ints({-3, 0, 1, 0})}, {}, "pads -3 and 1 cut more than axis 0 of 2 has"},
      {"Pad", 13, {x, ints({INT64_MAX, 0, 0, 0})}, {}, "a pad is absurdly large"},
      {"Pad", 13, {f({0, 3}), ints({1, 0, 0, 0})}, {text("mode", "edge")}, "an empty axis cannot be continued"},
      {"Pad", 13, {x, ints({0, 0, 0, 0}), f({2})}, {}, "the value must be one element"},
      {"Expand", 13, {x, ints({-1, 3})}, {}, "the shape [-1, 3] has a negative dimension"},
      {"Tile", 13, {x, ints({1})}, {}, "1 repeats for 2 axes"},
      {"Tile", 13, {x, ints({1, -1})}, {}, "a repeat is -1"},
      {"Gather", 13, {x, f({2})}, {}, "the indices are fp32, expected int32 or int64"},
      {"GatherElements", 13, {x, ints(Shape{3, 1}, {0, 0, 0})}, {one("axis", 1)}, "reach beyond [2, 3]"},
      {"GatherND", 13, {x, ints(Shape{1, 3}, {0, 0, 0})}, {}, "indices of 3 coordinates into [2, 3]"},
      {"GatherND", 13, {x, i}, {one("batch_dims", 2)}, "batch_dims is 2"},
      {"GatherND", 13, {f({2, 3, 4}), i}, {one("batch_dims", 1)}, "the batch axes of data and indices differ"},
      {"ScatterElements", 18, {x, i, f({1, 3})}, {}, "indices and updates have different shapes"},
      {"ScatterElements", 18, {x, ints(Shape{1, 4}, {0, 0, 0, 0}), f({1, 4})}, {}, "the indices reach beyond the data"},
      {"ScatterElements", 18, {x, i, f({1, 2})}, {text("reduction", "sum")}, "unknown reduction 'sum'"},
      {"ScatterElements", 18, {x, f({1, 2}), f({1, 2})}, {}, "the indices are fp32"},
      {"ScatterND", 18, {x, i, f({2})}, {}, "the updates have shape [2], expected [1]"},
      {"ScatterND", 18, {x, ints(Shape{1, 3}, {0, 0, 0}), f({1})}, {}, "indices of 3 coordinates into [2, 3]"},
      {"OneHot", 11, {i, ints({-1}), f({2})}, {}, "depth must be one number that is not negative"},
      {"OneHot", 11, {i, ints({3}), f({3})}, {}, "values have shape [3], expected [2]"},
      {"Trilu", 14, {x, ints({1, 2})}, {}, "k must be one int64"},
      {"Compress", 11, {x, typed(DType::boolean, {3}, {1, 0, 1})}, {one("axis", 0)}, "the condition is longer"},
  });
}

TEST_CASE("rules of resizing") {
  const Tensor x = f({1, 1, 4, 4});
  const Tensor scales = floats({4}, {1, 1, 2, 2});
  const std::optional<Tensor> none;
  check_all({
      {"Resize", 13, {x, none, scales}, {text("mode", "area")}, "unknown mode 'area'"},
      {"Resize", 13, {x, none, scales}, {text("nearest_mode", "up")}, "unknown nearest_mode 'up'"},
      {"Resize", 13, {x, none, scales, ints({1, 1, 8, 8})}, {}, "needs either scales or sizes"},
      {"Resize", 13, {x}, {}, "needs either scales or sizes"},
      {"Resize", 13, {x, none, none, ints({1, 8})}, {}, "2 sizes for 4 axes"},
      {"Resize", 13, {x, none, none, ints({1, 1, -8, 8})}, {}, "a size is -8"},
      {"Resize", 13, {x, none, floats({2}, {2, 2})}, {}, "2 scales for 4 axes"},
      {"Resize", 13, {x, none, floats({4}, {1, 1, 0, 2})}, {}, "a scale is 0"},
      {"Resize", 13, {x, none, floats({4}, {1, 1, 1e30F, 2})}, {}, "a scale is"},
      {"Resize", 13, {f({1, 1, 0, 4}), none, none, ints({1, 1, 8, 8})}, {}, "an empty axis cannot be resized"},
      {"Resize",
       13,
       {x, none, scales},
       {text("coordinate_transformation_mode", "tf_crop_and_resize")},
       "needs the region of interest"},
      {"Resize",
       13,
       {x, floats({2}, {0, 1}), scales},
       {text("coordinate_transformation_mode", "tf_crop_and_resize")},
       "2 values of the region for 4 axes"},
      {"Resize",
       13,
       {x, floats({8}, {0, 0, 0, 0, 1, 1, 1, INFINITY}), scales},
       {text("coordinate_transformation_mode", "tf_crop_and_resize")},
       "the region of interest holds inf"},
  });
}

TEST_CASE("rules of generators, recurrences and data-dependent shapes") {
  const Tensor x = f({2, 1, 3}), w = f({1, 16, 3}), r = f({1, 16, 4});
  check_all({
      {"Constant", 13, {}, {}, "needs one of value"},
      {"ConstantOfShape", 9, {ints({-1})}, {}, "the shape [-1] has a negative dimension"},
      {"ConstantOfShape", 9, {ints({2})}, {{"value", std::make_shared<const Tensor>(f({2}))}}, "expected one element"},
      {"Range", 11, {number(0), number(3), number(0)}, {}, "delta is 0"},
      {"Range", 11, {number(0), ints({3, 4}), number(1)}, {}, "start, limit and delta must be scalars"},
      {"Range", 11, {floats({}, {0}), floats({}, {INFINITY}), floats({}, {1})}, {}, "the range is infinite"},
      {"LSTM", 14, {x, w, f({1, 16, 5})}, {}, "expected [1, 20, 3]"},
      {"LSTM", 14, {x, w, r}, {text("direction", "both")}, "unknown direction 'both'"},
      {"LSTM", 14, {x, w, r}, {one("hidden_size", 5)}, "hidden_size does not fit"},
      {"LSTM", 14, {x, w, r}, {{"activations", std::vector<std::string>{"Tanh"}}}, "1 activations, expected 3"},
      {"LSTM",
       14,
       {x, w, r},
       {{"activations", std::vector<std::string>{"Tanh", "Foo", "Tanh"}}},
       "unknown activation 'Foo'"},
  });
  CHECK(rejection("NonZero", 13, {f({2})}, {}, 1, false).find("depends on data, which is not supported") !=
        std::string::npos);
  CHECK(rejection("Reshape", 13, {f({2}), ints({2})}, {}, 1, false)
            .find("operand 1 decides the shape of the result, so it must be known before the model runs") !=
        std::string::npos);
}

TEST_CASE("errors that only values can cause") {
  const auto message = [](const OneNode& s) {
    try {
      s.evaluate();
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const Tensor zero = typed(DType::i32, {2}, {1, 0});
  CHECK(message(one_node("Gather", 13, {f({2, 3}), ints({2})}, {}, 1, false))
            .find("index 2 is out of range for an axis of 2") != std::string::npos);
  CHECK(message(one_node("Div", 14, {zero, zero}, {}, 1, false)).find("an integer is divided by zero") !=
        std::string::npos);
  CHECK(message(one_node("Mod", 14, {zero, zero}, {}, 1, false)).find("an integer is divided by zero") !=
        std::string::npos);
  CHECK(message(one_node("CumSum", 14, {f({2}), number(3)}, {}, 1, false)).find("axis 3 is out of range") !=
        std::string::npos);
}

TEST_CASE("unknown operations are listed all at once") {
  Graph g;
  g.name = "net";
  const TensorId x = g.add_input("x", {DType::f32, {2}});
  for (const char* op : {"Foo", "Bar", "Foo"}) {
    Node n;
    n.name = std::string("my") + op;
    n.op = op;
    n.inputs = {x};
    n.outputs = {g.add_tensor("t", {})};
    g.add_node(n);
  }
  CHECK_THROWS_WITH_AS(infer_types(g),
                       doctest::Contains("graph 'net': operations that are not supported: "
                                         "Bar (1x, first at node 'myBar'), Foo (2x, first at node 'myFoo')"),
                       InputError);
}

TEST_CASE("verify_graph compares recorded types with what the operations give") {
  OneNode s = one_node("Add", 14, {f({2}), f({2})}, {}, 1, false);
  verify_graph(s.g);
  s.g.set_type(s.g.outputs()[0], {DType::f32, {3}});
  CHECK_THROWS_WITH_AS(verify_graph(s.g),
                       doctest::Contains("'y0' is recorded as fp32[3], but the operation gives fp32[2]"),
                       InternalError);
  s.g.set_type(s.g.inputs()[0], {DType::f32, {5}});
  CHECK_THROWS_WITH_AS(verify_graph(s.g), doctest::Contains("do not broadcast"), InternalError);
}

TEST_CASE("random operands and attributes are understood or rejected, and nothing crashes") {
  const std::vector<std::string> names = operations().names();
  const char* attribute_names[] = {"axis",       "axes",       "perm",       "pads",      "strides", "kernel_shape",
                                   "dilations",  "group",      "keepdims",   "blocksize", "split",   "starts",
                                   "ends",       "size",       "num_groups", "to",        "k",       "num_outputs",
                                   "block_size", "batch_dims", "fmod",       "ceil_mode", "transA",  "upper"};
  const char* more = std::getenv("ASSAY_FUZZ_CASES");
  const std::uint64_t limit = more != nullptr ? std::strtoull(more, nullptr, 10) : 4000;
  std::size_t accepted = 0;
  for (std::uint64_t seed = 1; seed <= limit; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto below = [&](std::size_t n) {
      return static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(n) - 1));
    };
    const std::string op = names[below(names.size())];
    const OpDef& def = *operations().find(op);
    CAPTURE(op);
    const DType types[] = {DType::f32, DType::f32, DType::f32,     DType::i64, DType::i64,
                           DType::u8,  DType::i8,  DType::boolean, DType::f16};
    const DType common = types[below(9)];
    const Shape shape0 = [&] {
      Shape s;
      for (std::size_t i = below(5); i > 0; --i) s.push_back(random.between(0, 4));
      return s;
    }();
    std::vector<std::optional<Tensor>> inputs;
    const std::size_t count = def.min_inputs + below(3);
    for (std::size_t i = 0; i < count; ++i) {
      Shape s = shape0;
      if (random.between(0, 2) == 0) {
        s.clear();
        for (std::size_t k = below(4); k > 0; --k) s.push_back(random.between(0, 4));
      }
      const DType t = random.between(0, 3) == 0 ? types[below(9)] : common;
      inputs.emplace_back(random_tensor(random, t, s, is_signed(t) ? -3 : 0, t == DType::boolean ? 1 : 3));
      if (random.between(0, 15) == 0) inputs.back().reset();
    }
    std::vector<Attribute> attributes;
    for (std::size_t i = below(4); i > 0; --i) {
      Ints v;
      for (std::size_t k = below(5); k > 0; --k) v.push_back(random.between(-2, 4));
      if (random.between(0, 1) == 0)
        attributes.emplace_back(attribute_names[below(24)], v);
      else
        attributes.emplace_back(attribute_names[below(24)], random.between(-2, 12));
    }
    const int version = static_cast<int>(random.between(5, 22));
    const std::size_t outputs = 1 + below(2);
    try {
      const OneNode s = one_node(op, version, inputs, attributes, outputs, random.between(0, 1) == 0);
      ++accepted;
      const std::vector<Tensor> expected = s.evaluate();
      if (!nests_of(s.g, s.node)) continue;
      const std::vector<Tensor> got = evaluate_nests(op_context(s.g, s.node), s.values);
      for (std::size_t i = 0; i < got.size(); ++i) {
        const double tol = is_float(got[i].dtype()) ? 1e-2 : 0;
        CHECK(compare(got[i], expected[i], tol, tol).equal);
      }
    } catch (const InputError&) {
    }
  }
  CHECK(accepted > 200);
}
