#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/passes/pass.h"
#include "core/passes/quantise.h"
#include "core/passes/value_check.h"
#include "tests/support/random_graph.h"

using namespace assay;

namespace {

std::size_t count(const Graph& g, const std::string& op) {
  const std::vector<NodeId> nodes = g.nodes();
  return static_cast<std::size_t>(
      std::count_if(nodes.begin(), nodes.end(), [&](NodeId n) { return g.node(n).op == op; }));
}

TensorMap one_input(const Graph& g, std::vector<float> values) {
  const GraphTensor& t = g.tensor(g.inputs()[0]);
  return {{t.name, std::make_shared<const Tensor>(Tensor::of<float>(DType::f32, t.type.shape, values))}};
}

Graph product() {
  return parse_graph(R"(graph product
input %x : fp32[1, 2]
constant %w : fp32[2, 2] = [1.27, 0.0, 0.0, 12.7]
constant %b : fp32[2] = [0.5, -0.5]
node fc : %y : fp32[1, 2] = Gemm 17(%x, %w, %b) from [fc]
output %y
)",
                     "product");
}

const char* const kByShape = R"(graph shape
input %x : fp32[1, 2, 4, 4]
weight %w : fp32[4, 2, 3, 3]
weight %b : fp32[4]
node conv : %y : fp32[1, 4, 2, 2] = Conv 17(%x, %w, %b) from [conv]
output %y
)";

}  // namespace

TEST_CASE("a product is quantised per column, by hand") {
  const Graph g = product();
  // Range of x: 2.54, so its scale is 0.02; the columns' scales are 0.01 and 0.1.
  const QuantiseResult q = quantise_int8(g, {.calibration = {one_input(g, {2.54F, 1.0F})}});
  CHECK(q.quantised_nodes == 1);
  CHECK(count(q.graph, "MatMulInteger") == 1);
  CHECK(count(q.graph, "Gemm") == 0);
  const auto outputs = evaluate_graph(q.graph, one_input(g, {1.0F, -0.5F}));
  // x = (50, −25) · 0.02, w = (127, 127) on the diagonal.
  CHECK(outputs.at("y")->get(0) == doctest::Approx(50 * 127 * 0.02 * 0.01 + 0.5));
  CHECK(outputs.at("y")->get(1) == doctest::Approx(-25 * 127 * 0.02 * 0.1 - 0.5));
}

TEST_CASE("quantised graphs stay close to the float graphs and keep their interface") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Graph g = random_graph(random, {.max_nodes = 12, .quantised = false});
    PassContext context;
    run_passes(g, standard_pipeline(), {}, context);
    const TensorMap inputs = random_inputs(g, seed);
    const QuantiseResult q = quantise_int8(g, {.calibration = {inputs}});
    Graph after = q.graph;
    run_passes(after, standard_pipeline(), {.check_values = true, .seed = seed}, context);
    CHECK(count(after, "Conv") + count(after, "MatMul") + count(after, "Gemm") == q.remarks.size());
    const TensorMap expected = evaluate_graph(g, inputs), got = evaluate_graph(q.graph, inputs);
    for (const auto& [name, want] : expected) {
      REQUIRE(got.contains(name));
      REQUIRE(got.at(name)->type() == want->type());
      // Small random layers without training lose more than real ones; a wrong scale or axis loses everything.
      CHECK(compare(*got.at(name), *want, 0, 0).sqnr_db > 10);
    }
  }
}

TEST_CASE("grouped and depthwise convolutions are quantised per output channel") {
  Random random(7);
  Tensor w({DType::f32, {4, 1, 3, 3}});
  for (std::int64_t i = 0; i < w.size(); ++i) w.set(i, random.normal() * static_cast<double>(1 + i / 9 * 10));
  Graph g;
  const TensorId x = g.add_input("x", {DType::f32, {1, 4, 6, 6}});
  const TensorId wt = g.add_constant("w", std::make_shared<const Tensor>(std::move(w)));
  const TensorId y = g.add_tensor("y", {DType::f32, {1, 4, 4, 4}});
  Attributes attributes;
  attributes.set("group", std::int64_t{4});
  g.add_node({.name = "dw",
              .op = "Conv",
              .version = 17,
              .attributes = attributes,
              .inputs = {x, wt},
              .outputs = {y},
              .sources = {"dw"}});
  g.mark_output(y);
  const TensorMap inputs = random_inputs(g, 3);
  const QuantiseResult q = quantise_int8(g, {.calibration = {inputs}});
  CHECK(q.quantised_nodes == 1);
  CHECK(compare(*evaluate_graph(q.graph, inputs).at("y"), *evaluate_graph(g, inputs).at("y"), 0, 0).sqnr_db > 35);
}

TEST_CASE("calibration is asked for, and refuses infinities and NaN by name") {
  const Graph g = product();
  CHECK_THROWS_WITH_AS(quantise_int8(g, {}), doctest::Contains("needs at least one calibration input set"), InputError);
  CHECK_THROWS_WITH_AS(quantise_int8(g, {.calibration = {one_input(g, {NAN, 0})}}),
                       doctest::Contains("tensor 'x': can't be quantised: the calibration run gave infinity or NaN"),
                       InputError);
  Graph bad = product();
  Tensor w({DType::f32, {2, 2}});
  w.set(1, INFINITY);
  bad.set_value(*bad.find_tensor("w"), std::make_shared<const Tensor>(std::move(w)));
  CHECK_THROWS_WITH_AS(quantise_int8(bad, {.calibration = {one_input(g, {1, 1})}}),
                       doctest::Contains("weight 'w': can't be quantised"), InputError);
}

