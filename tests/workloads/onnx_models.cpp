#include "tests/workloads/onnx_models.h"

#include <onnx/onnx_pb.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace assay {

namespace fs = std::filesystem;

TestModel::TestModel(std::int64_t opset) : model_(std::make_unique<onnx::ModelProto>()) {
  model_->set_ir_version(8);
  model_->add_opset_import()->set_version(opset);
  graph().set_name("g");
}
TestModel::~TestModel() = default;
TestModel::TestModel(TestModel&&) noexcept = default;

onnx::GraphProto& TestModel::graph() { return *model_->mutable_graph(); }

TestModel& TestModel::input(const std::string& name, int type, const std::vector<std::string>& dims) {
  auto* value = graph().add_input();
  value->set_name(name);
  auto* tensor = value->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape();
  for (const std::string& d : dims) {
    auto* dim = tensor->mutable_shape()->add_dim();
    if (d == "?") continue;
    if (d[0] == '-' || (d[0] >= '0' && d[0] <= '9')) {
      dim->set_dim_value(std::stoll(d));
    } else {
      dim->set_dim_param(d);
    }
  }
  return *this;
}

TestModel& TestModel::output(const std::string& name, int type) {
  auto* value = graph().add_output();
  value->set_name(name);
  if (type != 0) value->mutable_type()->mutable_tensor_type()->set_elem_type(type);
  return *this;
}

onnx::TensorProto& TestModel::initialiser(const std::string& name, int type, const std::vector<std::int64_t>& dims) {
  auto* t = graph().add_initializer();
  t->set_name(name);
  t->set_data_type(type);
  for (const std::int64_t d : dims) t->add_dims(d);
  return *t;
}

TestModel& TestModel::floats(const std::string& name, const std::vector<std::int64_t>& dims,
                             const std::vector<float>& values) {
  auto& t = initialiser(name, 1, dims);
  for (const float v : values) t.add_float_data(v);
  return *this;
}

TestModel& TestModel::ints(const std::string& name, const std::vector<std::int64_t>& dims,
                           const std::vector<std::int64_t>& values) {
  auto& t = initialiser(name, 7, dims);
  for (const std::int64_t v : values) t.add_int64_data(v);
  return *this;
}

onnx::NodeProto& TestModel::node(const std::string& op, const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs, const std::string& name) {
  auto* n = graph().add_node();
  n->set_op_type(op);
  if (!name.empty()) n->set_name(name);
  for (const std::string& i : inputs) n->add_input(i);
  for (const std::string& o : outputs) n->add_output(o);
  return *n;
}

std::string TestModel::bytes() const { return model_->SerializeAsString(); }

Graph TestModel::import(const ImportOptions& options, const std::string& folder) const {
  return import_onnx_bytes(bytes(), "m.onnx", folder, options);
}

std::string TestModel::error(const ImportOptions& options, const std::string& folder) const {
  return error_of([&] { import(options, folder); });
}

void set_int(onnx::NodeProto& n, const std::string& attribute, std::int64_t value) {
  auto* a = n.add_attribute();
  a->set_name(attribute);
  a->set_type(onnx::AttributeProto::INT);
  a->set_i(value);
}

void set_ints(onnx::NodeProto& n, const std::string& attribute, const std::vector<std::int64_t>& values) {
  auto* a = n.add_attribute();
  a->set_name(attribute);
  a->set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t v : values) a->add_ints(v);
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const InputError& e) {
    return e.what();
  }
  return {};
}

ScratchFolder::ScratchFolder() {
  std::string pattern = (fs::temp_directory_path() / "assay_test_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no scratch folder at " + pattern);
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

std::string ScratchFolder::write(const std::string& name, const std::string& content) const {
  const fs::path file = fs::path(path_) / name;
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << content;
  return file.string();
}

}  // namespace assay
