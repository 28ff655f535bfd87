#include <doctest/doctest.h>

#include <limits>

#include "core/base/error.h"
#include "core/ir/graph.h"

using namespace assay;

namespace {

const std::string kText = R"(graph "two layers"
input %x : fp32[1, 3]
input %kv : fp16[4] state %kv_out
constant %s : fp32[2] = [1.0, 0.5]
constant %"odd name" : int64[2] = [-1, 3]
weight %w : fp32[3, 2]
node "conv:1" : %y : fp32[1, 2], _ = Gemm 13(%x, %w, %s) {alpha = 1.0, axes = [1], e = ints[], mode = "a \"b\"", r = [0.5, inf], t = tensor fp32[1] = [2.0], w = ["p", "q"]} from ["conv:1", relu1]
node n2 : %z : fp32[1, 2] = Clip 11(%y, _, %s)
node n3 : %kv_out : fp16[4] = Identity 13(%kv)
output %z
output %kv_out
)";

std::string changed(const std::string& from, const std::string& to) {
  std::string t = kText;
  t.replace(t.find(from), from.size(), to);
  return t;
}

}  // namespace

TEST_CASE("the text form of a graph is read and printed unchanged") {
  const Graph g = parse_graph(kText, "two.graph");
  check_structure(g);
  CHECK(g.name == "two layers");
  CHECK(print_graph(g) == kText);
  const Node& n = g.node(*g.find_node("conv:1"));
  CHECK(n.version == 13);
  CHECK(n.attributes.text("mode", "") == "a \"b\"");
  CHECK(n.attributes.reals("r")[1] == std::numeric_limits<double>::infinity());
  CHECK(n.attributes.tensor("t")->get(0) == 2.0);
  CHECK(n.sources == std::vector<std::string>{"conv:1", "relu1"});
  CHECK_FALSE(n.outputs[1].valid());
  CHECK_FALSE(g.node(*g.find_node("n2")).inputs[1].valid());
  CHECK(g.tensor(*g.find_tensor("kv")).state_alias == "kv_out");
}

TEST_CASE("a large constant prints by hash and comes back as a weight") {
  Graph g;
  g.name = "g";
  g.mark_output(g.add_constant("big", std::make_shared<const Tensor>(TensorType{DType::i8, {100}})));
  const std::string text = print_graph(g);
  CHECK(text.find("constant %big : int8[100] = sha256 cd00e292c5970d3c") != std::string::npos);
  const Graph back = parse_graph(text, "g");
  CHECK(back.tensor(*back.find_tensor("big")).value == nullptr);
  CHECK(back.tensor(*back.find_tensor("big")).kind == TensorKind::constant);
}

TEST_CASE("printing again gives the same text even after edits that reorder nodes") {
  Graph g = parse_graph(kText, "g");
  const TensorId y = *g.find_tensor("y");
  const TensorId fresh = g.add_tensor("fresh", g.tensor(y).type);
  g.replace_uses(y, fresh);
  Node n;
  n.name = "late";
  n.op = "Relu";
  n.inputs = {y};
  n.outputs = {fresh};
  g.add_node(n);
  const std::string once = print_graph(g);
  CHECK(print_graph(parse_graph(once, "g")) == once);
}

TEST_CASE("a subgraph attribute is refused by name") {
  Graph g = parse_graph(kText, "g");
  g.attributes(*g.find_node("n2")).set("body", std::make_shared<const Graph>());
  CHECK_THROWS_WITH_AS(print_graph(g), doctest::Contains("node 'n2': attribute 'body' is a graph"), InputError);
}

TEST_CASE("errors in the text form say where and what") {
  const auto error = [](const std::string& text) {
    try {
      parse_graph(text, "two.graph");
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  CHECK(error("nothing").find("two.graph:1:1: expected 'graph', found 'nothing'") != std::string::npos);
  CHECK(error(changed("fp32[1, 3]", "fp31[1, 3]")).find("two.graph:2:12: 'fp31' is not a type") != std::string::npos);
  CHECK(error(changed("fp32[1, 3]", "fp32[1, -3]")).find("a dimension is negative") != std::string::npos);
  CHECK(error(changed("fp32[1, 3]", "fp32[1, 3")).find("expected ']', found the end of the line") != std::string::npos);
  CHECK(error(changed("fp32[1, 3]", "fp32[4000000000, 4000000000, 4]")).find("does not fit 64 bits") !=
        std::string::npos);
  CHECK(error(changed("fp32[1, 3]", "fp32[99999999999999999999]")).find("expected an integer of 64 bits") !=
        std::string::npos);
  CHECK(error(changed("[1.0, 0.5]", "[1.0]")).find("1 values for fp32[2]") != std::string::npos);
  CHECK(error(changed("[-1, 3]", "[-1, 0.5]")).find("a real number in int64[2]") != std::string::npos);
  CHECK(error(changed("[1.0, 0.5]", "[1.0, x]")).find("expected a number, found 'x'") != std::string::npos);
  CHECK(error(changed("Clip 11(%y", "Clip 11(%yy")).find("'yy' is not declared above") != std::string::npos);
  CHECK(error(changed("node n3", "node n2")).find("node 'n2' is declared twice") != std::string::npos);
  CHECK(error(changed("%z :", "%y :")).find("'y' is declared twice") != std::string::npos);
  CHECK(error(changed("output %kv_out", "output %z")).find("'z' is an output already") != std::string::npos);
  CHECK(error(changed("state %kv_out", "state %y")).find("aliased to 'y', which is no output") != std::string::npos);
  CHECK(error(changed("output %z", "exit %z")).find("found 'exit'") != std::string::npos);
  CHECK(error(changed("from [\"conv:1\"", "from [\"conv:1")).find("the string is not closed") != std::string::npos);
  CHECK(error(changed("\\\"b", "\\qb")).find("unknown escape") != std::string::npos);
  CHECK(error(changed("alpha = 1.0, axes", "alpha = 1.0, alpha")).find("given twice") != std::string::npos);
  CHECK(error(changed("[0.5, inf]", "[0.5, 1]")).find("integers only or reals only") != std::string::npos);
  CHECK(error(changed("[\"p\", \"q\"]", "[\"p\", 1]")).find("strings only") != std::string::npos);
  CHECK(error(changed("output %z", "output %z %z")).find("expected the end of the line") != std::string::npos);
  CHECK(error(changed("Clip 11", "Clip -11")).find("the version is out of range") != std::string::npos);
  CHECK(error(changed("node n3", "node =")).find("expected a name, found '='") != std::string::npos);
}

TEST_CASE("a file cut anywhere is an error or a shorter graph, never a crash") {
  for (std::size_t n = 0; n < kText.size(); ++n) {
    CAPTURE(n);
    try {
      const Graph g = parse_graph(kText.substr(0, n), "cut");
      CHECK(print_graph(parse_graph(print_graph(g), "again")) == print_graph(g));
    } catch (const InputError&) {
    }
  }
}

TEST_CASE("DOT shows operations and shapes and hides constants") {
  const std::string dot = graph_to_dot(parse_graph(kText, "g"));
  CHECK(dot.find("digraph \"two layers\"") == 0);
  CHECK(dot.find("Gemm\\nconv:1\\nfp32[1, 2]") != std::string::npos);
  CHECK(dot.find("odd name") == std::string::npos);
  CHECK(dot.find("n0 -> n1") != std::string::npos);
}
