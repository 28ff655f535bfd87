#include "workloads/onnx_import.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <unordered_map>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/ops/onnx_types.h"
#include "core/ops/op.h"
#include "workloads/onnx_constants.h"
#include "workloads/onnx_flat.h"
#include "workloads/onnx_shapes.h"
#include "workloads/onnx_tensor.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& file, const std::string& path, const std::string& message) {
  throw InputError(Diagnostic{.pos = {.file = file}, .path = path, .message = message, .suggestion = {}});
}

onnx::ModelProto parse(std::string_view bytes, const std::string& file) {
  onnx::ModelProto model;
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream in(&stream);
  in.SetTotalBytesLimit(INT32_MAX);
  in.SetRecursionLimit(64);
  if (!model.ParseFromCodedStream(&in) || !in.ConsumedEntireMessage())
    fail(file, {}, "is not a complete ONNX model (truncated, damaged or another kind of file)");
  if (!model.has_graph() || (model.graph().node_size() == 0 && model.graph().output_size() == 0))
    fail(file, {}, "is not an ONNX model: there is no graph in it");
  if (model.opset_import_size() == 0) fail(file, {}, "imports no opset, so the meaning of its operations is open");
  if (model.graph().sparse_initializer_size() != 0) fail(file, {}, "has sparse initialisers, which are not supported");
  return model;
}

bool is_control_flow(const std::string& op) {
  return op == "If" || op == "Loop" || op == "Scan" || op == "SequenceMap";
}

/// All operations that can't be imported, at once.
void refuse_unsupported(const std::vector<FlatNode>& nodes, const std::string& file) {
  struct Entry {
    std::size_t count = 0;
    std::string first, reason;
  };
  std::map<std::string, Entry> entries;
  for (const FlatNode& n : nodes) {
    std::string reason;
    const bool foreign = !n.proto->domain().empty() && n.proto->domain() != "ai.onnx";
    if (is_control_flow(n.op)) {
      reason = "control flow is not supported";
    } else if (operations().find(n.op) == nullptr) {
      reason = foreign ? "operations of domain '" + n.proto->domain() + "' are not supported" : "not supported";
    } else {
      continue;
    }
    Entry& e = entries[n.op];
    if (e.count++ == 0) e.first = n.name, e.reason = reason;
  }
  if (entries.empty()) return;
  std::string list;
  for (const auto& [op, e] : entries)
    list += fmt::format("\n  {}: {} node{}, first '{}': {}", op, e.count, e.count == 1 ? "" : "s", e.first, e.reason);
  fail(file, {},
       fmt::format("{} operation{} can't be imported:{}", entries.size(), entries.size() == 1 ? "" : "s", list));
}

AttributeValue attribute_value(const onnx::AttributeProto& a, const FlatNode& n, const std::string& file,
                               const TensorSource& source) {
  using A = onnx::AttributeProto;
  switch (a.type()) {
    case A::FLOAT:
      return static_cast<double>(a.f());
    case A::INT:
      return static_cast<std::int64_t>(a.i());
    case A::STRING:
      return a.s();
    case A::TENSOR:
      return std::make_shared<const Tensor>(tensor_value(a.t(), source));
    case A::FLOATS:
      return std::vector<double>(a.floats().begin(), a.floats().end());
    case A::INTS:
      return std::vector<std::int64_t>(a.ints().begin(), a.ints().end());
    case A::STRINGS:
      return std::vector<std::string>(a.strings().begin(), a.strings().end());
    default:
      fail(file, "node '" + n.name + "' (" + n.op + ")",
           "attribute '" + a.name() + "' is of a kind that is not supported (" + A::AttributeType_Name(a.type()) + ")");
  }
}

/// Builds the graph in one pass over the sorted nodes.
class Sweep {
 public:
  Sweep(const onnx::ModelProto& model, const std::string& file, const std::string& folder, const ImportOptions& options)
      : model_(model), file_(file), options_(options), budget_(options.max_weight_bytes) {
    source_ = {.file = file, .folder = folder, .budget = &budget_};
  }

  Graph run() {
    const onnx::GraphProto& graph = model_.graph();
    g_.name = graph.name().empty() ? fs::path(file_).stem().string() : graph.name();
    std::vector<FlatNode> nodes = flatten(model_, file_);
    refuse_unsupported(nodes, file_);
    const std::vector<BoundInput> inputs = bind_inputs(graph, options_, file_);
    std::set<std::string> given;
    for (const BoundInput& i : inputs)
      if (!given.insert(i.name).second) fail(file_, "input '" + i.name + "'", "stands twice in the list of inputs");
    for (const auto& t : graph.initializer())
      if (!given.insert(t.name()).second)
        fail(file_, "initialiser '" + t.name() + "'", "has the name of another input or initialiser");
    nodes = sorted(std::move(nodes), given, file_);

    constants_ = std::make_unique<ModelConstants>(graph, nodes, options_, source_);
    for (const BoundInput& i : inputs) ids_[i.name] = g_.add_input(i.name, i.type);
    for (const FlatNode& n : nodes)
      if (!constants_->stands_for_constant(n)) visit(n);
    mark_outputs(graph);
    drop_unused_constants();
    g_.compact();
    return std::move(g_);
  }