TEST_CASE("sums that could overflow int32 stay on floats") {
  Graph g;
  const TensorId a = g.add_input("a", {DType::f32, {1, 140000}}), b = g.add_input("b", {DType::f32, {140000, 1}});
  const TensorId y = g.add_tensor("y", {DType::f32, {1, 1}});
  g.add_node({.name = "long",
              .op = "MatMul",
              .version = 17,
              .attributes = {},
              .inputs = {a, b},
              .outputs = {y},
              .sources = {}});
  g.mark_output(y);
  const QuantiseResult q = quantise_int8(g, {.calibration = {random_inputs(g, 1)}});
  CHECK(q.quantised_nodes == 0);
  REQUIRE(q.remarks.size() == 1);
  CHECK(q.remarks[0] == "quantise-int8: node 'long': stays on floats: a sum of 140000 products could overflow int32");
}

TEST_CASE("a graph of weights by shape only is quantised by shape only") {
  const QuantiseResult q = quantise_int8(parse_graph(kByShape, "shape"), {});
  CHECK(q.quantised_nodes == 1);
  CHECK(count(q.graph, "ConvInteger") == 1);
  CHECK(q.graph.tensor(q.graph.outputs()[0]).name == "y");
}

TEST_CASE("conversion to fp16 and bf16 keeps the interface and the values within their precision") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Graph g = random_graph(random, {.max_nodes = 12});
    const TensorMap inputs = random_inputs(g, seed), expected = evaluate_graph(g, inputs);
    for (const DType to : {DType::f16, DType::bf16}) {
      Graph half = convert_precision(g, to);
      PassContext context;
      run_passes(half, standard_pipeline(), {}, context);
      const TensorMap got = evaluate_graph(half, inputs);
      for (const auto& [name, want] : expected) {
        REQUIRE(got.contains(name));
        REQUIRE(got.at(name)->type() == want->type());
        CHECK(compare(*got.at(name), *want, 0, 0).sqnr_db > (to == DType::f16 ? 20 : 8));
      }
    }
  }
}

TEST_CASE("conversion clamps masks, keeps the scales of quantisers and converts state in place") {
  const Graph g = parse_graph(R"(graph state
input %x : fp32[2]
input %cache : fp32[2] state %cache_out
constant %mask : fp32[2] = [-3.4e38, 0.0]
constant %s : fp32[] = [0.5]
constant %z : int8[] = [0]
node add : %a : fp32[2] = Add 17(%x, %mask) from [add]
node q : %aq : int8[2] = QuantizeLinear 17(%a, %s, %z) from [q]
node dq : %af : fp32[2] = DequantizeLinear 17(%aq, %s, %z) from [dq]
node next : %cache_out : fp32[2] = Add 17(%cache, %af) from [next]
node c : %y : fp32[2] = Cast 17(%aq) {to = 1} from [c]
output %y
output %cache_out
)",
                              "state");
  const Graph half = convert_precision(g, DType::f16);
  CHECK(half.tensor(*half.find_tensor("mask")).value->get(0) == -65504);
  CHECK(half.tensor(*half.find_tensor("s")).type.dtype == DType::f32);
  CHECK(half.tensor(half.inputs()[0]).type.dtype == DType::f32);
  CHECK(half.tensor(half.inputs()[1]).type.dtype == DType::f16);
  CHECK(half.tensor(half.inputs()[1]).state_alias == "cache_out");
  CHECK(half.tensor(half.outputs()[0]).name == "y");
  CHECK(half.tensor(half.outputs()[0]).type.dtype == DType::f32);
  CHECK(half.tensor(half.outputs()[1]).type.dtype == DType::f16);
}

TEST_CASE("conversion of a graph by shape only, and of an output that is an input or a constant") {
  const Graph g = parse_graph(R"(graph alias
input %x : fp32[2]
constant %c : fp32[2] = [1.0, 2.0]
node n : %y : fp32[2] = Add 17(%x, %c) from [n]
output %y
output %c
output %x
)",
                              "alias");
  const Graph half = convert_precision(g, DType::bf16);
  REQUIRE(half.outputs().size() == 3);
  for (const TensorId t : half.outputs()) CHECK(half.tensor(t).type.dtype == DType::f32);
  CHECK(half.tensor(half.outputs()[1]).name == "c");
  CHECK(half.tensor(half.outputs()[2]).name == "x");
  const Graph shapes = convert_precision(parse_graph(kByShape, "shape"), DType::f16);
  CHECK(shapes.tensor(*shapes.find_tensor("w")).type.dtype == DType::f16);
}

TEST_CASE("conversion refuses other types and nodes that hold graphs") {
  CHECK_THROWS_WITH_AS(convert_precision(product(), DType::i8),
                       doctest::Contains("--precision: conversion to int8 is not possible"), InputError);
  Graph g = product();
  g.attributes(*g.find_node("fc")).set("body", std::make_shared<const Graph>());
  CHECK_THROWS_WITH_AS(convert_precision(g, DType::f16), doctest::Contains("node 'fc': conversion to fp16 of a node"),
                       InputError);
}
