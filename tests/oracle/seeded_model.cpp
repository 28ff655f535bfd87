#include "tests/oracle/seeded_model.h"

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "core/base/error.h"
#include "core/ops/onnx_types.h"
#include "workloads/onnx_constants.h"
#include "workloads/onnx_flat.h"
#include "workloads/onnx_shapes.h"

namespace assay {
namespace {

onnx::ModelProto read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  onnx::ModelProto model;
  if (!in || !model.ParseFromString(bytes)) throw InputError(path, "is no ONNX model");
  if (model.functions_size() != 0) throw InputError(path, "local functions can't be seeded");
  return model;
}

/// ONNX's number of an element type.
int onnx_type_of(DType type) {
  constexpr int kLast = 22;
  for (int number = 1; number <= kLast; ++number)
    if (dtype_from_onnx(number) == type) return number;
  throw InputError("type", std::string(name(type)) + " has no number in ONNX");
}

void write_tensor(const std::string& tensor, const Tensor& value, onnx::TensorProto& proto) {
  if (value.dtype() == DType::i4 || value.dtype() == DType::u4)
    throw InputError("tensor '" + tensor + "'", "4-bit values can't be written");
  proto.set_name(tensor);
  proto.set_data_type(onnx_type_of(value.dtype()));
  for (const std::int64_t d : value.shape()) proto.add_dims(d);
  const auto bytes = value.bytes();
  proto.set_raw_data(bytes.data(), bytes.size());
}

}  // namespace

std::string seeded_model(const std::string& path, const ImportOptions& options) {
  const onnx::ModelProto model = read(path);
  const onnx::GraphProto& graph = model.graph();
  std::int64_t budget = options.max_weight_bytes;
  const TensorSource source{path, std::filesystem::path(path).parent_path().string(), &budget};
  const std::vector<BoundInput> inputs = bind_inputs(graph, options, path);
  std::set<std::string> given;
  for (const BoundInput& i : inputs) given.insert(i.name);
  for (const auto& t : graph.initializer()) given.insert(t.name());
  const std::vector<FlatNode> nodes = sorted(flatten(model, path), given, path);
  ModelConstants constants(graph, nodes, options, source);

  onnx::ModelProto out = model;
  onnx::GraphProto& g = *out.mutable_graph();
  g.clear_node();
  g.clear_initializer();
  g.clear_value_info();  // of the file's own sizes
  g.clear_input();
  std::set<std::string> read_by_nodes;
  for (const FlatNode& n : nodes) {
    if (constants.stands_for_constant(n)) continue;
    *g.add_node() = *n.proto;
    for (const std::string& v : n.proto->input()) read_by_nodes.insert(v);
  }
  for (const BoundInput& i : inputs) {
    auto* value = g.add_input();
    value->set_name(i.name);
    auto* tensor = value->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(onnx_type_of(i.type.dtype));
    tensor->mutable_shape();
    for (const std::int64_t d : i.type.shape) tensor->mutable_shape()->add_dim()->set_dim_value(d);
  }
  for (auto& o : *g.mutable_output()) o.mutable_type()->mutable_tensor_type()->clear_shape();
  for (const std::string& name : read_by_nodes) {
    if (constants.has(name)) write_tensor(name, *constants.value(name), *g.add_initializer());
  }
  return out.SerializeAsString();
}

}  // namespace assay
