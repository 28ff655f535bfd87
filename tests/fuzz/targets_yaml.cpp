#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/spec/load.h"
#include "core/spec/peak.h"
#include "core/spec/quantity.h"
#include "explorers/sweep_spec.h"
#include "hwmodels/energy.h"
#include "tests/fuzz/targets.h"
#include "workloads/workload.h"

namespace assay {
namespace {

void read_machine(const std::string& text) {
  const Machine m = parse_machine(text, "fuzz.yaml");
  const std::string printed = print_machine(m);
  Machine again;
  try {
    again = parse_machine(printed, "printed.yaml");
  } catch (const InputError& e) {
    throw InternalError(std::string("a printed machine is refused: ") + e.what());
  }
  ASSAY_CHECK(print_machine(again) == printed, "a printed machine reads as another");
  ASSAY_CHECK(!describe_peak(m).empty(), "no peak");
  const double area = cost_table(m).area_mm2;
  ASSAY_CHECK(area >= 0 && area < std::numeric_limits<double>::infinity(), std::to_string(area));
}

void read_sweep(const std::string& path) {
  const SweepSpec spec = load_sweep(path);
  const std::int64_t size = space_size(spec);
  ASSAY_CHECK(size > 0, std::to_string(size));
  for (const std::int64_t i : {std::int64_t{0}, size / 2, size - 1}) {
    const DesignPoint p = point_at(spec, i);
    ASSAY_CHECK(p.machine < spec.machines.size(), std::to_string(p.machine));
    ASSAY_CHECK(p.label().empty() == p.overrides.empty(), p.label());
    load_machine(spec.machines[p.machine].path, p.overrides);
  }
}

void read_workload(const std::string& path) {
  WorkloadOptions shapes_only;
  shapes_only.weights = WeightMode::absent;
  for (const Workload& w : load_workloads(path, shapes_only)) {
    ASSAY_CHECK(!w.phases.empty(), "no phase");
    for (const WorkloadPhase& p : w.phases) check_structure(build(p));
  }
}

Value lookup(std::string_view name, std::size_t offset) {
  if (name == "rows") return Quantity::exact(128);
  if (name == "cap") return Quantity{1048576, 1024, 4194304, {.byte = 1}};
  if (name == "kind") return std::string("dram");
  if (name == "flag") return true;
  throw ValueError("no such parameter", offset);
}

void read_expression(const std::string& text) {
  try {
    const Value v = evaluate_scalar(text, text.size() % 2 == 1, lookup);
    if (const auto* q = std::get_if<Quantity>(&v)) {
      // The value of an expression lies in its interval, and all three are numbers.
      ASSAY_CHECK(q->low <= q->value && q->value <= q->high, text.substr(0, 200));
    }
  } catch (const ValueError& e) {
    ASSAY_CHECK(e.offset <= text.size(), std::to_string(e.offset) + " is behind the end of the text");
    throw InputError("expression", e.what());
  }
}

constexpr const char* kMachine =
    "machine: m\nparams:\n  n: 8\nclocks:\n  core: 1 GHz\nmemories:\n"
    "  dram: {kind: dram, capacity: 1 GiB, bandwidth: 16 GB/s}\n"
    "  spad: {kind: scratchpad, capacity: 64 KiB, bandwidth: 32 B/cycle}\n"
    "  acc: {kind: accumulator, capacity: 16 KiB, bandwidth: 64 B/cycle}\n"
    "links:\n  dma: {kind: dma, far: dram, near: spad, bandwidth: 16 B/cycle}\n"
    "units:\n  mxu: {kind: matrix, rows: \"${n}\", cols: 8, dtypes: {int8: int32}}\n"
    "  vec: {kind: vector, lanes: 8, ops: any, dtypes: [fp32, int32, int8]}\n";

}  // namespace

std::string source_text(const std::string& path) {
  std::ifstream in(std::string(ASSAY_SOURCE_DIR) + "/" + path, std::ios::binary);
  ASSAY_CHECK(static_cast<bool>(in), "no file " + path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<std::string> source_texts(const std::string& folder, const std::string& ending) {
  std::vector<std::string> names, out;
  for (const auto& e : std::filesystem::directory_iterator(std::string(ASSAY_SOURCE_DIR) + "/" + folder)) {
    if (e.path().string().ends_with(ending)) names.push_back(folder + "/" + e.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  for (const std::string& n : names) out.push_back(source_text(n));
  return out;
}

std::string put_file(const std::string& folder, const std::string& name, const std::string& content) {
  const std::string path = folder + "/" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

FuzzTarget machine_target(const std::string&) {
  FuzzTarget t{.name = "machine",
               .form = InputForm::yaml,
               .seeds = source_texts("configs/machines", ".yaml"),
               .read = read_machine};
  t.seeds.emplace_back(kMachine);
  t.seeds.push_back(source_text("configs/micro/machine.yaml"));
  return t;
}

FuzzTarget sweep_target(const std::string& scratch) {
  put_file(scratch, "m.yaml", kMachine);
  put_file(scratch, "w.yaml", "workload: w\nfamily: bert\nparams: {seq: 8, layers: 1}\n");
  const std::vector<std::string> seeds{
      "sweep: s\nworkloads: [w.yaml]\nmachines: [m.yaml]\ncheck: none\n",
      "sweep: s\nobjective: energy\nprecision: int8\nstrategy: random\nsamples: 12\nseed: 3\n"
      "workloads:\n- {workload: w.yaml, weight: 2}\n- {workload: w.yaml, weight: 0.5}\n"
      "constraints: {area_mm2: 600, average_w: 90}\n"
      "axes: {params.n: [4, 8]}\n"
      "machines:\n- machine: m.yaml\n  axes:\n    memories.spad.capacity: {powers_of_two: [64 KiB, 512 KiB]}\n"
      "    units.vec.lanes: {from: 8, to: 64, step: 8}\n- m.yaml\n",
      "sweep: s\ncheck: twin\ncycle_points: 8\ndetail_points: 3\nworkloads: [w.yaml]\nmachines:\n"
      "- machine: m.yaml\n  axes: {units.mxu.cols: [8, 16], memories.dram.bandwidth: [16 GB/s, 32 GB/s]}\n"};
  return {.name = "sweep", .form = InputForm::yaml, .seeds = seeds, .read = [scratch](const std::string& text) {
            read_sweep(put_file(scratch, "fuzz.yaml", text));
          }};
}

FuzzTarget workload_target(const std::string& scratch) {
  put_file(scratch, "x.onnx", source_text("configs/micro/two_layers.onnx"));
  put_file(scratch, "w.yaml", "workload: w\nfamily: bert\nparams: {seq: 8, layers: 1}\n");
  put_file(scratch, "u.yaml", "workload: u\nonnx: x.onnx\n");
  const std::vector<std::string> seeds{
      "workload: w\nonnx: x.onnx\nweights: seeded\n",
      "workload: b\nfamily: bert\ndtype: fp16\n"
      "params: {batch: 1, seq: 8, layers: 2, hidden: 32, heads: 2, ffn: 64, vocab: 40}\n"
      "twin: {params: {seq: 4, layers: 1}}\n",
      "workload: l\nfamily: llama\ndtype: fp16\nweights: absent\n"
      "params: {layers: 2, hidden: 64, heads: 4, kv_heads: 4, vocab: 100}\n"
      "phases:\n- {name: prefill, params: {phase: prefill, seq: 16}}\n"
      "- {name: decode, repeat: 8, params: {phase: decode, context: 32}}\n",
      "workload: g\nfamily: gpt2\nparams: {layers: 1, seq: 4}\nlatency_limit: 5 ms\n",
      "workload: v\nfamily: vit\nparams: {layers: 1}\n",
      "workload: r\nfamily: resnet\nparams: {depth: 18, image: 32, classes: 10}\n",
      "workload: m\nfamily: mobilenet_v2\nparams: {image: 32}\n",
      "workload: v\nfamily: vgg\nparams: {image: 32}\n",
      "suite:\n- {workload: w.yaml, weight: 2}\n- {workload: u.yaml}\n"};
  return {.name = "workload", .form = InputForm::yaml, .seeds = seeds, .read = [scratch](const std::string& text) {
            read_workload(put_file(scratch, "fuzz.yaml", text));
          }};
}

FuzzTarget expression_target(const std::string&) {
  return {.name = "expression",
          .form = InputForm::text,
          .seeds = {"128",
                    "-3",
                    "0.5",
                    "1e9",
                    "128 KiB",
                    "176 GB/s",
                    "64 B/cycle",
                    "800 MHz",
                    "45 ns",
                    "true",
                    "false",
                    "dram",
                    "${rows}",
                    "${kind}",
                    "${flag}",
                    "${rows * 2} KiB",
                    "${256 MiB - cap}",
                    "${min(rows, 3, 4) + max(1, 2)}",
                    "${ceil(rows / 3) * floor(2.5)}",
                    "${log2(rows)}",
                    "${(cap + 1 KiB) / 2}",
                    "${-rows + -(-3)}",
                    "${1 / rows}",
                    "${cap / cap}",
                    "${cap * 3 - cap}",
                    "${1 TiB/s}",
                    "3 pJ",
                    "1.5 pJ/bit",
                    "12 mm2",
                    "0.85 V"},
          .read = read_expression};
}

}  // namespace assay
