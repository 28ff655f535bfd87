// Runs the node cases of the ONNX project's own test data (Debian package libonnx-testdata) through the
// reference semantics, and through the nests where an operation has them.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/ops/onnx_types.h"
#include "core/ops/op.h"

using namespace assay;
namespace fs = std::filesystem;

namespace {

// What this test can't read, as opposed to what fails.
struct Unreadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

DType dtype_of(int onnx_type) {
  if (const auto t = dtype_from_onnx(onnx_type)) return *t;
  throw Unreadable(fmt::format("element type {}", onnx_type));
}

Tensor tensor_of(const onnx::TensorProto& p) {
  Tensor t({dtype_of(p.data_type()), Shape(p.dims().begin(), p.dims().end())});
  if (p.has_raw_data()) {
    const std::string& raw = p.raw_data();
    if (bits(t.dtype()) == 4) {  // two elements a byte, the low half first
      Tensor wide({DType::i64, t.shape()});
      for (std::int64_t i = 0; i < t.size(); ++i) {
        const auto byte = static_cast<unsigned char>(raw.at(static_cast<std::size_t>(i / 2)));
        wide.data<std::int64_t>()[static_cast<std::size_t>(i)] = i % 2 == 0 ? byte & 15 : byte >> 4;
      }
      return wide.cast(t.dtype());
    }
    if (raw.size() != t.bytes().size()) throw Unreadable("raw data of another size");
    std::copy_n(reinterpret_cast<const std::byte*>(raw.data()), raw.size(), t.bytes().data());
    return t;
  }
  const auto fill = [&](const auto& values, auto tag) {
    if (static_cast<std::int64_t>(values.size()) != t.size()) throw Unreadable("values of another count");
    std::copy(values.begin(), values.end(), t.data<decltype(tag)>().begin());
  };
  switch (t.dtype()) {
    case DType::f32:
      fill(p.float_data(), float{});
      break;
    case DType::f64:
      fill(p.double_data(), double{});
      break;
    case DType::i64:
      fill(p.int64_data(), std::int64_t{});
      break;
    case DType::u64:
      fill(p.uint64_data(), std::uint64_t{});
      break;
    case DType::u32:
      fill(p.uint64_data(), std::uint32_t{});
      break;
    case DType::i32:
      fill(p.int32_data(), std::int32_t{});
      break;
    case DType::i8:
      fill(p.int32_data(), std::int8_t{});
      break;
    case DType::u8:
    case DType::boolean:
      fill(p.int32_data(), std::uint8_t{});
      break;
    case DType::i16:
      fill(p.int32_data(), std::int16_t{});
      break;
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      fill(p.int32_data(), std::uint16_t{});
      break;
    default:
      throw Unreadable("packed 4-bit values");
  }
  return t;
}

template <class Message>
Message parsed(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  Message m;
  if (!in || !m.ParseFromIstream(&in)) throw Unreadable("cannot read " + file.string());
  return m;
}

AttributeValue attribute_of(const onnx::AttributeProto& a) {
  switch (a.type()) {
    case onnx::AttributeProto::INT:
      return static_cast<std::int64_t>(a.i());
    case onnx::AttributeProto::FLOAT:
      return static_cast<double>(a.f());
    case onnx::AttributeProto::STRING:
      return a.s();
    case onnx::AttributeProto::INTS:
      return std::vector<std::int64_t>(a.ints().begin(), a.ints().end());
    case onnx::AttributeProto::FLOATS:
      return std::vector<double>(a.floats().begin(), a.floats().end());
    case onnx::AttributeProto::STRINGS:
      return std::vector<std::string>(a.strings().begin(), a.strings().end());
    case onnx::AttributeProto::TENSOR:
      return std::make_shared<const Tensor>(tensor_of(a.t()));
    default:
      throw Unreadable("attribute '" + a.name() + "' of an unusual kind");
  }
}

struct Case {
  Graph graph;
  std::vector<Tensor> expected;
};

// Some files hold bfloat16 as uint16; the model's declaration tells.
Tensor file_value(const fs::path& file, const onnx::ValueInfoProto& declared) {
  if (!declared.type().has_tensor_type()) throw Unreadable("a value that is no tensor");
  Tensor t = tensor_of(parsed<onnx::TensorProto>(file));
  if (dtype_of(declared.type().tensor_type().elem_type()) == DType::bf16 && t.dtype() == DType::u16)
    return Tensor::of<std::uint16_t>(DType::bf16, t.shape(), t.data<std::uint16_t>());
  return t;
}

// A graph whose inputs are constants: every shape rule may look at values. Most models are one node; the others are
// the expansions of function operations.
Case load_case(const fs::path& dir) {
  const auto model = parsed<onnx::ModelProto>(dir / "model.onnx");
  Case c;
  int version = 0;
  for (const auto& o : model.opset_import())
    if (o.domain().empty() || o.domain() == "ai.onnx") version = static_cast<int>(o.version());
  const auto& g = model.graph();
  std::map<std::string, TensorId> ids;
  const fs::path data = dir / "test_data_set_0";
  for (const auto& t : g.initializer())
    ids[t.name()] = c.graph.add_constant(t.name(), std::make_shared<const Tensor>(tensor_of(t)));
  for (int i = 0; i < g.input_size(); ++i) {
    const auto value = std::make_shared<const Tensor>(file_value(data / fmt::format("input_{}.pb", i), g.input(i)));
    ids[g.input(i).name()] = c.graph.add_constant(g.input(i).name(), value);
  }
  for (const auto& n : g.node()) {
    if (!n.domain().empty()) throw Unreadable("domain " + n.domain());
    Node node;
    node.name = "n";
    node.op = n.op_type();
    node.version = version;
    if (operations().find(node.op) == nullptr) throw Unreadable("operation " + node.op);
    for (const auto& a : n.attribute()) node.attributes.set(a.name(), attribute_of(a));
    for (const std::string& in : n.input()) node.inputs.push_back(in.empty() ? TensorId() : ids.at(in));
    for (const std::string& out : n.output()) {
      node.outputs.push_back(out.empty() ? TensorId() : c.graph.add_tensor(out, {}));
      ids[out] = node.outputs.back();
    }
    c.graph.add_node(std::move(node));
  }
  for (int i = 0; i < g.output_size(); ++i) {
    c.graph.mark_output(ids.at(g.output(i).name()));
    c.expected.push_back(file_value(data / fmt::format("output_{}.pb", i), g.output(i)));
  }
  return c;
}

double tolerance(DType t) {
  if (t == DType::f16) return 2e-3;
  if (t == DType::bf16) return 2e-2;
  return is_float(t) ? 1e-4 : 0;
}

std::string difference(const Tensor& got, const Tensor& expected, double slack) {
  if (got.type() != expected.type())
    return fmt::format("{} instead of {}", to_string(got.type()), to_string(expected.type()));
  const double tol = slack * tolerance(got.dtype());
  const Comparison cmp = compare(got, expected, tol, tol);
  return cmp.equal ? "" : cmp.to_string();
}

// The number of loop points: the interpreter of nests is slow.
double points(const NestProgram& p) {
  double total = 0;
  for (const Nest& n : p.nests) {
    double each = 1;
    for (const NestDim& d : n.dims) each *= static_cast<double>(d.extent);
    total += each;
  }
  return total;
}

struct Tally {
  std::size_t passed = 0, by_nests = 0, unreadable = 0;
  std::map<std::string, std::size_t> skipped;
  std::vector<std::string> failures, nest_failures;
};

void run_case(const fs::path& dir, Tally& tally) {
  const std::string name = dir.filename().string();
  Case c;
  try {
    c = load_case(dir);
  } catch (const Unreadable& e) {
    ++tally.unreadable;
    ++tally.skipped[e.what()];
    return;
  }
  std::string why;
  try {
    infer_types(c.graph);
    verify_graph(c.graph);
    const TensorMap out = evaluate_graph(c.graph, {});
    for (std::size_t i = 0; i < c.expected.size() && why.empty(); ++i)
      why = difference(*out.at(c.graph.tensor(c.graph.outputs()[i]).name), c.expected[i], 1);
  } catch (const InputError& e) {
    why = e.what();
  }
  if (!why.empty()) {
    tally.failures.push_back(name + ": " + why);
    return;
  }
  ++tally.passed;
  if (c.graph.node_count() != 1) return;
  const NodeId n = c.graph.nodes()[0];
  const auto program = nests_of(c.graph, n);
  if (!program || points(*program) > 300'000) return;
  std::vector<std::shared_ptr<const Tensor>> inputs;
  for (const TensorId t : c.graph.node(n).inputs) inputs.push_back(t.valid() ? c.graph.tensor(t).value : nullptr);
  try {
    const std::vector<Tensor> got = evaluate_nests(op_context(c.graph, n), inputs);
    for (std::size_t i = 0, k = 0; i < c.graph.node(n).outputs.size(); ++i) {
      if (!c.graph.node(n).outputs[i].valid()) continue;
      if (const std::string d = difference(got[i], c.expected[k++], 4); !d.empty()) throw InputError("nests", d);
    }
    ++tally.by_nests;
  } catch (const std::exception& e) {
    tally.nest_failures.push_back(name + ": " + e.what());
  }
}

}  // namespace

TEST_CASE("the ONNX project's node cases pass") {
  const char* override_dir = std::getenv("ASSAY_ONNX_NODE_CASES");
  const fs::path root = override_dir != nullptr ? override_dir : "/usr/share/libonnx-testdata/data/node";
  if (!fs::exists(root)) {
    MESSAGE("skipped: ", root.string(), " is absent (Debian package libonnx-testdata)");
    return;
  }
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(root))
    if (fs::exists(entry.path() / "model.onnx")) cases.push_back(entry.path());
  std::sort(cases.begin(), cases.end());
  Tally tally;
  for (const fs::path& dir : cases) run_case(dir, tally);
  MESSAGE(fmt::format("{} cases: {} passed ({} also through their nests), {} failed, {} not applicable", cases.size(),
                      tally.passed, tally.by_nests, tally.failures.size(), tally.unreadable));
  for (const std::string& f : tally.failures) MESSAGE("failed: ", f);
  for (const std::string& f : tally.nest_failures) MESSAGE("nests failed: ", f);
  if (std::getenv("ASSAY_LIST_SKIPPED") != nullptr)
    for (const auto& [why, count] : tally.skipped) MESSAGE(count, " x ", why);
  CHECK(tally.nest_failures.empty());
  if (override_dir == nullptr) CHECK(tally.passed >= 728);
}
