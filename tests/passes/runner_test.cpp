#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/passes/pass.h"
#include "core/passes/value_check.h"

using namespace assay;
namespace fs = std::filesystem;

namespace {

Graph small_graph() {
  return parse_graph(R"(graph small
input %x : fp32[2, 3]
node t1 : %a : fp32[3, 2] = Transpose 17(%x) {perm = [1, 0]} from [t1]
node t2 : %b : fp32[2, 3] = Transpose 17(%a) {perm = [1, 0]} from [t2]
node act : %y : fp32[2, 3] = Relu 17(%b) from [act]
output %y
)",
                     "small");
}

std::string error_of(const PassOptions& options) {
  Graph g = small_graph();
  PassContext context;
  try {
    run_passes(g, standard_pipeline(), options, context);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

Pass broken(const std::string& name, std::function<std::size_t(Graph&, PassContext&)> run) {
  return {name, "Breaks the graph.", "y -> z", 0, std::move(run)};
}

std::string internal_error_of(const Pass& pass, const PassOptions& options) {
  Graph g = small_graph();
  PassContext context;
  try {
    run_passes(g, {pass}, options, context);
  } catch (const InternalError& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("every pass of the pipeline has its own kebab-case name, a summary and a picture") {
  std::vector<std::string> names;
  for (const Pass& p : standard_pipeline()) {
    CAPTURE(p.name);
    CHECK(std::find(names.begin(), names.end(), p.name) == names.end());
    names.push_back(p.name);
    CHECK(p.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos);
    CHECK(p.summary.ends_with("."));
    CHECK(p.before_after.find(" -> ") != std::string::npos);
  }
}

TEST_CASE("an option that names no pass is an error with the nearest name") {
  const std::string disabled = error_of({.disabled = {"canonicalize"}});
  CHECK(disabled.find("--disable-pass: no pass is called 'canonicalize'; the passes are constant-folding, ") !=
        std::string::npos);
  CHECK(disabled.find("did you mean 'canonicalise'?") != std::string::npos);
  CHECK(error_of({.disabled = {"all"}}).find("no pass is called 'all'") != std::string::npos);
  CHECK(error_of({.dump_after = "al"}).find("did you mean 'all'?") != std::string::npos);
  CHECK(error_of({.stop_after = "dead-cod"}).find("--stop-after: no pass is called 'dead-cod'") != std::string::npos);
  CHECK(error_of({.stop_after = "dead-cod"}).find("did you mean 'dead-code'?") != std::string::npos);
}

TEST_CASE("a disabled pass does not run and the runner stops where it is told") {
  Graph g = small_graph();
  PassContext context;
  const auto records =
      run_passes(g, standard_pipeline(), {.disabled = {"constant-folding"}, .stop_after = "canonicalise"}, context);
  REQUIRE(records.size() == 2);
  CHECK(records[0].name == "dead-code");
  CHECK(records[1].name == "canonicalise");
  CHECK(records[1].rewrites > 0);
  CHECK(records[1].nodes_after == 1);
  CHECK(records[1].seconds >= 0);
  CHECK(g.node_count() == 1);
}

TEST_CASE("graphs are dumped as text that loads again and as DOT") {
  const fs::path dir = fs::temp_directory_path() / "assay-pass-dump";
  fs::remove_all(dir);
  fs::create_directories(dir);
  Graph g = small_graph();
  PassContext context;
  run_passes(g, standard_pipeline(), {.dump_after = "canonicalise", .dump_dir = dir.string()}, context);
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(dir)) files += entry.is_regular_file() ? 1 : 0;
  CHECK(files == 2);
  std::ifstream in(dir / "03-canonicalise.txt");
  std::stringstream text;
  text << in.rdbuf();
  CHECK(parse_graph(text.str(), "dump").node_count() == 1);
  CHECK(fs::exists(dir / "03-canonicalise.dot"));
  Graph all = small_graph();
  run_passes(all, standard_pipeline(), {.dump_after = "all", .dump_dir = dir.string()}, context);
  CHECK(fs::exists(dir / "01-constant-folding.txt"));
  fs::remove_all(dir);
  run_passes(all, standard_pipeline(), {.dump_after = "all", .dump_dir = (dir / "made").string()}, context);
  CHECK(fs::exists(dir / "made/01-constant-folding.txt"));
  CHECK(error_of({.dump_after = "all", .dump_dir = (dir / "made/01-constant-folding.txt").string()})
            .find("01-constant-folding.txt: the folder can't be made") != std::string::npos);
  fs::remove_all(dir);
  fs::create_directories(dir / "01-constant-folding.txt");
  CHECK(error_of({.dump_after = "all", .dump_dir = dir.string()}).find("01-constant-folding.txt: can't be written") !=
        std::string::npos);
  fs::remove_all(dir);
}

TEST_CASE("a pass that leaves a wrong type behind is named") {
  const Pass pass = broken("wrong-type", [](Graph& g, PassContext&) {
    g.set_type(*g.find_tensor("a"), {DType::f32, {2, 3}});
    return std::size_t{1};
  });
  CHECK(internal_error_of(pass, {}).find("after pass 'wrong-type': ") != std::string::npos);
}

TEST_CASE("checking values finds a pass that changes them, and only then") {
  const Pass pass = broken("wrong-value", [](Graph& g, PassContext&) {
    g.set_op(*g.find_node("act"), "Abs");
    return std::size_t{1};
  });
  CHECK(internal_error_of(pass, {}) == "no error");
  CHECK(internal_error_of(pass, {.check_values = true}).find("pass 'wrong-value' changed the values") !=
        std::string::npos);
  const Pass renaming = broken("renames", [](Graph& g, PassContext&) {
    g.set_name(*g.find_tensor("y"), "z");
    return std::size_t{1};
  });
  CHECK(internal_error_of(renaming, {.check_values = true}).find("output 'y' is gone") != std::string::npos);
}

TEST_CASE("the sign of zero counts where a pass claims to be exact") {
  Graph g = parse_graph("graph z\ninput %x : fp32[1]\nnode n : %y : fp32[1] = Neg 17(%x)\noutput %y\n", "z");
  const auto value = [](double v) {
    Tensor t({DType::f32, {1}});
    t.set(0, v);
    return TensorMap{{"y", std::make_shared<const Tensor>(std::move(t))}};
  };
  CHECK(explain_difference(g, value(-0.0), value(0.0), 0).find("sign of zero") != std::string::npos);
  CHECK(explain_difference(g, value(-0.0), value(0.0), 1e-6) == "");
  CHECK(explain_difference(g, value(1.0), value(1.0 + 1e-5), 1e-6) != "");
  CHECK(explain_difference(g, {}, value(1), 0) == "0 outputs, expected 1");
}

TEST_CASE("values of a graph with weights by shape only can't be checked") {
  Graph g = parse_graph(
      "graph w\ninput %x : fp32[2, 3]\nweight %w : fp32[3, 2]\nnode n : %y : fp32[2, 2] = MatMul 17(%x, %w)\n"
      "output %y\n",
      "w");
  PassContext context;
  CHECK_THROWS_WITH_AS(run_passes(g, standard_pipeline(), {.check_values = true}, context),
                       doctest::Contains("values can't be checked, because it can't be executed"), InputError);
}

TEST_CASE("results that are too large are not folded, and the remark says so") {
  Graph g = parse_graph(R"(graph big
input %x : fp32[1]
constant %shape : int64[2] = [5000, 5000]
node fill : %big : fp32[5000, 5000] = ConstantOfShape 17(%shape)
node sum : %y : fp32[5000, 5000] = Add 17(%big, %x)
output %y
)",
                        "big");
  PassContext context;
  run_passes(g, standard_pipeline(), {}, context);
  CHECK(g.node_count() == 2);
  REQUIRE(!context.remarks.empty());
  CHECK(context.remarks[0] ==
        "constant-folding: node 'fill': not folded: the result takes 100000000 bytes, the limit is 67108864");
}
