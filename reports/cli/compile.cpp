#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/isa/text.h"
#include "core/isa/verify.h"
#include "core/spec/plain_values.h"
#include "reports/cli/support.h"

namespace assay {
namespace {

/// Phases of a workload at the asked precision, with the compiled form of each.
template <class F>
void for_each_phase(const MachineArgs& m, const WorkloadArgs& w, const CompileOptions& options, F&& f) {
  const Machine machine = load(m);
  MappingCache cache;
  for (const Workload& workload : load_workloads(w.workload, workload_options(w))) {
    for (const WorkloadPhase& p : workload.phases) {
      const PreparedPhase prepared(workload.name, p, workload.precision, 1);
      const PreparedModel& model = w.twin ? prepared.twin() : prepared.full();
      CompiledModel c = compile(model.graph, machine, options, cache);
      f(machine, prepared, c);
    }
  }
}

/// One program: the file asked for. Several: `p.txt` becomes `p-llama-prefill.txt` and so on.
void write_programs(const std::string& out, const std::vector<std::pair<std::string, std::string>>& programs) {
  if (programs.size() == 1) return write_file(out, programs.front().second);
  const std::filesystem::path path(out);
  for (const auto& [name, text] : programs) {
    std::filesystem::path file = path.parent_path() / path.stem();
    file += "-" + name + path.extension().string();
    write_file(file.string(), text);
    std::fprintf(stderr, "program: %s\n", file.c_str());
  }
}

}  // namespace

WorkloadOptions workload_options(const WorkloadArgs& a) {
  WorkloadOptions o;
  for (const auto& [name, value] : assignments("--bind", a.bind)) {
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), extent);
    if (error != std::errc() || end != value.data() + value.size() || has_leading_zero(value))
      throw InputError("--bind", fmt::format("expected a whole number for '{}', found '{}'", name, value));
    o.bind[name] = extent;
  }
  for (const auto& [name, value] : assignments("--shape", a.shape)) {
    const auto shape = parse_shape(value);
    if (!shape) throw InputError("--shape", fmt::format("expected 1x3x224x224 for '{}', found '{}'", name, value));
    o.shapes[name] = *shape;
  }
  for (const auto& [name, value] : assignments("--param", a.param)) o.params[name] = value;
  if (!a.weights.empty()) {
    o.weights = parse_weight_mode(a.weights);
    if (!o.weights)
      throw InputError("--weights", fmt::format("expected as_in_file, seeded or absent, found '{}'", a.weights));
  }
  if (!a.precision.empty()) o.precision = a.precision;
  return o;
}

CompileOptions compile_options(const CompilerArgs& a) {
  if (!a.dump_dir.empty() && a.dump_after.empty())
    throw InputError("--dump-dir", "says where --dump-after writes, which is not given");
  if (!a.dump_after.empty()) check_folder(a.dump_dir.empty() ? "." : a.dump_dir);
  CompileOptions o;
  o.passes.disabled = a.disable_pass;
  o.passes.dump_after = a.dump_after;
  o.passes.dump_dir = a.dump_dir.empty() ? "." : a.dump_dir;
  o.passes.check_values = a.check_passes;
  o.fuse_epilogues = !a.no_fusion;
  o.residency = !a.no_residency;
  o.weight_prefetch = !a.no_prefetch;
  o.multicast = !a.no_multicast;
  return o;
}

