#include <nlohmann/json.hpp>

#include "core/spec/load.h"
#include "core/spec/parts.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kExpression = "^\\$\\{.+\\}.*$";

Json ref(const std::string& name) { return {{"$ref", "#/$defs/" + name}}; }

Json expression() { return {{"type", "string"}, {"pattern", kExpression}}; }

/// A value alone, or with its range and source.
Json wrapped(const Json& value, bool with_range) {
  Json inner{{"type", "object"}, {"additionalProperties", false}};
  const Json interval{{"type", "array"}, {"minItems", 2}, {"maxItems", 2}, {"items", value}};
  inner["properties"]["value"] = with_range ? Json{{"anyOf", Json::array({value, interval})}} : value;
  if (with_range) inner["properties"]["range"] = interval;
  inner["properties"]["source"] = {{"type", "string"}};
  inner["anyOf"] = Json::array({{{"required", {"value"}}}});
  if (with_range) inner["anyOf"].push_back({{"required", {"range"}}});
  Json any = Json::array({value, inner});
  if (with_range) any.push_back(interval);
  return {{"anyOf", any}};
}

Json dtype_names() {
  return {"fp32",  "fp16",   "bf16",  "fp64",   "int4",  "uint4",  "int8", "uint8",
          "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"};
}

Json list_of(const Json& item) {
  return {{"anyOf", {item, {{"type", "array"}, {"items", item}, {"minItems", 1}, {"uniqueItems", true}}}}};
}

Json rates(const Json& names) {
  Json map{{"type", "object"},
           {"propertyNames", {{"enum", names}}},
           {"additionalProperties", {{"type", {"number", "string"}}}}};
  Json any = list_of({{"enum", names}})["anyOf"];
  any.push_back(map);
  return {{"anyOf", any}};
}

Json plain_number(const FieldSpec& spec) {
  Json number{{"type", spec.kind == FieldKind::integer ? "integer" : "number"}};
  number[spec.above_low ? "exclusiveMinimum" : "minimum"] = static_cast<double>(spec.low);
  if (spec.high < 0x1p60L) number["maximum"] = static_cast<double>(spec.high);
  return {{"anyOf", {number, expression()}}};
}

/// A number with one of the kind's units; the loader knows more units than an editor should suggest.
Json quantity() { return {{"type", "string"}, {"pattern", "^(-?[0-9].*[A-Za-z0-9]|\\$\\{.+\\}.*)$"}}; }

Json value_schema(const FieldSpec& spec) {
  switch (spec.kind) {
    case FieldKind::boolean:
      return wrapped({{"anyOf", {{{"type", "boolean"}}, expression()}}}, false);
    case FieldKind::integer:
    case FieldKind::real:
      return wrapped(plain_number(spec), true);
    case FieldKind::choice:
      return wrapped({{"anyOf", {{{"enum", spec.choices}}, expression()}}}, false);
    case FieldKind::choice_list:
      return wrapped(list_of({{"enum", spec.choices}}), false);
    case FieldKind::dtype:
      return wrapped({{"anyOf", {{{"enum", dtype_names()}}, expression()}}}, false);
    case FieldKind::size_pair:
      return wrapped({{"type", "array"}, {"minItems", 2}, {"maxItems", 2}, {"items", plain_number([&] {
                                                                              FieldSpec one = spec;
                                                                              one.kind = FieldKind::integer;
                                                                              return one;
                                                                            }())}},
                     false);
    case FieldKind::memory_list:
    case FieldKind::link_list:
      return wrapped(list_of({{"type", "string"}}), false);
    case FieldKind::matrix_types: {
      Json entry{{"type", "object"}, {"additionalProperties", false}, {"required", {"accumulator"}}};
      entry["properties"]["accumulator"] = {{"enum", dtype_names()}};
      entry["properties"]["rate"] = {{"type", {"number", "string"}}};
      Json value{{"type", "object"}, {"minProperties", 1}, {"propertyNames", {{"enum", dtype_names()}}}};
      value["additionalProperties"] = {{"anyOf", {{{"enum", dtype_names()}}, entry}}};
      return wrapped(value, false);
    }
    case FieldKind::vector_ops:
      return wrapped(rates(spec.choices), false);
    case FieldKind::vector_types:
      return wrapped(rates(dtype_names()), false);
    case FieldKind::text:
    case FieldKind::name:
    case FieldKind::memory:
    case FieldKind::link:
    case FieldKind::clock:
      return wrapped({{"type", "string"}}, false);
    default:
      return wrapped(quantity(), true);
  }
}