 private:
  TensorId id_of(const std::string& value) {
    if (const auto it = ids_.find(value); it != ids_.end()) return it->second;
    ASSAY_CHECK(constants_->has(value), "'" + value + "' is neither known nor a constant");
    const std::shared_ptr<const Tensor> tensor = constants_->value(value);
    const TensorId t =
        tensor == nullptr ? g_.add_weight(value, constants_->type(value)) : g_.add_constant(value, tensor);
    return ids_[value] = t;
  }

  void visit(const FlatNode& flat) {
    const onnx::NodeProto& proto = *flat.proto;
    Node node;
    node.name = flat.name;
    node.op = flat.op;
    node.version = static_cast<int>(flat.version);
    node.sources = {flat.name};
    for (const auto& a : proto.attribute()) {
      if (node.attributes.has(a.name()))
        fail(file_, "node '" + flat.name + "' (" + flat.op + ")", "attribute '" + a.name() + "' is given twice");
      node.attributes.set(a.name(), attribute_value(a, flat, file_, source_));
    }
    for (const std::string& v : proto.input()) node.inputs.push_back(v.empty() ? TensorId() : id_of(v));
    while (!node.inputs.empty() && !node.inputs.back().valid()) node.inputs.pop_back();
    for (const std::string& v : proto.output()) {
      node.outputs.push_back(v.empty() ? TensorId() : g_.add_tensor(v, {}));
      if (!v.empty()) ids_[v] = node.outputs.back();
    }
    const NodeId n = g_.add_node(std::move(node));
    set_types(n, flat);
    if (!fold(n)) fold_absent(n);
  }

  void set_types(NodeId n, const FlatNode& flat) {
    const std::vector<TensorType> types = infer_node(op_context(g_, n));
    const Node& node = g_.node(n);
    for (std::size_t i = 0; i < types.size(); ++i) {
      std::int64_t elements = 1;
      for (const std::int64_t d : types[i].shape) {
        if (d > 0 && elements > kMaxElements / d)
          fail(file_, "node '" + flat.name + "' (" + flat.op + ")",
               "its result " + to_string(types[i].shape) + " has more than 2^40 elements");
        elements *= d;
      }
      if (node.outputs[i].valid()) g_.set_type(node.outputs[i], types[i]);
    }
  }

