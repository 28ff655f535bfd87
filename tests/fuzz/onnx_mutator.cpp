#include "tests/fuzz/onnx_mutator.h"

#include <google/protobuf/message.h>
#include <onnx/onnx_pb.h>

#include <limits>
#include <vector>

#include "core/ops/op.h"

namespace assay {
namespace {

namespace pb = google::protobuf;

/// A field of some message of the model that is set.
struct FieldPlace {
  pb::Message* message = nullptr;
  const pb::FieldDescriptor* field = nullptr;
};

void collect(pb::Message& m, std::vector<FieldPlace>& places, std::vector<std::string>& names) {
  std::vector<const pb::FieldDescriptor*> fields;
  const pb::Reflection& r = *m.GetReflection();
  r.ListFields(m, &fields);
  for (const pb::FieldDescriptor* f : fields) {
    places.push_back({&m, f});
    if (f->cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING) {
      if (!f->is_repeated()) names.push_back(r.GetString(m, f));
      for (int i = 0; f->is_repeated() && i < r.FieldSize(m, f); ++i) names.push_back(r.GetRepeatedString(m, f, i));
    }
    if (f->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!f->is_repeated()) collect(*r.MutableMessage(&m, f), places, names);
    for (int i = 0; f->is_repeated() && i < r.FieldSize(m, f); ++i)
      collect(*r.MutableRepeatedMessage(&m, f, i), places, names);
  }
}

class OnnxMutation {
 public:
  OnnxMutation(onnx::ModelProto& model, Random& random) : model_(model), random_(random) {
    collect(model, places_, names_);
  }

  void once() {
    if (places_.empty()) return;
    if (below(4) == 0 && model_.graph().node_size() > 0) return node();
    const FieldPlace p = places_[below(places_.size())];
    const pb::Reflection& r = *p.message->GetReflection();
    if (p.field->is_repeated()) return repeated(p, r, r.FieldSize(*p.message, p.field));
    if (p.field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE || below(6) == 0) {
      // Whole sub-messages are seldom dropped: most of a model lies in one.
      if (below(8) == 0) r.ClearField(p.message, p.field);
      return;
    }
    single(p, r);
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_.next() % n); }

  std::int64_t number() {
    static const std::vector<std::int64_t> odd{0,
                                               -1,
                                               1,
                                               2,
                                               3,
                                               4,
                                               5,
                                               7,
                                               -2,
                                               100,
                                               1LL << 16,
                                               1LL << 20,
                                               1LL << 31,
                                               1LL << 32,
                                               -1LL << 31,
                                               10,
                                               1LL << 40,
                                               1LL << 62,
                                               255,
                                               256,
                                               -128,
                                               65535,
                                               1000000007,
                                               std::numeric_limits<std::int64_t>::max(),
                                               std::numeric_limits<std::int64_t>::min()};
    return odd[below(odd.size())];
  }
  double real() {
    static const std::vector<double> odd{0.0,
                                         -1.0,
                                         1e-30,
                                         1e30,
                                         3.4e38,
                                         std::numeric_limits<double>::infinity(),
                                         std::numeric_limits<double>::quiet_NaN(),
                                         0.5};
    return odd[below(odd.size())];
  }
  std::string text(const std::string& before) {
    static const std::vector<std::string> names_of_operations = [] {
      std::vector<std::string> names = operations().names();
      for (const char* foreign : {"If", "Loop", "Scan", "Einsum", "NonZero", "Constant", "StringNormalizer"})
        names.emplace_back(foreign);
      return names;
    }();
    switch (below(6)) {
      case 0:
        return "";
      case 1:
        return before + before;
      case 2:
        return names_of_operations[below(names_of_operations.size())];
      case 3: {
        std::string s = before;
        if (!s.empty()) s[below(s.size())] = static_cast<char>(below(128));
        return s;
      }
      case 4:
        return before.substr(0, before.size() / 2);
      default:
        return names_.empty() ? "" : names_[below(names_.size())];
    }
  }

