#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/ir/graph.h"

using namespace assay;

namespace {

const TensorType kType{DType::f32, {2, 3}};

Node node(std::string name, std::string op, std::vector<TensorId> in, std::vector<TensorId> out) {
  return {.name = std::move(name),
          .op = std::move(op),
          .version = 13,
          .attributes = {},
          .inputs = std::move(in),
          .outputs = std::move(out),
          .sources = {}};
}

struct Small {
  Graph g;
  TensorId x, w, a, b;
  NodeId add, relu;
  Small() {
    x = g.add_input("x", kType);
    w = g.add_constant("w", std::make_shared<const Tensor>(kType));
    a = g.add_tensor("a", kType);
    b = g.add_tensor("b", kType);
    add = g.add_node(node("add", "Add", {x, w}, {a}));
    relu = g.add_node(node("relu", "Relu", {a}, {b}));
    g.mark_output(b);
  }
};

}  // namespace

TEST_CASE("a graph knows producers, uses with operand positions, and names") {
  Small s;
  check_structure(s.g);
  CHECK(s.g.producer(s.a) == s.add);
  CHECK_FALSE(s.g.producer(s.x));
  CHECK(s.g.uses(s.w) == std::vector<Use>{{s.add, 1}});
  CHECK(s.g.find_tensor("a") == s.a);
  CHECK(s.g.find_node("relu") == s.relu);
  CHECK_FALSE(s.g.find_node("nothing"));
  CHECK(s.g.node_count() == 2);
}

TEST_CASE("the same tensor may stand at two operands of one node") {
  Graph g;
  const TensorId x = g.add_input("x", kType), y = g.add_tensor("y", kType);
  const NodeId n = g.add_node(node("sq", "Mul", {x, x}, {y}));
  CHECK(g.uses(x) == std::vector<Use>{{n, 0}, {n, 1}});
  const TensorId z = g.add_input("z", kType);
  g.set_input(n, 0, z);
  CHECK(g.uses(x) == std::vector<Use>{{n, 1}});
  check_structure(g);
}

TEST_CASE("equal names get suffixes") {
  Graph g;
  CHECK(g.tensor(g.add_input("x", kType)).name == "x");
  CHECK(g.tensor(g.add_input("x", kType)).name == "x_1");
  CHECK(g.tensor(g.add_input("x", kType)).name == "x_2");
  CHECK(g.tensor(g.add_input("x_1", kType)).name == "x_1_1");
}

TEST_CASE("uses move to another tensor, also where it is an output of the graph") {
  Small s;
  s.g.replace_uses(s.b, s.a);
  CHECK(s.g.outputs() == std::vector<TensorId>{s.a});
  s.g.remove_node(s.relu);
  s.g.remove_tensor(s.b);
  check_structure(s.g);
  s.g.compact();
  check_structure(s.g);
  CHECK(s.g.node_count() == 1);
  CHECK(s.g.tensors().size() == 3);
}

TEST_CASE("a value makes a tensor a constant and detaches its producer") {
  Small s;
  s.g.set_value(s.a, std::make_shared<const Tensor>(kType));
  CHECK_FALSE(s.g.producer(s.a));
  CHECK(s.g.tensor(s.a).kind == TensorKind::constant);
  CHECK_FALSE(s.g.node(s.add).outputs[0].valid());
  s.g.remove_node(s.add);
  check_structure(s.g);
}

TEST_CASE("removing what is used is a bug") {
  Small s;
  CHECK_THROWS_WITH_AS(s.g.remove_node(s.add), doctest::Contains("is removed while 'a' is used"), InternalError);
  CHECK_THROWS_WITH_AS(s.g.remove_node(s.relu), doctest::Contains("is removed while 'b' is used"), InternalError);
  CHECK_THROWS_WITH_AS(s.g.remove_tensor(s.w), doctest::Contains("removed while it is connected"), InternalError);
  s.g.unmark_output(s.b);
  s.g.remove_node(s.relu);
  CHECK_THROWS_AS(s.g.node(s.relu), InternalError);
}

TEST_CASE("a second producer is a bug") {
  Small s;
  CHECK_THROWS_WITH_AS(s.g.add_node(node("again", "Relu", {s.x}, {s.a})), doctest::Contains("written already"),
                       InternalError);
  CHECK_THROWS_WITH_AS(s.g.add_node(node("again", "Relu", {s.x}, {s.x})), doctest::Contains("written already"),
                       InternalError);
}

TEST_CASE("a copy of a graph is independent and shares its constants") {
  Small s;
  Graph copy = s.g;
  copy.set_op(s.relu, "Neg");
  copy.set_input(s.relu, 0, s.x);
  CHECK(s.g.node(s.relu).op == "Relu");
  CHECK(s.g.uses(s.a).size() == 1);
  CHECK(copy.uses(s.a).empty());
  CHECK(copy.tensor(s.w).value == s.g.tensor(s.w).value);
  check_structure(s.g);
}

TEST_CASE("the topological order respects edges and breaks ties by id") {
  Graph g;
  const TensorId x = g.add_input("x", kType);
  const TensorId a = g.add_tensor("a", kType), b = g.add_tensor("b", kType), c = g.add_tensor("c", kType);
  const NodeId last = g.add_node(node("last", "Add", {a, b}, {c}));
  const NodeId n1 = g.add_node(node("n1", "Relu", {x}, {a}));
  const NodeId n2 = g.add_node(node("n2", "Neg", {x}, {b}));
  CHECK(g.topological_order() == std::vector<NodeId>{n1, n2, last});
}