  /// Replaces the node by constants if its operands are. Dequantised weights stay as they are: the graph must keep
  /// saying that they are integers.
  bool fold(NodeId n) {
    const Node& node = g_.node(n);
    if (node.op == "DequantizeLinear") return false;
    // A result may be as large as what it is made from; what grows (Expand, ConstantOfShape) stays a node beyond this.
    std::int64_t limit = std::int64_t{1} << 20;
    for (const TensorId t : node.inputs)
      if (t.valid() && g_.tensor(t).kind == TensorKind::constant)
        limit = std::max(limit, element_count(g_.tensor(t).type.shape));
    // A product of large constants would take longer than the model itself.
    if (limit > (std::int64_t{1} << 20) && mac_count(g_, n) > (std::int64_t{1} << 28)) return false;
    std::int64_t bytes = 0;
    for (const TensorId t : node.outputs)
      if (t.valid()) bytes += g_.tensor(t).type.bytes();
    if (bytes > budget_) return false;
    auto values = fold_node(g_, n, limit);
    if (!values) return false;
    budget_ -= bytes;
    const std::vector<TensorId> outputs = node.outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].valid()) g_.set_value(outputs[i], std::make_shared<const Tensor>(std::move((*values)[i])));
    g_.remove_node(n);
    return true;
  }

  /// A weight without a value that is only rearranged is a weight without a value of the new shape.
  void fold_absent(NodeId n) {
    static const std::set<std::string> kRearranging = {"Transpose", "Cast", "Concat", "Slice", "Split"};
    const Node node = g_.node(n);
    const OpDef* def = operations().find(node.op);
    if (def->kind != OpKind::view && !kRearranging.contains(node.op)) return;
    bool absent = false;
    std::int64_t elements = 0;
    for (const TensorId t : node.inputs) {
      if (!t.valid()) continue;
      if (g_.tensor(t).kind != TensorKind::constant) return;
      absent = absent || g_.tensor(t).value == nullptr;
      elements += element_count(g_.tensor(t).type.shape);
    }
    for (const TensorId t : node.outputs)
      if (t.valid()) elements -= element_count(g_.tensor(t).type.shape);
    if (!absent || elements < 0) return;
    g_.remove_node(n);
    for (const TensorId t : node.outputs) {
      if (!t.valid()) continue;
      const std::string value = g_.tensor(t).name;
      const TensorType type = g_.tensor(t).type;
      g_.remove_tensor(t);
      ids_[value] = g_.add_weight(value, type);
    }
  }

  void mark_outputs(const onnx::GraphProto& graph) {
    if (graph.output_size() == 0) fail(file_, "graph", "has no outputs");
    for (const auto& o : graph.output()) {
      if (!ids_.contains(o.name()) && !constants_->has(o.name()))
        fail(file_, "output '" + o.name() + "'", "nothing writes it");
      const TensorId t = id_of(o.name());
      if (g_.tensor(t).is_output) fail(file_, "output '" + o.name() + "'", "stands twice in the list of outputs");
      if (o.type().has_tensor_type() && o.type().tensor_type().elem_type() != 0) {
        const auto declared = dtype_from_onnx(o.type().tensor_type().elem_type());
        const DType found = g_.tensor(t).type.dtype;
        if (declared != found)
          fail(file_, "output '" + o.name() + "'",
               fmt::format("is declared as {}, but its node gives {}",
                           onnx_type_name(o.type().tensor_type().elem_type()), name(found)));
      }
      g_.mark_output(t);
    }
  }

  void drop_unused_constants() {
    for (const TensorId t : g_.tensors()) {
      const GraphTensor& tensor = g_.tensor(t);
      if (tensor.kind == TensorKind::input || tensor.is_output) continue;
      if (g_.uses(t).empty() && !g_.producer(t)) g_.remove_tensor(t);
    }
  }

  const onnx::ModelProto& model_;
  const std::string& file_;
  const ImportOptions& options_;
  std::int64_t budget_;
  TensorSource source_;
  Graph g_;
  std::unique_ptr<ModelConstants> constants_;
  std::unordered_map<std::string, TensorId> ids_;  // look-up only
};

}  // namespace

Graph import_onnx_bytes(std::string_view bytes, const std::string& name, const std::string& folder,
                        const ImportOptions& options) {
  if (static_cast<std::int64_t>(bytes.size()) > std::min<std::int64_t>(options.max_file_bytes, INT32_MAX))
    fail(name, {},
         fmt::format("{} bytes long; at most {} are read (store large weights as external data)", bytes.size(),
                     std::min<std::int64_t>(options.max_file_bytes, INT32_MAX)));
  const onnx::ModelProto model = parse(bytes, name);
  try {
    return Sweep(model, name, folder, options).run();
  } catch (const InputError& e) {
    // Rules of the operations know the node, not the file.
    std::vector<Diagnostic> ds = e.diagnostics();
    for (Diagnostic& d : ds)
      if (d.pos.file.empty()) d.pos.file = name;
    throw InputError(ds);
  }
}

namespace {

std::string read_model(const std::string& path, const ImportOptions& options) {
  std::error_code error;
  if (!fs::exists(path, error)) fail(path, {}, "no such file");
  if (!fs::is_regular_file(path, error)) fail(path, {}, "not a regular file");
  const auto size = static_cast<std::int64_t>(fs::file_size(path, error));
  const std::int64_t limit = std::min<std::int64_t>(options.max_file_bytes, INT32_MAX);
  if (size > limit)
    fail(path, {},
         fmt::format("{} bytes long; at most {} are read (store large weights as external data)", size, limit));
  std::string bytes(static_cast<std::size_t>(size), '\0');
  std::ifstream in(path, std::ios::binary);
  if (error || !in || !in.read(bytes.data(), size)) fail(path, {}, "can't be read");
  return bytes;
}

}  // namespace

Graph import_onnx(const std::string& path, const ImportOptions& options) {
  return import_onnx_bytes(read_model(path, options), path, fs::path(path).parent_path().string(), options);
}

std::vector<std::string> external_files(const std::string& path) {
  const onnx::ModelProto model = parse(read_model(path, {}), path);
  std::set<std::string> files;
  for (const onnx::TensorProto& t : model.graph().initializer()) {
    for (const auto& entry : t.external_data()) {
      if (entry.key() != "location") continue;
      const fs::path file = fs::path(path).parent_path() / entry.value();
      std::error_code error;
      if (fs::is_regular_file(file, error)) files.insert(file.lexically_normal().string());
    }
  }
  return {files.begin(), files.end()};
}

}  // namespace assay