  /// A node of another operation, with an attribute or an operand more.
  void node() {
    auto& n = *model_.mutable_graph()->mutable_node(
        static_cast<int>(below(static_cast<std::size_t>(model_.graph().node_size()))));
    switch (below(3)) {
      case 0:
        n.set_op_type(text(n.op_type()));
        return;
      case 1:
        n.add_input(names_.empty() ? "" : names_[below(names_.size())]);
        return;
      default:
        break;
    }
    static const std::vector<std::string> attributes{"axis",
                                                     "axes",
                                                     "perm",
                                                     "kernel_shape",
                                                     "pads",
                                                     "strides",
                                                     "dilations",
                                                     "group",
                                                     "auto_pad",
                                                     "alpha",
                                                     "beta",
                                                     "transA",
                                                     "transB",
                                                     "keepdims",
                                                     "mode",
                                                     "to",
                                                     "epsilon",
                                                     "split",
                                                     "num_outputs",
                                                     "blocksize",
                                                     "direction",
                                                     "hidden_size",
                                                     "ceil_mode",
                                                     "allowzero",
                                                     "batch_dims",
                                                     "exclusive",
                                                     "reverse",
                                                     "output_shape",
                                                     "value",
                                                     "size",
                                                     "block_size",
                                                     "shape",
                                                     "min",
                                                     "max",
                                                     "starts",
                                                     "ends",
                                                     "coordinate_transformation_mode",
                                                     "upper",
                                                     "noop_with_empty_axes"};
    auto& a = *n.add_attribute();
    a.set_name(attributes[below(attributes.size())]);
    switch (below(4)) {
      case 0:
        a.set_type(onnx::AttributeProto::INT);
        a.set_i(number());
        return;
      case 1:
        a.set_type(onnx::AttributeProto::INTS);
        for (std::size_t k = below(6); k > 0; --k) a.add_ints(below(2) == 0 ? number() : static_cast<int>(below(4)));
        return;
      case 2:
        a.set_type(onnx::AttributeProto::FLOAT);
        a.set_f(static_cast<float>(real()));
        return;
      default:
        a.set_type(onnx::AttributeProto::STRING);
        a.set_s(text("SAME_UPPER"));
    }
  }

  void single(const FieldPlace& p, const pb::Reflection& r) {
    pb::Message* m = p.message;
    switch (p.field->cpp_type()) {
      case pb::FieldDescriptor::CPPTYPE_INT64:
        return r.SetInt64(m, p.field, number());
      case pb::FieldDescriptor::CPPTYPE_INT32:
        // Types are small numbers: mostly others of them.
        return r.SetInt32(m, p.field, static_cast<std::int32_t>(below(2) == 0 ? number() : random_.between(0, 24)));
      case pb::FieldDescriptor::CPPTYPE_ENUM:
        return r.SetEnumValue(m, p.field, static_cast<int>(below(16)));
      case pb::FieldDescriptor::CPPTYPE_FLOAT:
        return r.SetFloat(m, p.field, static_cast<float>(real()));
      case pb::FieldDescriptor::CPPTYPE_STRING:
        return r.SetString(m, p.field, text(r.GetString(*m, p.field)));
      default:
        return;
    }
  }

  void repeated(const FieldPlace& p, const pb::Reflection& r, int size) {
    pb::Message* m = p.message;
    const int i = static_cast<int>(below(static_cast<std::size_t>(size)));
    switch (below(6)) {
      case 0:
        r.SwapElements(m, p.field, i, size - 1);
        return r.RemoveLast(m, p.field);
      case 1:
        return r.SwapElements(m, p.field, i, static_cast<int>(below(static_cast<std::size_t>(size))));
      default:
        break;
    }
    switch (p.field->cpp_type()) {
      case pb::FieldDescriptor::CPPTYPE_INT64:
        return below(3) == 0 ? r.AddInt64(m, p.field, number()) : r.SetRepeatedInt64(m, p.field, i, number());
      case pb::FieldDescriptor::CPPTYPE_INT32:
        return r.SetRepeatedInt32(m, p.field, i, static_cast<std::int32_t>(number()));
      case pb::FieldDescriptor::CPPTYPE_FLOAT:
        return r.SetRepeatedFloat(m, p.field, i, static_cast<float>(real()));
      case pb::FieldDescriptor::CPPTYPE_STRING:
        return r.SetRepeatedString(m, p.field, i, text(r.GetRepeatedString(*m, p.field, i)));
      case pb::FieldDescriptor::CPPTYPE_MESSAGE: {
        if (below(4) != 0) return;
        const std::string copy = r.GetRepeatedMessage(*m, p.field, i).SerializePartialAsString();
        r.AddMessage(m, p.field)->ParsePartialFromString(copy);
        return;
      }
      default:
        return;
    }
  }

  onnx::ModelProto& model_;
  Random& random_;
  std::vector<FieldPlace> places_;
  std::vector<std::string> names_;
};

}  // namespace

std::string mutate_onnx(const std::string& bytes, Random& random) {
  onnx::ModelProto model;
  if (!model.ParsePartialFromString(bytes)) return bytes;
  const auto times = random.between(1, 4);
  for (std::int64_t i = 0; i < times; ++i) OnnxMutation(model, random).once();
  return model.SerializePartialAsString();
}

}  // namespace assay
