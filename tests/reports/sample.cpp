#include "tests/reports/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/hash.h"
#include "core/base/random.h"

namespace assay::sample {
namespace {

struct Machine {
  const char* name;
  const char* family;
  double peak_tops, bandwidth, clock;  // at the smallest size
  const char* axis;
};

constexpr Machine kMachines[] = {{"tpu_v1_like", "systolic", 5.8, 34e9, 700e6, "rows"},
                                 {"eyeriss_like", "spatial", 0.9, 17e9, 200e6, "pe_columns"},
                                 {"mtia_2i_like", "grid", 22, 102e9, 1350e6, "grid"}};

struct Kind {
  const char* name;
  double macs, bytes;
};
constexpr Kind kConv[] = {
    {"Conv", 115e6, 1.1e6}, {"Conv", 51e6, 0.6e6}, {"Conv", 231e6, 2.6e6}, {"Add", 0, 1.6e6}, {"MaxPool", 0, 0.9e6}};
constexpr Kind kBert[] = {{"Gemm", 226e6, 1.2e6},
                          {"MatMul", 12.6e6, 0.5e6},
                          {"Softmax", 0, 0.4e6},
                          {"Gemm", 906e6, 3.1e6},
                          {"LayerNormalization", 0, 0.4e6}};

void finish_layer(LayerResult& l, double compute, double memory, double vector, Random& random) {
  l.seconds = std::max({compute * 1.12, memory, vector}) + 1.5e-6;
  l.analytical_seconds = l.seconds * (0.95 + 0.04 * random.uniform());
  l.binding = memory >= compute && memory >= vector ? "dram" : compute >= vector ? "mxu" : "vpu";
  l.resources = {{"dram", memory}, {"dma.load", memory * 0.8}, {"mxu", compute}, {"vpu", vector}};
  const double second = l.binding == "dram"  ? std::max(compute, vector)
                        : l.binding == "mxu" ? std::max(memory, vector)
                                             : std::max(memory, compute);
  const double limit = std::max({compute, memory, vector});
  l.gain_same_program = std::max(0.0, limit - std::max(second, limit / 2)) * 0.9;
  l.gain_recompiled = random.uniform() < 0.2 ? -1 : l.gain_same_program * (1 + 0.3 * random.uniform());
  Waterfall& f = l.waterfall;
  f.ideal_compute = compute * 0.8;
  f.padding = compute * 0.12;
  f.fill_drain = compute * 0.08;
  const double rest = l.seconds - compute;
  if (l.binding == "vpu") f.vector = rest * 0.7;
  f.launch = std::min(rest - f.vector, 0.3e-6);
  f.sync = std::min(rest - f.vector - f.launch, 0.4e-6);
  f.contention = (rest - f.vector - f.launch - f.sync) * 0.15;
  f.exposed_memory =
      l.seconds - f.ideal_compute - f.padding - f.fill_drain - f.vector - f.launch - f.sync - f.contention;
}

void add_to(Waterfall& sum, const Waterfall& w) {
  sum.ideal_compute += w.ideal_compute, sum.padding += w.padding, sum.fill_drain += w.fill_drain,
      sum.vector += w.vector;
  sum.exposed_memory += w.exposed_memory, sum.contention += w.contention, sum.sync += w.sync, sum.launch += w.launch;
}

std::string dot_of(const WorkloadResult& w) {
  std::string dot =
      "digraph compiled {\n  rankdir=LR;\n  node [shape=box, fontname=\"Helvetica\", fontsize=10, style=filled, "
      "fillcolor=\"#eef3f8\"];\n";
  for (std::size_t i = 0; i < w.layers.size(); ++i) {
    dot += fmt::format("  n{} [label=\"{}\\n{}\"];\n", i, w.layers[i].name, w.layers[i].kind);
    if (i) dot += fmt::format("  n{} -> n{};\n", i - 1, i);
    if (i > 4 && w.layers[i].kind == "Add") dot += fmt::format("  n{} -> n{};\n", i - 4, i);
  }
  return dot + "}\n";
}

void add_timeline(WorkloadResult& w) {
  double now = 0;
  for (const auto& l : w.layers) {
    const double ahead = std::min(now, l.resources[0].value * 0.3);
    for (int core = 0; core < 2; ++core) {
      const std::string prefix = fmt::format("core {} / ", core);
      w.timeline.push_back({prefix + "dma.load", l.name, now - ahead, now - ahead + l.resources[1].value});
      if (l.resources[2].value > 0) w.timeline.push_back({prefix + "mxu", l.name, now, now + l.resources[2].value});
      if (l.resources[3].value > 0) w.timeline.push_back({prefix + "vpu", l.name, now, now + l.resources[3].value});
    }
    now += l.seconds;
  }
}

void add_memories(WorkloadResult& w) {
  MemoryUse m{"ub", 24 << 20, 0, {}};
  for (std::size_t i = 0; i < w.layers.size(); ++i) {
    const auto step = static_cast<std::int64_t>(i);
    const std::int64_t bytes = std::min<std::int64_t>(4 << 20, w.layers[i].dram_write_bytes + 4096);
    const std::int64_t address = (i % 4) * (4 << 20);
    m.blocks.push_back({w.layers[i].name + ":out", "activation", step, step + 2, address, bytes});
    m.blocks.push_back({w.layers[i].name + ":w", "weight", step - (i > 0), step + 1,
                        (16 << 20) + static_cast<std::int64_t>(i % 2) * (4 << 20), 3 << 20});
    m.peak = std::max(m.peak, address + bytes);
  }
  m.peak = std::max<std::int64_t>(m.peak, 23 << 20);
  w.memories = {m, {"acc", 4 << 20, 3 << 20, {}}};
}

WorkloadResult make_workload(const std::string& name, const Machine& machine, double scale, int layers,
                             Random& random) {
  WorkloadResult w;
  w.workload = name;
  w.phase = name == "bert_base" ? "encode" : "";
  w.weight = name == "bert_base" ? 0.4 : 0.6;
  w.precision = "int8";
  const auto& kinds = name == "bert_base" ? kBert : kConv;
  const double peak = machine.peak_tops * 1e12 * scale, bandwidth = machine.bandwidth * std::sqrt(scale);
  for (int i = 0; i < layers; ++i) {
    const Kind& kind = kinds[i % 5];
    LayerResult l;
    constexpr const char* kParts[] = {"query", "scores", "softmax", "ffn1", "norm"};
    if (name == "bert_base") {
      l.name = fmt::format("encoder.{}.{}", i / 5 + 1, kParts[i % 5]);
    } else {
      l.name = fmt::format("layer{}.{}.{}", i / 15 + 1, i / 5 % 3,
                           i % 5 == 3   ? "add"
                           : i % 5 == 4 ? "pool"
                                        : fmt::format("conv{}", i % 5 + 1));
    }
    l.kind = kind.name;
    l.nodes = {l.name + "/" + kind.name, l.name + "/Relu"};
    l.macs = static_cast<std::int64_t>(kind.macs * (0.7 + 0.6 * random.uniform()));
    l.engine = l.macs ? "matrix" : "vector";
    l.dram_read_bytes = static_cast<std::int64_t>(kind.bytes * (0.7 + 0.6 * random.uniform()));
    l.dram_write_bytes = l.dram_read_bytes / 3;
    const double bytes = static_cast<double>(l.dram_read_bytes + l.dram_write_bytes);
    const double compute = 2 * static_cast<double>(l.macs) / peak / 0.8;
    finish_layer(l, compute, bytes / bandwidth, l.macs ? 2e-6 : bytes / (bandwidth * 0.8), random);
    l.utilisation = 2 * static_cast<double>(l.macs) / (peak * l.seconds);
    l.arithmetic_intensity = 2 * static_cast<double>(l.macs) / bytes;
    l.energy_pj = static_cast<double>(l.macs) * 0.35 + bytes * 60;
    l.mapping_gap = random.uniform() < 0.1 ? -1 : random.uniform() < 0.6 ? 0 : 0.08 * random.uniform();
    l.mapping = "dram[W I O] M4 K2 | ub[I O] N8 M2 | mxu[W] K128x N128x";
    w.seconds += l.seconds, w.analytical_seconds += l.analytical_seconds, w.macs += l.macs, w.energy_pj += l.energy_pj;
    w.dram_bytes += l.dram_read_bytes + l.dram_write_bytes;
    add_to(w.waterfall, l.waterfall);
    for (const auto& r : l.resources) {
      auto it =
          std::find_if(w.resources.begin(), w.resources.end(), [&](const NamedValue& v) { return v.name == r.name; });
      if (it == w.resources.end()) it = w.resources.insert(it, {r.name, 0});
      it->value += r.value;
    }
    w.layers.push_back(std::move(l));
  }
  w.cycle_seconds = w.seconds;
  w.binding = std::max_element(w.resources.begin(), w.resources.end(), [](const auto& a, const auto& b) {
                return a.value < b.value;
              })->name;
  for (const auto& r : w.resources) w.lower_bound_seconds = std::max(w.lower_bound_seconds, r.value);
  w.utilisation = 2 * static_cast<double>(w.macs) / (peak * w.seconds);
  w.average_w = w.energy_pj * 1e-12 / w.seconds;
  w.peak_w = w.average_w * 1.6;
  w.mapping_gap = 0.021;
  w.mapper_tier = "exhaustive in the stated space";
  w.ablation = {{"epilogue fusion", 0.4 * random.uniform()}, {"residency", 0.01 * random.uniform() - 0.002}};
  w.check = {"twin", true, true, "412 of 412 command instances walked", 0, 38.2, ""};
  w.energy_by_part = {{"dram", w.energy_pj * 0.52},
                      {"ub", w.energy_pj * 0.18},
                      {"mxu", w.energy_pj * 0.21},
                      {"vpu", w.energy_pj * 0.03},
                      {"leakage", w.energy_pj * 0.06}};
  w.free_ops = {{"Reshape", 5}, {"Flatten", 1}};
  if (name == "bert_base") w.host_ops = {{"Gather", 2}};
  w.notes = {"DRAM refresh is not modelled.",
             "Bank conflicts of the unified buffer are counted as one lost cycle each."};
  w.remarks = {"2 layers share one mapping with layer2.0.conv1."};
  w.program_sha256 = sha256_hex(w.workload + machine.name);
  w.graph_dot = dot_of(w);
  add_timeline(w);
  add_memories(w);
  return w;
}

PointResult make_point(std::int64_t index, const Machine& machine, int step, const Options& options, Random& random) {
  PointResult p;
  p.index = index;
  const int size = 64 << (step % 4);
  const char* buffer = step < 4 ? "8 MiB" : "24 MiB";
  p.parameters = {
      {machine.axis, fmt::format("{}", size)}, {"ub", buffer}, {"clock", fmt::format("{} MHz", machine.clock / 1e6)}};
  p.design = fmt::format("{} {}={} ub={}", machine.name, machine.axis, size, buffer);
  p.machine = machine.name;
  p.family = machine.family;
  p.key = sha256_hex(p.design);
  const double scale = std::pow(2, step % 4) * (step < 4 ? 1 : 1.06);
  p.peak_tops = machine.peak_tops * scale;
  for (const char* name : {"resnet50", "bert_base"})
    p.workloads.push_back(make_workload(name, machine, scale, options.layers, random));
  const double area = 12 + 9 * scale * machine.peak_tops / 5 + (step < 4 ? 0 : 11);
  p.parts = {{"mxu", 1, area * 0.44, 0.2, "fitted: published 28 nm MAC area, scaled"},
             {"ub", 1, area * 0.33, 0.3, "CACTI 7, itrs-lstp"},
             {"vpu", 1, area * 0.09, 0.05, "estimate"},
             {"dma", 2, area * 0.05, 0.01, "estimate"},
             {"io", 1, area * 0.09, 0.02, "die photo"}};
  p.area_mm2 = area;
  p.tdp_w = 40;
  for (const auto& w : p.workloads) {
    p.latency_s += w.weight * w.seconds, p.energy_pj += w.weight * w.energy_pj, p.peak_w = std::max(p.peak_w, w.peak_w);
  }
  p.average_w = p.energy_pj * 1e-12 / p.latency_s;
  p.edp = p.energy_pj * 1e-12 * p.latency_s;
  p.model_error = 0.03;
  p.mapping_gap = 0.021;
  p.fully_checked = options.checked;
  if (!options.checked) {
    for (auto& w : p.workloads)
      w.check = {"static", false, true, "sampled: 40 of 412 command instances", 0, 0, ""}, w.cycle_seconds = -1;
  }
  return p;
}

void rank(SweepResult& s) {
  for (std::size_t i = 0; i < s.points.size(); ++i) {
    if (s.points[i].status == "ok") s.ranking.push_back({i, s.points[i].latency_s, 1, false});
  }
  std::stable_sort(s.ranking.begin(), s.ranking.end(), [](const auto& a, const auto& b) { return a.score < b.score; });
  for (std::size_t i = 0; i + 1 < s.ranking.size(); ++i) {
    const double ratio = s.ranking[i + 1].score / s.ranking[i].score - 1;
    s.ranking[i].p_better_than_next = 0.5 + 0.5 * std::erf(ratio / 0.05);
    s.ranking[i].tied_with_next = ratio < 0.02;
  }
  for (const auto& r : s.ranking) {
    const PointResult& p = s.points[r.point];
    const bool beaten = std::any_of(s.ranking.begin(), s.ranking.end(), [&](const RankRow& o) {
      const PointResult& q = s.points[o.point];
      return &q != &p && q.latency_s <= p.latency_s && q.energy_pj <= p.energy_pj && q.area_mm2 <= p.area_mm2;
    });
    if (!beaten) s.frontier.push_back(r.point);
  }
}

}  // namespace

SweepResult sweep(const Options& options) {
  Random random(7, "sample");
  SweepResult s;
  s.name = "quickstart";
  s.objective = "latency";
  s.axes = {"rows", "pe_columns", "grid", "ub", "clock"};
  for (const Machine& machine : kMachines) {
    for (int step = 0; step < options.designs_per_family; ++step)
      s.points.push_back(make_point(static_cast<std::int64_t>(s.points.size()), machine, step, options, random));
  }
  PointResult infeasible;
  infeasible.index = static_cast<std::int64_t>(s.points.size());
  infeasible.design = "tpu_v1_like rows=1024 ub=1 MiB";
  infeasible.machine = "tpu_v1_like", infeasible.family = "systolic";
  infeasible.parameters = {{"rows", "1024"}, {"ub", "1 MiB"}};
  infeasible.status = "infeasible";
  infeasible.reason = "layer1.0.conv1: no tile fits ub (needs 1.31 MiB, 1 MiB there)";
  s.points.push_back(infeasible);
  infeasible.index++;
  infeasible.design = "mtia_2i_like grid=1024";
  infeasible.status = "invalid";
  infeasible.reason = "area 612 mm² exceeds the constraint 400 mm²";
  s.points.push_back(infeasible);
  rank(s);
  s.manifest = {{"assay", "0.1.0"},
                {"sweep file", "sha256 " + sha256_hex("sweep")},
                {"model resnet50.onnx", "sha256 " + sha256_hex("r50")},
                {"options", "--check twin --mapper exhaustive"},
                {"seed", "1"},
                {"component library", "v3"}};
  s.assumptions = {"Weights are resident in DRAM before the first run.",
                   "28 nm, 0.9 V, 25 °C; areas scaled from 45 nm.", "Batch 1; inputs arrive without delay."};
  s.not_modelled = {"Power and clock gating of idle units.", "DRAM refresh.", "Clock-domain crossings."};
  return s;
}

SweepResult single_run() {
  SweepResult s = sweep({.designs_per_family = 1});
  s.points.resize(1);
  s.ranking = {{0, s.points[0].latency_s, 1, false}};
  s.frontier = {0};
  return s;
}

SweepResult hostile() {
  SweepResult s = sweep({.designs_per_family = 2, .layers = 5});
  const std::string evil =
      "<script>alert('x')</script>\"&amp;|`*_[a](http://evil.example)]]>\n--><img src=x "
      "onerror=alert(1)>\x1b[31m\x01\xff\xe2\x82 µ–漢字🙂";
  s.name += evil;
  for (auto& axis : s.axes) axis += evil;
  for (auto& p : s.points) {
    p.design += evil, p.machine += evil, p.family += evil, p.reason += evil;
    for (auto& parameter : p.parameters) parameter.first += evil, parameter.second += evil;
    for (auto& part : p.parts) part.part += evil, part.source += evil;
    for (auto& w : p.workloads) {
      w.workload += evil, w.phase += evil, w.precision += evil, w.binding += evil, w.mapper_tier += evil,
          w.check.detail += evil, w.check.static_note += evil;
      w.graph_dot =
          "digraph g { a [label=\"<script>\", URL=\"javascript:alert(1)\", tooltip=\"</svg><script>\"]; b "
          "[image=\"http://evil.example/x.png\"]; a -> b; }";
      for (auto& l : w.layers) {
        l.name += evil, l.kind += evil, l.engine += evil, l.binding += evil, l.mapping += evil;
        for (auto& node : l.nodes) node += evil;
        for (auto& r : l.resources) r.name += evil;
      }
      for (auto& m : w.memories) {
        m.memory += evil;
        for (auto& b : m.blocks) b.name += evil, b.kind += evil;
      }
      for (auto& span : w.timeline) span.lane += evil, span.name += evil;
      for (auto& part : w.energy_by_part) part.name += evil;
      for (auto& op : w.free_ops) op.first += evil;
      w.notes.push_back(evil), w.remarks.push_back(evil);
    }
  }
  s.points[0].workloads[0].layers[0].arithmetic_intensity = std::numeric_limits<double>::infinity();
  s.points[0].workloads[0].layers[1].utilisation = std::numeric_limits<double>::quiet_NaN();
  s.points[0].workloads[0].seconds = 0;
  s.points[1].latency_s = std::numeric_limits<double>::infinity();
  s.points[2].energy_pj = -1;
  for (auto& entry : s.manifest) entry.first += evil, entry.second += evil;
  s.assumptions.push_back(evil), s.not_modelled.push_back(evil);
  return s;
}

}  // namespace assay::sample
