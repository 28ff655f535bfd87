#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/ops/attributes_json.h"
#include "hwmodels/functional/machine.h"
#include "tests/isa/small_machine.h"

using namespace assay;
using namespace assay::testing;

namespace {

Machine with_host() {
  Machine m = small_machine();
  m.hosts.push_back({"cpu", 1e9, "pcie"});
  return m;
}

Program host_program(const std::string& command) {
  return small_program(R"(
engine cpu host 0
buffer x memory 0 at 0 bytes 16 input fp32 [4]
buffer y memory 0 at 16 bytes 16 output fp32 [4]
bind input "x" = x
bind output "y" = y
)",
                       command);
}

std::string error_of(const std::string& command) {
  const Program p = host_program(command);
  const Machine m = with_host();
  FunctionalMachine f(p, m);
  f.set("x", Tensor(TensorType{DType::f32, {4}}));
  try {
    f.run();
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

const char* const kRelu = R"(host @cpu "Relu" attributes "{\"attributes\":{},\"version\":14}" out [y] in [x] trail 0)";

}  // namespace

TEST_CASE("the host executes an operation with its reference semantics") {
  const Program p = host_program(kRelu);
  const Machine m = with_host();
  FunctionalMachine f(p, m);
  const float values[] = {-1, 2, -3, 4};
  f.set("x", Tensor::of<float>(DType::f32, {4}, values));
  f.run();
  CHECK(f.get("y").to_doubles() == std::vector<double>{0, 2, 0, 4});
  const GroupActivity& g = f.activity().groups.at(0);
  CHECK(g.host_bytes == 32);
  CHECK(g.by_buffer.at(0).read_bytes == 16);
  CHECK(g.by_buffer.at(1).write_bytes == 16);
  CHECK(g.commands == 1);
}

TEST_CASE("what the host cannot execute is named") {
  std::string bad = kRelu;
  bad.replace(bad.find("Relu"), 4, "Rellu");
  CHECK(error_of(bad).find("unknown operation 'Rellu'") != std::string::npos);
  CHECK(error_of(R"(host @cpu "Relu" attributes "{" out [y] in [x])").find("parse error") != std::string::npos);
  CHECK(error_of(R"(host @cpu "Relu" attributes "{\"attributes\":{}}" out [y] in [x])").find("version") !=
        std::string::npos);
}

TEST_CASE("attributes survive JSON with their kinds") {
  Attributes a;
  a.set("axis", std::int64_t{-1});
  a.set("alpha", 1.0);
  a.set("limit", std::numeric_limits<double>::infinity());
  a.set("mode", std::string("linear"));
  a.set("pads", std::vector<std::int64_t>{0, 1});
  a.set("scales", std::vector<double>{1, 0.5});
  a.set("names", std::vector<std::string>{"a", "b"});
  a.set("none", std::vector<std::int64_t>{});
  const std::int64_t big[] = {std::int64_t{1} << 62, -3};
  a.set("value", std::make_shared<const Tensor>(Tensor::of<std::int64_t>(DType::i64, {2}, big)));
  const std::string text = attributes_to_json(a, 17);
  const ParsedAttributes b = attributes_from_json(text);
  CHECK(b.version == 17);
  CHECK(attributes_to_json(b.attributes, 17) == text);
  CHECK(b.attributes.integer("axis", 0) == -1);
  CHECK(std::holds_alternative<double>(b.attributes.values().at("alpha")));
  CHECK(std::isinf(b.attributes.real("limit", 0)));
  CHECK(b.attributes.tensor("value")->get_int(0) == std::int64_t{1} << 62);
  CHECK(std::holds_alternative<std::vector<std::int64_t>>(b.attributes.values().at("none")));
}

TEST_CASE("broken attributes are refused") {
  const auto error = [](const std::string& attributes) {
    try {
      attributes_from_json("{\"version\":1,\"attributes\":" + attributes + "}");
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  const auto has = [](const std::string& text, const std::string& part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has(error("[]"), "expected an object");
  has(error(R"({"a":1})"), "'a' is not {kind: value}");
  has(error(R"({"a":{"float":1}})"), "'a' has unknown kind 'float'");
  has(error(R"({"a":{"int":"x"}})"), "type must be number");
  has(error(R"({"a":{"real":"x"}})"), "expected a number, found \"x\"");
  has(error(R"({"a":{"tensor":{"dtype":"fp33","shape":[1],"data":[1]}}})"), "unknown type 'fp33'");
  has(error(R"({"a":{"tensor":{"dtype":"fp32","shape":[2],"data":[1]}}})"), "does not fit its shape");
  has(error(R"({"a":{"tensor":{"dtype":"fp32","shape":[-1],"data":[1]}}})"), "negative size");
  Attributes graph;
  graph.set("body", std::make_shared<const Graph>());
  CHECK_THROWS_WITH_AS(attributes_to_json(graph, 1), doctest::Contains("cannot be executed by the host"), InputError);
}