Json object_schema(const PartDoc& part) {
  Json object{{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
  Json required = Json::array();
  for (std::size_t i = 0; i < part.fields.size(); ++i) {
    const FieldSpec& f = part.fields[i];
    Json value = value_schema(f);
    value["description"] = f.doc;
    const std::string range = describe_range(f);
    if (!range.empty()) value["description"] = f.doc + " Range: " + range + ".";
    if (kind_info(f.kind).numeric)
      value["description"] = value["description"].get<std::string>() + " Write " + kind_info(f.kind).noun + ".";
    if (!part.defaults[i].empty())
      value["description"] = value["description"].get<std::string>() + " Default: " + part.defaults[i] + ".";
    const std::size_t dot = f.name.find('.');
    if (dot == std::string::npos) {
      object["properties"][f.name] = value;
      if (f.required) required.push_back(f.name);
      continue;
    }
    Json& group = object["properties"][f.name.substr(0, dot)];
    group["type"] = "object";
    group["additionalProperties"] = false;
    group["properties"][f.name.substr(dot + 1)] = value;
  }
  if (part.name != "machine") object["properties"]["source"] = {{"type", "string"}, {"description", source_spec().doc}};
  if (!required.empty()) object["required"] = required;
  return object;
}

Json map_of(const Json& item) { return {{"type", "object"}, {"additionalProperties", item}}; }

}  // namespace

std::string machine_schema_json() {
  Json defs;
  for (const PartDoc& part : all_parts()) {
    defs[part.name] =
        part.name == "clock" || part.name == "quoted" ? value_schema(part.fields[0]) : object_schema(part);
    if (part.name == "clock" || part.name == "quoted") defs[part.name]["description"] = part.fields[0].doc;
  }
  Json root = defs["machine"];
  defs.erase("machine");
  // A file with `extends` may leave out anything, so nothing is required of the file itself.
  root.erase("required");
  Json& p = root["properties"];
  p["extends"] = {{"type", "string"},
                  {"description", "Another description, relative to this file, whose values this one changes."}};
  p["params"] = {{"type", "object"}, {"description", "Values for ${expressions}; sweeps change them."}};
  p["process"] = ref("process");
  p["clocks"] = map_of(ref("clock"));
  p["quoted"] = {
      {"type", "object"}, {"propertyNames", {{"enum", dtype_names()}}}, {"additionalProperties", ref("quoted")}};
  const Json units{{"anyOf", {ref("matrix"), ref("vector"), ref("host")}}};
  for (Json* owner : {&p, &defs["grid"]["properties"]}) {
    (*owner)["memories"] = map_of(ref("memory"));
    (*owner)["links"] = map_of(ref("link"));
    (*owner)["units"] = map_of(units);
    (*owner)["array"] = map_of(ref("array"));
  }
  p["grid"] = map_of(ref("grid"));
  p["grid"]["maxProperties"] = 1;
  defs["array"]["properties"]["memories"] = map_of(ref("memory"));
  defs["array"]["properties"]["units"] = {
      {"type", "object"}, {"additionalProperties", false}, {"properties", {{"mac", ref("mac")}}}};
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Assay machine description"}};
  schema.update(root);
  schema["$defs"] = defs;
  return schema.dump(2) + "\n";
}

}  // namespace assay