int compile_command(const CompileArgs& a) {
  int code = kOk;
  std::vector<std::pair<std::string, std::string>> programs;
  if (!a.out.empty()) check_target(a.out);
  nlohmann::ordered_json j;
  j["schema_version"] = 1;
  for_each_phase(
      a.machine, a.workload, compile_options(a.compiler),
      [&](const Machine& machine, const PreparedPhase& phase, const CompiledModel& c) {
        const VerifyResult v = verify_program(c.program, machine);
        const std::string text = print_program(c.program);
        if (a.json) {
          nlohmann::ordered_json p;
          p["workload"] = phase.workload();
          p["phase"] = phase.phase();
          p["kernels"] = c.kernels.size();
          p["verified"] = v.ok();
          for (const auto& [op, n] : c.free_ops) p["free_ops"][op] = n;
          for (const auto& [op, n] : c.host_ops) p["host_ops"][op] = n;
          for (const std::string& r : c.remarks) p["remarks"].push_back(r);
          j["phases"].push_back(p);
        } else if (a.out.empty()) {
          print_out(text);
        }
        if (!a.out.empty()) {
          programs.emplace_back(
              phase.phase() == phase.workload() ? phase.workload() : phase.workload() + "-" + phase.phase(), text);
        }
        for (const Violation& x : v.violations)
          std::fprintf(stderr, "%s\n", fmt::format("{}: {}: {}", x.rule, x.where, x.message).c_str());
        std::fprintf(stderr, "%s\n",
                     fmt::format("{}: {} kernels, {} buffers, {} semaphores; {}", phase.workload(), c.kernels.size(),
                                 c.program.buffers.size(), c.program.semaphores.size(),
                                 v.ok() ? fmt::format("verified over {} command instances", v.instances)
                                        : "REJECTED by the verifier")
                         .c_str());
        for (const auto& [op, n] : c.free_ops)
          std::fprintf(stderr, "  free: %s x %lld (a view of the same bytes)\n", op.c_str(), static_cast<long long>(n));
        for (const auto& [op, n] : c.host_ops)
          std::fprintf(stderr, "  host: %s x %lld\n", op.c_str(), static_cast<long long>(n));
        if (!v.ok()) code = kMismatch;
      });
  if (!programs.empty()) write_programs(a.out, programs);
  if (a.json) print_out(j.dump(1) + "\n");
  return code;
}

int map_command(const MapArgs& a) {
  nlohmann::ordered_json j;
  j["schema_version"] = 1;
  bool any = false;
  for_each_phase(a.machine, a.workload, {}, [&](const Machine& machine, const PreparedPhase&, const CompiledModel& c) {
    for (std::size_t i = 0; i < c.kernels.size(); ++i) {
      const TrailEntry& t = c.program.trail[i];
      if (!a.layer.empty() && t.group.find(a.layer) == std::string::npos) continue;
      any = true;
      const CompiledKernel& k = c.kernels[i];
      const double us = 1e6 / static_cast<double>(machine.clocks[0].hz);
      const double gap = k.lower_bound > 0 ? k.cost.cycles / k.lower_bound - 1 : 0;
      if (a.json) {
        j["kernels"].push_back({{"name", t.group},
                                {"kind", t.layer_kind},
                                {"mapping", k.mapping},
                                {"cycles", k.cost.cycles},
                                {"lower_bound_cycles", k.lower_bound},
                                {"matrix_cycles", k.cost.matrix},
                                {"vector_cycles", k.cost.vector},
                                {"load_cycles", k.cost.load},
                                {"store_cycles", k.cost.store},
                                {"shared_cycles", k.cost.shared},
                                {"bytes", k.cost.bytes}});
      } else {
        print_out(
            fmt::format("{} ({}): {:.1f} us, gap to the bound {:.1f} %\n  {}\n  matrix {:.0f}, vector {:.0f}, load "
                        "{:.0f}, store {:.0f}, shared {:.0f} cycles; {:.0f} bytes moved\n",
                        t.group, t.layer_kind, k.cost.cycles * us, gap * 100, k.mapping, k.cost.matrix, k.cost.vector,
                        k.cost.load, k.cost.store, k.cost.shared, k.cost.bytes));
      }
    }
  });
  if (!any) throw InputError("--layer", fmt::format("no kernel's name contains '{}'", a.layer));
  if (a.json) print_out(j.dump(1) + "\n");
  return kOk;
}

}  // namespace assay
