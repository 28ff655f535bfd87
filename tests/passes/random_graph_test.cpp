#include <doctest/doctest.h>

#include <cmath>

#include "core/base/error.h"
#include "core/passes/pass.h"
#include "core/passes/value_check.h"
#include "tests/support/random_graph.h"

using namespace assay;

TEST_CASE("random graphs are valid, reproducible, finite and of many kinds") {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Random a(seed), b(seed);
    const Graph g = random_graph(a);
    verify_graph(g);
    CHECK(print_graph(g) == print_graph(random_graph(b)));
    for (const NodeId n : g.nodes()) ++seen[g.node(n).op];
    for (const auto& [name, value] : evaluate_graph(g, random_inputs(g, seed)))
      for (const double v : value->to_doubles()) REQUIRE(std::abs(v) < 1e12);
  }
  for (const char* op : {"Conv", "MatMul", "Gemm", "BatchNormalization", "QuantizeLinear", "DequantizeLinear",
                         "Transpose", "Reshape", "Slice", "Concat", "Split", "MaxPool", "Softmax", "ReduceSum"})
    CHECK_MESSAGE(seen[op] > 3, op);
}

TEST_CASE("the pipeline keeps the values of random graphs after every single pass") {
  std::map<std::string, std::size_t> rewrites;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    // Every other graph has no quantiser: there the tolerances are those of rounding.
    Graph g = random_graph(random, {.quantised = seed % 2 == 0});
    const Graph before = g;
    PassContext context;
    std::vector<PassRecord> records;
    REQUIRE_NOTHROW(records = run_passes(g, standard_pipeline(), {.check_values = true, .seed = seed}, context));
    for (const PassRecord& r : records) rewrites[r.name] += r.rewrites;
    REQUIRE(g.inputs().size() == before.inputs().size());
    REQUIRE(g.outputs().size() == before.outputs().size());
    for (std::size_t i = 0; i < g.outputs().size(); ++i)
      CHECK(g.tensor(g.outputs()[i]).name == before.tensor(before.outputs()[i]).name);
  }
  for (const Pass& p : standard_pipeline()) CHECK_MESSAGE(rewrites[p.name] > 0, p.name);
}

TEST_CASE("switching off any one pass keeps the values") {
  for (const Pass& off : standard_pipeline()) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      CAPTURE(off.name);
      CAPTURE(seed);
      Random random(seed);
      Graph g = random_graph(random);
      PassContext context;
      const auto records =
          run_passes(g, standard_pipeline(), {.disabled = {off.name}, .check_values = true, .seed = seed}, context);
      CHECK(records.size() == standard_pipeline().size() - 1);
    }
  }
}

TEST_CASE("each pass alone keeps the values, and running the pipeline twice changes little") {
  for (std::uint64_t seed = 200; seed <= 230; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Graph g = random_graph(random);
    for (const Pass& p : standard_pipeline()) {
      CAPTURE(p.name);
      Graph one = g;
      PassContext context;
      run_passes(one, {p}, {.check_values = true, .seed = seed}, context);
    }
    Graph twice = g;
    PassContext context;
    run_passes(twice, standard_pipeline(), {}, context);
    const std::size_t nodes = twice.node_count();
    run_passes(twice, standard_pipeline(), {.check_values = true, .seed = seed}, context);
    CHECK(twice.node_count() <= nodes);
  }
}

TEST_CASE("the pipeline gives the same text every time") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Random random(seed);
    const Graph g = random_graph(random);
    Graph a = g, b = g;
    PassContext context;
    run_passes(a, standard_pipeline(), {}, context);
    run_passes(b, standard_pipeline(), {}, context);
    CHECK(print_graph(a) == print_graph(b));
  }
}
