#include "explorers/result_json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace assay {
namespace {

using nlohmann::json;

// One list of fields per struct serves both directions: `f(key, member)` is called by a Writer and by a Reader.

template <class F, class T>
void fields(F& f, T& r) requires std::is_same_v<std::remove_const_t<T>, NamedValue> {
  f("name", r.name), f("value", r.value);
}

template <class F, class T>
void fields(F& f, T& r) requires std::is_same_v<std::remove_const_t<T>, Waterfall> {
  f("ideal_compute", r.ideal_compute), f("padding", r.padding), f("fill_drain", r.fill_drain);
  f("vector", r.vector), f("exposed_memory", r.exposed_memory), f("contention", r.contention);
  f("sync", r.sync), f("launch", r.launch);
}

template <class F, class T>
void fields(F& f, T& r) requires std::is_same_v<std::remove_const_t<T>, LayerResult> {
  f("name", r.name), f("kind", r.kind), f("nodes", r.nodes), f("engine", r.engine), f("seconds", r.seconds);
  f("analytical_seconds", r.analytical_seconds), f("macs", r.macs), f("utilisation", r.utilisation);
  f("arithmetic_intensity", r.arithmetic_intensity), f("dram_read_bytes", r.dram_read_bytes);
  f("dram_write_bytes", r.dram_write_bytes), f("binding", r.binding);
  f("gain_same_program", r.gain_same_program), f("gain_recompiled", r.gain_recompiled);
  f("energy_pj", r.energy_pj), f("mapping_gap", r.mapping_gap), f("mapping", r.mapping);
  f("resources", r.resources), f("waterfall", r.waterfall);
}

template <class F, class T>
void fields(F& f, T& r) requires std::is_same_v<std::remove_const_t<T>, MemoryUse::Block> {
  f("name", r.name), f("kind", r.kind), f("first", r.first), f("last", r.last), f("address", r.address);
  f("bytes", r.bytes);
}

template <class F, class T>
void fields(F& f, T& r) requires std::is_same_v<std::remove_const_t<T>, MemoryUse> {
  f("memory", r.memory), f("capacity", r.capacity), f("peak", r.peak), f("blocks", r.blocks);
}

template <class F, class T>
void fields(F& f, T& r) requires std::is_same_v<std::remove_const_t<T>, TimelineSpan> {
  f("lane", r.lane), f("name", r.name), f("start", r.start), f("end", r.end);
}

template <class F, class T>
void fields(F& f, T& r) requires std::is_same_v<std::remove_const_t<T>, CheckResult> {
  f("level", r.level), f("passed", r.passed), f("static_ok", r.static_ok), f("static_note", r.static_note);
  f("max_rel_error", r.max_rel_error), f("sqnr_db", r.sqnr_db), f("detail", r.detail);
}

template <class F, class T>
void fields(F& f, T& r) requires std::is_same_v<std::remove_const_t<T>, WorkloadResult> {
  f("workload", r.workload), f("phase", r.phase), f("weight", r.weight), f("repeat", r.repeat);
  f("precision", r.precision), f("seconds", r.seconds), f("analytical_seconds", r.analytical_seconds);
  f("cycle_seconds", r.cycle_seconds), f("lower_bound_seconds", r.lower_bound_seconds);
  f("energy_pj", r.energy_pj), f("average_w", r.average_w), f("peak_w", r.peak_w), f("macs", r.macs);
  f("dram_bytes", r.dram_bytes), f("utilisation", r.utilisation), f("mapping_gap", r.mapping_gap);
  f("mapper_tier", r.mapper_tier), f("binding", r.binding), f("check", r.check), f("resources", r.resources);
  f("waterfall", r.waterfall), f("layers", r.layers), f("memories", r.memories), f("timeline", r.timeline);
  f("timeline_truncated", r.timeline_truncated), f("energy_by_part", r.energy_by_part);
  f("free_ops", r.free_ops), f("host_ops", r.host_ops), f("graph_dot", r.graph_dot);
  f("ablation", r.ablation), f("program_sha256", r.program_sha256), f("remarks", r.remarks), f("notes", r.notes);
}

template <class F, class T>
void fields(F& f, T& r) requires std::is_same_v<std::remove_const_t<T>, PartResult> {
  f("part", r.part), f("instances", r.instances), f("area_mm2", r.area_mm2), f("leakage_w", r.leakage_w);
  f("source", r.source);
}

template <class F, class T>
void fields(F& f, T& r) requires std::is_same_v<std::remove_const_t<T>, PointResult> {
  f("index", r.index), f("key", r.key), f("design", r.design), f("machine", r.machine), f("family", r.family);
  f("parameters", r.parameters), f("status", r.status), f("reason", r.reason), f("area_mm2", r.area_mm2);
  f("peak_tops", r.peak_tops), f("tdp_w", r.tdp_w), f("parts", r.parts), f("workloads", r.workloads);
  f("latency_s", r.latency_s), f("energy_pj", r.energy_pj), f("average_w", r.average_w), f("peak_w", r.peak_w);
  f("edp", r.edp), f("model_error", r.model_error), f("mapping_gap", r.mapping_gap);
  f("fully_checked", r.fully_checked), f("constraint_violations", r.constraint_violations);
}

template <class F, class T>
void fields(F& f, T& r) requires std::is_same_v<std::remove_const_t<T>, RankRow> {
  f("point", r.point), f("score", r.score), f("p_better_than_next", r.p_better_than_next);
  f("tied_with_next", r.tied_with_next);
}

template <class F, class T>
void fields(F& f, T& r) requires std::is_same_v<std::remove_const_t<T>, SweepResult> {
  f("name", r.name), f("objective", r.objective), f("axes", r.axes), f("points", r.points);
  f("ranking", r.ranking), f("frontier", r.frontier), f("manifest", r.manifest);
  f("assumptions", r.assumptions), f("not_modelled", r.not_modelled);
}

// ---- Writing ----------------------------------------------------------------------------------------------------

json write(const std::string& v) { return v; }
json write(bool v) { return v; }
json write(std::int64_t v) { return v; }
json write(std::size_t v) { return v; }
json write(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  return v;
}
template <class A, class B>
json write(const std::pair<A, B>& v) {
  return json::array({write(v.first), write(v.second)});
}
template <class T>
json write(const T& v);
template <class T>
json write(const std::vector<T>& v) {
  json out = json::array();
  for (const T& item : v) out.push_back(write(item));
  return out;
}

struct Writer {
  json out = json::object();
  template <class T>
  void operator()(const char* key, const T& member) {
    out[key] = write(member);
  }
};

template <class T>
json write(const T& v) {
  Writer w;
  fields(w, v);
  return std::move(w.out);
}

template <class T>
std::string document(const T& result, const char* kind, int indent) {
  json out = write(result);
  out["schema_version"] = kResultSchemaVersion;
  out["kind"] = kind;
  return out.dump(indent, ' ', false, json::error_handler_t::replace);
}

// ---- Reading ----------------------------------------------------------------------------------------------------

[[noreturn]] void refuse(const std::string& path, const std::string& message) {
  throw InputError(path.empty() ? "result" : path, message);
}

/// `path` is extended in place and cut back, so that it costs nothing until something is wrong.
struct Reader {
  const json& in;
  std::string& path;
  template <class T>
  void operator()(const char* key, T& member);
};

void read(const json& in, std::string& path, std::string& v) {
  if (!in.is_string()) refuse(path, std::string("expected a string, found ") + in.type_name());
  v = in.get_ref<const std::string&>();
}
void read(const json& in, std::string& path, bool& v) {
  if (!in.is_boolean()) refuse(path, std::string("expected true or false, found ") + in.type_name());
  v = in.get<bool>();
}
void read(const json& in, std::string& path, std::int64_t& v) {
  if (!in.is_number_integer() || (in.is_number_unsigned() && in.get<std::uint64_t>() > INT64_MAX)) {
    refuse(path, "expected an integer of 64 bits, found " + (in.is_number() ? in.dump() : in.type_name()));
  }
  v = in.get<std::int64_t>();
}
void read(const json& in, std::string& path, std::size_t& v) {
  if (!in.is_number_unsigned()) {
    refuse(path, "expected an integer >= 0, found " + (in.is_number() ? in.dump() : in.type_name()));
  }
  v = in.get<std::size_t>();
}
void read(const json& in, std::string& path, double& v) {
  if (in.is_number()) {
    v = in.get<double>();
  } else if (in == "inf" || in == "-inf") {
    v = in == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  } else if (in == "nan") {
    v = std::numeric_limits<double>::quiet_NaN();
  } else {
    refuse(path, std::string("expected a number, found ") + in.type_name());
  }
}
template <class T>
void read(const json& in, std::string& path, T& v);
template <class A, class B>
void read(const json& in, std::string& path, std::pair<A, B>& v) {
  if (!in.is_array() || in.size() != 2) refuse(path, "expected a pair [name, value]");
  read(in[0], path, v.first);
  read(in[1], path, v.second);
}
template <class T>
void read(const json& in, std::string& path, std::vector<T>& v) {
  if (!in.is_array()) refuse(path, std::string("expected a list, found ") + in.type_name());
  v.resize(in.size());
  const std::size_t length = path.size();
  for (std::size_t i = 0; i < v.size(); ++i) {
    path += '[' + std::to_string(i) + ']';
    read(in[i], path, v[i]);
    path.resize(length);
  }
}
template <class T>
void read(const json& in, std::string& path, T& v) {
  if (!in.is_object()) refuse(path, std::string("expected an object, found ") + in.type_name());
  Reader r{in, path};
  fields(r, v);
}

template <class T>
void Reader::operator()(const char* key, T& member) {
  const std::size_t length = path.size();
  if (length) path += '.';
  path += key;
  const auto it = in.find(key);
  if (it == in.end()) refuse(path, "missing");
  read(*it, path, member);
  path.resize(length);
}

json parse(std::string_view text, const char* kind) {
  json in = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (in.is_discarded()) refuse("", "not JSON, or cut off");
  if (!in.is_object()) refuse("", std::string("expected an object, found ") + in.type_name());
  const auto version = in.find("schema_version");
  if (version == in.end()) refuse("schema_version", "missing: this is not a result of Assay");
  if (*version != kResultSchemaVersion) {
    refuse("schema_version", "expected " + std::to_string(kResultSchemaVersion) + ", found " + version->dump() +
                                 ": written by another version of Assay");
  }
  const auto found = in.find("kind");
  if (found == in.end() || *found != kind) {
    refuse("kind", std::string("expected \"") + kind + "\", found " +
                       (found == in.end() ? std::string("nothing") : found->dump()));
  }
  return in;
}

}  // namespace

std::string to_json(const PointResult& point, int indent) { return document(point, "point", indent); }
std::string to_json(const SweepResult& sweep, int indent) { return document(sweep, "sweep", indent); }

PointResult point_from_json(std::string_view text) {
  const json in = parse(text, "point");
  PointResult point;
  std::string path;
  read(in, path, point);
  return point;
}

SweepResult sweep_from_json(std::string_view text) {
  const json in = parse(text, "sweep");
  SweepResult sweep;
  std::string path;
  read(in, path, sweep);
  const auto check_index = [&](const std::string& where, std::size_t index) {
    if (index < sweep.points.size()) return;
    refuse(where, "expected an index below " + std::to_string(sweep.points.size()) + " (the number of points), found " +
                      std::to_string(index));
  };
  for (std::size_t i = 0; i < sweep.ranking.size(); ++i) {
    check_index("ranking[" + std::to_string(i) + "].point", sweep.ranking[i].point);
  }
  for (std::size_t i = 0; i < sweep.frontier.size(); ++i) {
    check_index("frontier[" + std::to_string(i) + "]", sweep.frontier[i]);
  }
  return sweep;
}

}  // namespace assay
