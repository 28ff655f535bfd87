#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/ir/graph.h"
#include "workloads/onnx_import.h"

namespace onnx {
class GraphProto;
class ModelProto;
class NodeProto;
class TensorProto;
}  // namespace onnx

namespace assay {

/// ONNX models made in memory. Element types are ONNX's numbers: 1 float, 7 int64, …
class TestModel {
 public:
  explicit TestModel(std::int64_t opset = 17);
  ~TestModel();
  TestModel(TestModel&&) noexcept;

  onnx::ModelProto& model() { return *model_; }
  onnx::GraphProto& graph();
  /// Dimensions are numbers, names of symbols, or `?` for neither.
  TestModel& input(const std::string& name, int type, const std::vector<std::string>& dims);
  TestModel& output(const std::string& name, int type = 0);
  onnx::TensorProto& initialiser(const std::string& name, int type, const std::vector<std::int64_t>& dims);
  TestModel& floats(const std::string& name, const std::vector<std::int64_t>& dims, const std::vector<float>& values);
  TestModel& ints(const std::string& name, const std::vector<std::int64_t>& dims,
                  const std::vector<std::int64_t>& values);
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& name = {});

  std::string bytes() const;
  Graph import(const ImportOptions& options = {}, const std::string& folder = {}) const;
  /// The message of the InputError that importing throws; empty if it does not.
  std::string error(const ImportOptions& options = {}, const std::string& folder = {}) const;

 private:
  std::unique_ptr<onnx::ModelProto> model_;
};

void set_int(onnx::NodeProto& n, const std::string& attribute, std::int64_t value);
void set_ints(onnx::NodeProto& n, const std::string& attribute, const std::vector<std::int64_t>& values);

/// The message of the InputError that `f` throws; empty if it throws none.
std::string error_of(const std::function<void()>& f);

/// A directory of one test, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string write(const std::string& name, const std::string& content) const;  ///< returns the whole path

 private:
  std::string path_;
};

}  // namespace assay
