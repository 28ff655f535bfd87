#include "workloads/weights.h"

#include <doctest/doctest.h>
#include <onnx/onnx_pb.h>

#include <cmath>

#include "core/ops/op.h"
#include "tests/workloads/onnx_models.h"
#include "workloads/families/family.h"

namespace assay {
namespace {

struct Moments {
  double mean = 0, deviation = 0, low = INFINITY, high = -INFINITY;
};

Moments moments(const Tensor& t) {
  Moments m;
  const auto n = static_cast<double>(t.size());
  for (const double v : t.to_doubles()) {
    m.mean += v / n;
    m.low = std::min(m.low, v), m.high = std::max(m.high, v);
  }
  for (const double v : t.to_doubles()) m.deviation += (v - m.mean) * (v - m.mean) / n;
  m.deviation = std::sqrt(m.deviation);
  return m;
}

const Tensor& value(const Graph& g, const std::string& name) {
  const auto t = g.find_tensor(name);
  REQUIRE(t.has_value());
  REQUIRE(g.tensor(*t).value != nullptr);
  return *g.tensor(*t).value;
}

TEST_CASE("seeded weights have the moments of their role") {
  const TensorType type{DType::f32, {400, 250}};
  const Moments matrix = moments(seeded_weight("a", type, WeightRole::matrix, 50, 1));
  CHECK(matrix.mean == doctest::Approx(0).epsilon(0.01));
  CHECK(matrix.deviation == doctest::Approx(0.2).epsilon(0.01));  // sqrt(2 / 50)
  CHECK(matrix.high <= 0.2 * 3.4642);                             // bounded: 2 · sqrt(3) deviations
  const Moments scale = moments(seeded_weight("a", type, WeightRole::scale, 1, 1));
  CHECK(scale.mean == doctest::Approx(1).epsilon(0.01));
  CHECK(scale.deviation == doctest::Approx(0.1).epsilon(0.02));
  CHECK(moments(seeded_weight("a", type, WeightRole::bias, 1, 1)).deviation == doctest::Approx(0.1).epsilon(0.02));
  CHECK(moments(seeded_weight("a", type, WeightRole::table, 1, 1)).deviation == doctest::Approx(0.5).epsilon(0.02));
  const Moments variance = moments(seeded_weight("a", type, WeightRole::variance, 1, 1));
  CHECK(variance.low >= 0.5);
  CHECK(variance.high < 1.5);
}

TEST_CASE("seeded weights are the same bytes everywhere") {
  // Fixed once and for all: integer arithmetic and one multiplication.
  const Tensor t = seeded_weight("conv1.weight", {DType::f32, {4}}, WeightRole::matrix, 2, 1);
  CHECK(t.to_doubles() == std::vector<double>{0.60982269F, -0.158071831F, 0.0821941867F, -0.245604679F});
  CHECK(t.to_doubles() != seeded_weight("conv1.weight", {DType::f32, {4}}, WeightRole::matrix, 2, 2).to_doubles());
  CHECK(t.to_doubles() != seeded_weight("conv2.weight", {DType::f32, {4}}, WeightRole::matrix, 2, 1).to_doubles());
}

TEST_CASE("a smaller type holds the rounded values of the same draw") {
  const Tensor f32 = seeded_weight("w", {DType::f32, {64}}, WeightRole::matrix, 8, 3);
  for (const DType t : {DType::f16, DType::bf16})
    CHECK(seeded_weight("w", {t, {64}}, WeightRole::matrix, 8, 3).to_doubles() == f32.cast(t).to_doubles());
}

TestModel network(bool extra) {
  TestModel m;
  m.input("x", 1, {"1", "8"}).output("y");
  if (extra) {
    m.floats("early", {8, 8}, std::vector<float>(64, 0.1F)).output("z");
    m.node("MatMul", {"x", "early"}, {"z"}, "before");
  }
  m.floats("w", {8, 16}, std::vector<float>(128, 0.1F)).floats("b", {16}, std::vector<float>(16, 0));
  m.node("MatMul", {"x", "w"}, {"h"});
  m.node("Add", {"h", "b"}, {"y"});
  return m;
}

TEST_CASE("adding a tensor to a model does not change the others' seeded weights") {
  ImportOptions options;
  options.weights = WeightMode::seeded;
  const Graph small = network(false).import(options), large = network(true).import(options);
  for (const char* name : {"w", "b"}) CHECK(value(small, name).to_doubles() == value(large, name).to_doubles());
  CHECK(value(large, "early").to_doubles() != value(large, "w").to_doubles());
}

TEST_CASE("the role of a constant follows from its readers, also behind rearrangements and copies") {
  TestModel m;
  m.input("img", 1, {"1", "2", "4", "4"}).input("ids", 7, {"1", "3"}).output("y").output("e").output("l");
  const auto ones = [](std::size_t n) { return std::vector<float>(n, 0.02F); };
  m.ints("shape", {4}, {4, 2, 3, 3});
  auto* fill = m.node("ConstantOfShape", {"shape"}, {"first"}).add_attribute();
  fill->set_name("value"), fill->set_type(onnx::AttributeProto::TENSOR);
  fill->mutable_t()->set_data_type(1), fill->mutable_t()->add_dims(1), fill->mutable_t()->add_float_data(0.02F);
  m.node("Identity", {"first"}, {"second"});
  m.floats("cb", {4}, ones(4));
  auto& c1 = m.node("Conv", {"img", "first", "cb"}, {"c1"});
  set_ints(c1, "pads", {1, 1, 1, 1});
  m.node("Conv", {"img", "second"}, {"c2"});
  for (const char* p : {"g", "o", "mean", "var"}) m.floats(p, {4}, ones(4));
  m.node("BatchNormalization", {"c1", "g", "o", "mean", "var"}, {"n"});
  m.floats("half", {}, {0.5F});
  m.node("Mul", {"n", "half"}, {"y"});
  m.output("c2");
  m.floats("table", {10, 6}, ones(60)).floats("turned", {8, 6}, ones(48));
  m.floats("mask", {3, 6}, std::vector<float>(18, -1e9F));
  m.node("Gather", {"table", "ids"}, {"rows"});
  m.node("Add", {"rows", "mask"}, {"e"});
  set_ints(m.node("Transpose", {"turned"}, {"t"}), "perm", {1, 0});
  m.node("MatMul", {"rows", "t"}, {"l"});
  ImportOptions options;
  options.weights = WeightMode::seeded;
  const Graph g = m.import(options);
  CHECK(moments(value(g, "first")).deviation == doctest::Approx(std::sqrt(2.0 / 18)).epsilon(0.3));
  CHECK(value(g, "first").to_doubles() != value(g, "second").to_doubles());
  CHECK(std::abs(moments(value(g, "cb")).mean) < 0.3);
  CHECK(moments(value(g, "g")).mean == doctest::Approx(1).epsilon(0.3));
  CHECK(moments(value(g, "var")).low >= 0.5);
  CHECK(value(g, "half").to_doubles() == std::vector<double>{0.5});
  CHECK(moments(value(g, "table")).deviation == doctest::Approx(0.5).epsilon(0.3));
  CHECK(moments(value(g, "mask")).high == -1e9F);
  CHECK(value(g, "t").to_doubles() != std::vector<double>(48, 0.02F));
  CHECK(moments(value(g, "t")).deviation == doctest::Approx(std::sqrt(2.0 / 6)).epsilon(0.3));
}

TEST_CASE("as_in_file keeps the file's values, copies included") {
  const Graph g = network(true).import();
  CHECK(value(g, "w").to_doubles() == std::vector<double>(128, 0.1F));
}

TEST_CASE("absent keeps integers, scalars and shapes, and no value of a weight") {
  TestModel m = network(false);
  m.floats("eps", {}, {1e-5F}).output("s");
  m.node("Add", {"y", "eps"}, {"s"});
  ImportOptions options;
  options.weights = WeightMode::absent;
  const Graph g = m.import(options);
  CHECK(g.tensor(*g.find_tensor("w")).value == nullptr);
  CHECK(g.tensor(*g.find_tensor("b")).value == nullptr);
  CHECK(value(g, "eps").size() == 1);
}

}  // namespace
}  // namespace assay
