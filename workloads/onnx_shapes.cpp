#include "workloads/onnx_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/ops/onnx_types.h"
#include "workloads/onnx_tensor.h"

namespace assay {
namespace {

class Binder {
 public:
  Binder(const onnx::GraphProto& graph, const ImportOptions& options, const std::string& file)
      : options_(options), file_(file) {
    std::set<std::string> initialised;
    for (const auto& t : graph.initializer()) initialised.insert(t.name());
    for (const auto& input : graph.input())
      if (!initialised.contains(input.name())) inputs_.push_back(&input);
  }

  std::vector<BoundInput> run() {
    check_option_names();
    for (const auto* input : inputs_) {
      if (input->name().empty()) fail("inputs", "an input has no name");
      collect_from_shapes(*input);
    }
    std::vector<BoundInput> out;
    for (const auto* input : inputs_) out.push_back({input->name(), {dtype(*input), shape(*input)}});
    if (!unbound_.empty() || !nameless_.empty()) report_unbound();
    for (const BoundInput& b : out) check_size(b);
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& path, const std::string& message, std::string suggestion = {}) const {
    throw InputError(
        Diagnostic{.pos = {.file = file_}, .path = path, .message = message, .suggestion = std::move(suggestion)});
  }

  void check_option_names() const {
    std::vector<std::string> names, symbols;
    for (const auto* input : inputs_) {
      names.push_back(input->name());
      for (const auto& d : input->type().tensor_type().shape().dim())
        if (d.has_dim_param() && std::find(symbols.begin(), symbols.end(), d.dim_param()) == symbols.end())
          symbols.push_back(d.dim_param());
    }
    for (const auto& [name, shape] : options_.shapes)
      if (std::find(names.begin(), names.end(), name) == names.end())
        fail("shapes", fmt::format("the model has no input '{}'; its inputs are {}", name, fmt::join(names, ", ")),
             nearest_name(name, names).value_or(""));
    for (const auto& [name, extent] : options_.bind) {
      if (std::find(symbols.begin(), symbols.end(), name) == symbols.end())
        fail("bind",
             symbols.empty()
                 ? fmt::format("the model has no symbolic dimension '{}' (it has none at all)", name)
                 : fmt::format("the model has no symbolic dimension '{}'; it has {}", name, fmt::join(symbols, ", ")),
             nearest_name(name, symbols).value_or(""));
      if (extent < 1) fail("bind", fmt::format("{} = {}, expected at least 1", name, extent));
    }
  }

  /// A whole shape given for one input also binds the symbols in it for the others.
  void collect_from_shapes(const onnx::ValueInfoProto& input) {
    bound_.insert(options_.bind.begin(), options_.bind.end());
    const auto given = options_.shapes.find(input.name());
    const auto& declared = input.type().tensor_type();
    if (given == options_.shapes.end() || !declared.has_shape()) return;
    if (declared.shape().dim_size() != static_cast<int>(given->second.size()))
      fail("shapes", fmt::format("input '{}' has {} dimensions, given {}", input.name(), declared.shape().dim_size(),
                                 to_string(given->second)));
    for (int i = 0; i < declared.shape().dim_size(); ++i) {
      const auto& d = declared.shape().dim(i);
      const std::int64_t extent = given->second[static_cast<std::size_t>(i)];
      if (!d.has_dim_param() || d.dim_param().empty()) continue;
      const auto [it, fresh] = bound_.emplace(d.dim_param(), extent);
      if (it->second != extent)
        fail("shapes", fmt::format("input '{}' makes {} = {}, but it is {} elsewhere", input.name(), d.dim_param(),
                                   extent, it->second));
    }
  }

  DType dtype(const onnx::ValueInfoProto& input) const {
    if (!input.type().has_tensor_type())
      fail("input '" + input.name() + "'", "is not a tensor (sequences, maps and optional values are not supported)");
    const int element = input.type().tensor_type().elem_type();
    const auto t = dtype_from_onnx(element);
    if (!t)
      fail("input '" + input.name() + "'",
           "has elements of type " + onnx_type_name(element) + ", which is not supported");
    return *t;
  }

  Shape shape(const onnx::ValueInfoProto& input) {
    if (const auto given = options_.shapes.find(input.name()); given != options_.shapes.end()) return given->second;
    const auto& declared = input.type().tensor_type();
    if (!declared.has_shape())
      fail("input '" + input.name() + "'",
           fmt::format("has no shape in the file; give one: --shape {}=1x3x224x224", input.name()));
    Shape out;
    for (int i = 0; i < declared.shape().dim_size(); ++i) {
      const auto& d = declared.shape().dim(i);
      if (d.has_dim_value()) {
        out.push_back(d.dim_value());
      } else if (!d.has_dim_param() || d.dim_param().empty()) {
        nameless_.push_back(fmt::format("dimension {} of input '{}' has neither extent nor name: --shape {}={}", i,
                                        input.name(), input.name(), example(declared.shape())));
        out.push_back(1);
      } else if (const auto it = bound_.find(d.dim_param()); it != bound_.end()) {
        out.push_back(it->second);
      } else {
        if (std::find(unbound_.begin(), unbound_.end(), d.dim_param()) == unbound_.end())
          unbound_.push_back(d.dim_param());
        out.push_back(1);
      }
    }
    return out;
  }

  static std::string example(const onnx::TensorShapeProto& s) {
    std::vector<std::string> dims;
    for (const auto& d : s.dim()) dims.push_back(d.has_dim_value() ? std::to_string(d.dim_value()) : "1");
    return fmt::format("{}", fmt::join(dims, "x"));
  }

  [[noreturn]] void report_unbound() const {
    std::string text;
    if (!unbound_.empty()) {
      std::vector<std::string> examples;
      for (const std::string& s : unbound_) examples.push_back("--bind " + s + "=1");
      text = fmt::format("symbolic dimensions without an extent: {}; bind them, for example {}",
                         fmt::join(unbound_, ", "), fmt::join(examples, " "));
    }
    for (const std::string& n : nameless_) text += (text.empty() ? "" : "; ") + n;
    fail("inputs", text);
  }

  void check_size(const BoundInput& b) const {
    std::int64_t elements = 1;
    for (const std::int64_t d : b.type.shape) {
      if (d < 1) fail("input '" + b.name + "'", fmt::format("shape {}: a dimension of {}", to_string(b.type.shape), d));
      if (elements > kMaxElements / d)
        fail("input '" + b.name + "'", fmt::format("shape {}: more than 2^40 elements", to_string(b.type.shape)));
      elements *= d;
    }
  }

  const ImportOptions& options_;
  const std::string& file_;
  std::vector<const onnx::ValueInfoProto*> inputs_;
  std::map<std::string, std::int64_t> bound_;
  std::vector<std::string> unbound_, nameless_;
};

}  // namespace

std::vector<BoundInput> bind_inputs(const onnx::GraphProto& graph, const ImportOptions& options,
                                    const std::string& file) {
  return Binder(graph, options, file).run();
}

}  // namespace assay
