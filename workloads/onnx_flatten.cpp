#include <fmt/format.h>
#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include <optional>
#include <set>

#include "core/base/error.h"
#include "workloads/onnx_flat.h"
#include "workloads/onnx_import.h"

namespace assay {
namespace {

constexpr std::size_t kMaxNodes = 250'000;
constexpr std::size_t kMaxCallDepth = 64;

using Opsets = std::map<std::string, std::int64_t>;
using AttributeMap = std::map<std::string, onnx::AttributeProto>;

std::string domain_of(const std::string& written) { return written == "ai.onnx" ? "" : written; }

[[noreturn]] void fail(const std::string& file, const std::string& path, const std::string& message) {
  throw InputError(Diagnostic{.pos = {.file = file}, .path = path, .message = message, .suggestion = {}});
}

/// Default values of a function's attributes (`attribute_proto`, field 11) are newer than this libonnx, which keeps
/// them as unknown bytes.
AttributeMap attribute_defaults(const onnx::FunctionProto& function, const std::string& file) {
  constexpr int kAttributeProto = 11;
  AttributeMap out;
  const google::protobuf::UnknownFieldSet& unknown = function.unknown_fields();
  for (int i = 0; i < unknown.field_count(); ++i) {
    const google::protobuf::UnknownField& field = unknown.field(i);
    if (field.number() != kAttributeProto || field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      continue;
    onnx::AttributeProto attribute;
    if (!attribute.ParseFromString(field.length_delimited()))
      fail(file, "function '" + function.name() + "'", "its attribute defaults can't be read");
    out[attribute.name()] = attribute;
  }
  return out;
}

/// The body of one call: what names and attributes mean in it.
struct Scope {
  std::string prefix;                         ///< empty at the top
  std::map<std::string, std::string> values;  ///< formal inputs and outputs → caller's names
  AttributeMap attributes;
  const Opsets* opsets = nullptr;
  bool top = false;

  std::string value(const std::string& name) const {
    if (top || name.empty()) return name;
    const auto it = values.find(name);
    return it != values.end() ? it->second : prefix + "/" + name;
  }
};

class Flattener {
 public:
  Flattener(const onnx::ModelProto& model, const std::string& file) : model_(model), file_(file) {
    opsets_ = read_opsets(model.opset_import(), "the model");
    for (const auto& f : model.functions()) {
      const auto key = std::pair(domain_of(f.domain()), f.name());
      if (!functions_.emplace(key, &f).second)
        fail(file_, "function '" + f.name() + "'", "defined twice in domain '" + f.domain() + "'");
    }
    for (const auto& [key, f] : functions_)
      function_opsets_[f] = read_opsets(f->opset_import(), "function '" + f->name() + "'");
  }

  std::vector<FlatNode> run() {
    Scope scope;
    scope.top = true;
    scope.opsets = &opsets_;
    for (const auto& node : model_.graph().node()) emit(node, scope);
    return std::move(out_);
  }

 private:
  template <class Imports>
  Opsets read_opsets(const Imports& imports, const std::string& where) {
    Opsets out;
    for (const auto& import : imports) {
      const std::string domain = domain_of(import.domain());
      const std::int64_t version = import.version();
      if (const auto [it, fresh] = out.emplace(domain, version); !fresh && it->second != version)
        fail(file_, where, fmt::format("imports domain '{}' in two versions", domain));
      if (domain.empty() && version > kNewestOpset)
        fail(file_, where,
             fmt::format("uses ONNX opset {}; opsets {} to {} are understood (export with an older one)", version,
                         kOldestOpset, kNewestOpset));
      if (domain.empty() && version < kOldestOpset)
        fail(file_, where,
             fmt::format("uses ONNX opset {}; opsets {} to {} are understood (convert it to a newer one)", version,
                         kOldestOpset, kNewestOpset));
    }
    return out;
  }

  void emit(const onnx::NodeProto& node, const Scope& scope) {
    const std::string domain = domain_of(node.domain());
    const std::string name =
        scope.prefix + (scope.prefix.empty() ? "" : "/") + (node.name().empty() ? node.op_type() : node.name());
    if (const auto it = functions_.find({domain, node.op_type()}); it != functions_.end()) {
      call(node, *it->second, name, scope);
      return;
    }
    if (out_.size() == kMaxNodes) fail(file_, {}, fmt::format("more than {} nodes", kMaxNodes));
    FlatNode flat{.proto = {}, .op = domain.empty() ? node.op_type() : domain + "." + node.op_type(), .name = name};
    const auto version = scope.opsets->find(domain);
    if (version != scope.opsets->end()) flat.version = version->second;
    if (domain.empty() && version == scope.opsets->end())
      fail(file_, "node '" + name + "'", "no opset is imported for the default domain");
    if (scope.top) {
      flat.proto = {std::shared_ptr<const void>(), &node};  // the model keeps it
    } else {
      flat.proto = std::make_shared<const onnx::NodeProto>(instantiate(node, scope));
    }
    out_.push_back(std::move(flat));
  }

  static onnx::NodeProto instantiate(const onnx::NodeProto& node, const Scope& scope) {
    onnx::NodeProto copy = node;
    for (std::string& v : *copy.mutable_input()) v = scope.value(v);
    for (std::string& v : *copy.mutable_output()) v = scope.value(v);
    copy.clear_attribute();
    for (const auto& a : node.attribute())
      if (const auto bound = resolve(a, scope)) *copy.add_attribute() = *bound;
    return copy;
  }

  /// `alpha: ref @a` takes the caller's value of `a`; without one the attribute is absent.
  static std::optional<onnx::AttributeProto> resolve(const onnx::AttributeProto& a, const Scope& scope) {
    if (a.ref_attr_name().empty()) return a;
    const auto it = scope.attributes.find(a.ref_attr_name());
    if (it == scope.attributes.end()) return std::nullopt;
    onnx::AttributeProto bound = it->second;
    bound.set_name(a.name());
    return bound;
  }

  void call(const onnx::NodeProto& node, const onnx::FunctionProto& function, const std::string& name,
            const Scope& outer) {
    if (stack_.size() == kMaxCallDepth)
      fail(file_, "function '" + function.name() + "'", "calls itself, directly or through others");
    if (node.input_size() > function.input_size() || node.output_size() > function.output_size())
      fail(file_, "node '" + name + "'",
           fmt::format("calls function '{}' with {} inputs and {} outputs; it has {} and {}", function.name(),
                       node.input_size(), node.output_size(), function.input_size(), function.output_size()));
    stack_.push_back(&function);
    Scope scope;
    scope.prefix = unique_prefix(name);
    scope.opsets = &function_opsets_.at(&function);
    for (int i = 0; i < function.input_size(); ++i)
      scope.values[function.input(i)] = i < node.input_size() ? outer.value(node.input(i)) : "";
    for (int i = 0; i < node.output_size(); ++i) {
      if (node.output(i).empty()) continue;
      const bool passed_through = scope.values.contains(function.output(i));
      if (passed_through)
        fail(file_, "function '" + function.name() + "'", "returns its own input '" + function.output(i) + "'");
      scope.values[function.output(i)] = outer.value(node.output(i));
    }
    scope.attributes = attribute_defaults(function, file_);
    for (const auto& a : node.attribute())
      if (const auto bound = outer.top ? std::optional(a) : resolve(a, outer)) scope.attributes[a.name()] = *bound;
    for (const auto& inner : function.node()) emit(inner, scope);
    stack_.pop_back();
  }

  std::string unique_prefix(const std::string& name) {
    if (prefixes_.insert(name).second) return name;
    for (std::size_t& k = next_suffix_[name];;)
      if (const std::string wanted = fmt::format("{}_{}", name, ++k); prefixes_.insert(wanted).second) return wanted;
  }

  const onnx::ModelProto& model_;
  const std::string& file_;
  Opsets opsets_;
  std::map<std::pair<std::string, std::string>, const onnx::FunctionProto*> functions_;
  std::map<const onnx::FunctionProto*, Opsets> function_opsets_;  // look-up only: its order is never used
  std::vector<const onnx::FunctionProto*> stack_;
  std::set<std::string> prefixes_;
  std::map<std::string, std::size_t> next_suffix_;
  std::vector<FlatNode> out_;
};

}  // namespace

std::vector<FlatNode> flatten(const onnx::ModelProto& model, const std::string& file) {
  return Flattener(model, file).run();
}

}  // namespace assay