TEST_CASE("a cycle is an input error that names its nodes") {
  Graph g;
  const TensorId x = g.add_input("x", kType);
  const TensorId a = g.add_tensor("a", kType), b = g.add_tensor("b", kType), c = g.add_tensor("c", kType);
  g.add_node(node("one", "Add", {x, b}, {a}));
  g.add_node(node("two", "Relu", {a}, {b}));
  g.add_node(node("behind", "Relu", {b}, {c}));
  CHECK_THROWS_WITH_AS(g.topological_order(), doctest::Contains("'one' -> 'two'"), InputError);
  CHECK_THROWS_WITH_AS(g.topological_order(), doctest::Contains("form a cycle"), InputError);
  CHECK_THROWS_AS(check_structure(g), InternalError);
}

TEST_CASE("check_structure names what is wrong") {
  SUBCASE("a tensor that nothing writes") {
    Graph g;
    const TensorId a = g.add_tensor("a", kType), b = g.add_tensor("b", kType);
    g.add_node(node("n", "Relu", {a}, {b}));
    CHECK_THROWS_WITH_AS(check_structure(g), doctest::Contains("'a' is read, but nothing writes it"), InternalError);
  }
  SUBCASE("a state whose alias is no output") {
    Small s;
    s.g.set_state_alias(s.x, "a");
    CHECK_THROWS_WITH_AS(check_structure(s.g), doctest::Contains("aliased to 'a', which is no output"), InternalError);
    s.g.set_state_alias(s.x, "b");
    check_structure(s.g);
  }
  SUBCASE("a value of another type than declared") {
    Small s;
    s.g.set_type(s.w, {DType::f32, {6}});
    CHECK_THROWS_WITH_AS(check_structure(s.g), doctest::Contains("'w' is declared fp32[6]"), InternalError);
  }
  SUBCASE("a node without an operation") {
    Small s;
    s.g.set_op(s.add, "");
    CHECK_THROWS_WITH_AS(check_structure(s.g), doctest::Contains("'add' has no operation"), InternalError);
  }
}

TEST_CASE("attributes are typed and fall back to defaults") {
  Attributes a;
  a.set("group", std::int64_t{4});
  a.set("alpha", 0.5);
  a.set("mode", std::string("linear"));
  a.set("pads", std::vector<std::int64_t>{1, 2});
  CHECK(a.integer("group", 1) == 4);
  CHECK(a.integer("other", 1) == 1);
  CHECK(a.real("alpha", 1) == 0.5);
  CHECK(a.text("mode", "") == "linear");
  CHECK(a.integers("pads") == std::vector<std::int64_t>{1, 2});
  CHECK(a.integers("none", {7}) == std::vector<std::int64_t>{7});
  CHECK(a.tensor("none") == nullptr);
  CHECK(a.graph("none") == nullptr);
  CHECK_THROWS_WITH_AS(a.integer("alpha", 0), doctest::Contains("attribute 'alpha': expected an integer"), InputError);
  CHECK_THROWS_WITH_AS(a.reals("group"), doctest::Contains("expected a list of real numbers"), InputError);
}

TEST_CASE("seven thousand nodes are built, ordered, edited and checked at once") {
  const auto start = std::chrono::steady_clock::now();
  Graph g;
  const TensorId shared = g.add_constant("shared", std::make_shared<const Tensor>(kType));
  TensorId t = g.add_input("x", kType);
  for (int i = 0; i < 7000; ++i) {
    const TensorId next = g.add_tensor("t", kType);
    g.add_node(node("n", "Add", {t, shared}, {next}));
    t = next;
  }
  g.mark_output(t);
  CHECK(g.topological_order().size() == 7000);
  for (const NodeId n : g.nodes())
    if (n.index() % 2 == 1) {
      g.replace_uses(g.node(n).outputs[0], g.node(n).inputs[0]);
      g.remove_node(n);
    }
  g.compact();
  check_structure(g);
  CHECK(g.node_count() == 3500);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  CHECK(took.count() < 5.0);  // some 50 ms in a release build; generous for sanitizers
}

TEST_CASE("random edits keep the structure consistent") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Graph g;
    std::vector<TensorId> values{g.add_input("x", kType), g.add_input("y", kType)};
    const auto pick = [&] {
      return values[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(values.size()) - 1))];
    };
    for (int i = 0; i < 60; ++i) {
      const TensorId out = g.add_tensor("t", kType);
      g.add_node(node("n", "Add", {pick(), pick()}, {out}));
      values.push_back(out);
    }
    g.mark_output(values.back());
    for (int i = 0; i < 40; ++i) {
      const std::vector<NodeId> nodes = g.nodes();
      const NodeId n = nodes[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(nodes.size()) - 1))];
      const TensorId out = g.node(n).outputs[0], in = g.node(n).inputs[0];
      if (g.tensor(out).is_output) continue;
      g.replace_uses(out, in);
      g.remove_node(n);
      g.remove_tensor(out);
    }
    check_structure(g);
    const std::size_t count = g.node_count();
    g.compact();
    check_structure(g);
    CHECK(g.node_count() == count);
  }
}
