#include "core/ops/attributes_json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace assay {
namespace {

using Json = nlohmann::json;

Json real(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  return v;
}

double real_of(const Json& j) {
  if (j.is_number()) return j.get<double>();
  const auto text = j.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf" || text == "-inf") return (text == "inf" ? 1 : -1) * std::numeric_limits<double>::infinity();
  throw InputError("attributes", "expected a number, found \"" + text + "\"");
}

struct Writer {
  Json operator()(std::int64_t v) const { return {{"int", v}}; }
  Json operator()(double v) const { return {{"real", real(v)}}; }
  Json operator()(const std::string& v) const { return {{"text", v}}; }
  Json operator()(const std::vector<std::int64_t>& v) const { return {{"ints", v}}; }
  Json operator()(const std::vector<double>& v) const {
    Json list = Json::array();
    for (const double x : v) list.push_back(real(x));
    return {{"reals", list}};
  }
  Json operator()(const std::vector<std::string>& v) const { return {{"texts", v}}; }
  Json operator()(const std::shared_ptr<const Tensor>& t) const {
    if (!t) throw InputError("attributes", "a tensor attribute without a value");
    Json data = Json::array();
    const bool whole = !is_float(t->dtype());
    for (std::int64_t i = 0; i < t->size(); ++i) data.push_back(whole ? Json(t->get_int(i)) : real(t->get(i)));
    return {{"tensor", {{"dtype", std::string(name(t->dtype()))}, {"shape", t->shape()}, {"data", std::move(data)}}}};
  }
  Json operator()(const std::shared_ptr<const Graph>&) const {
    throw InputError("attributes", "a graph attribute cannot be executed by the host");
  }
};

std::shared_ptr<const Tensor> tensor_of(const Json& j) {
  const auto dtype_name = j.at("dtype").get<std::string>();
  const auto dtype = parse_dtype(dtype_name);
  if (!dtype) throw InputError("attributes", "unknown type '" + dtype_name + "'");
  const auto shape = j.at("shape").get<Shape>();
  const Json& data = j.at("data");
  for (const std::int64_t d : shape)
    if (d < 0) throw InputError("attributes", "a tensor of negative size");
  if (!data.is_array() || element_count(shape) != static_cast<std::int64_t>(data.size()))
    throw InputError("attributes", "a tensor's data does not fit its shape");
  auto t = std::make_shared<Tensor>(TensorType{*dtype, shape});
  std::int64_t i = 0;
  for (const Json& v : data) {
    if (*dtype == DType::i64)
      t->data<std::int64_t>()[static_cast<std::size_t>(i)] = v.get<std::int64_t>();
    else if (*dtype == DType::u64)
      t->data<std::uint64_t>()[static_cast<std::size_t>(i)] = static_cast<std::uint64_t>(v.get<std::int64_t>());
    else
      t->set(i, real_of(v));
    ++i;
  }
  return t;
}

AttributeValue value_of(const std::string& name, const Json& j) {
  if (!j.is_object() || j.size() != 1) throw InputError("attributes", "'" + name + "' is not {kind: value}");
  const std::string kind = j.begin().key();
  const Json& v = j.begin().value();
  if (kind == "int") return v.get<std::int64_t>();
  if (kind == "real") return real_of(v);
  if (kind == "text") return v.get<std::string>();
  if (kind == "ints") return v.get<std::vector<std::int64_t>>();
  if (kind == "texts") return v.get<std::vector<std::string>>();
  if (kind == "tensor") return tensor_of(v);
  if (kind == "reals") {
    std::vector<double> list;
    for (const Json& x : v) list.push_back(real_of(x));
    return list;
  }
  throw InputError("attributes", "'" + name + "' has unknown kind '" + kind + "'");
}

}  // namespace

std::string attributes_to_json(const Attributes& attributes, int version) {
  Json values = Json::object();
  for (const auto& [name, value] : attributes.values()) values[name] = std::visit(Writer{}, value);
  const Json j = {{"attributes", std::move(values)}, {"version", version}};
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

ParsedAttributes attributes_from_json(const std::string& text) {
  ParsedAttributes parsed;
  try {
    const Json j = Json::parse(text);
    parsed.version = j.at("version").get<int>();
    const Json& values = j.at("attributes");
    if (!values.is_object()) throw InputError("attributes", "expected an object");
    for (const auto& [name, value] : values.items()) parsed.attributes.set(name, value_of(name, value));
  } catch (const Json::exception& e) {
    throw InputError("attributes", e.what());
  }
  return parsed;
}

}  // namespace assay
