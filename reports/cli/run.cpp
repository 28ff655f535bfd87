#include <fmt/format.h>

#include "core/base/error.h"
#include "explorers/result_json.h"
#include "reports/cli/support.h"
#include "reports/text.h"
#include "reports/trace.h"

namespace assay {

int run_command(const RunArgs& a) {
  if (!a.out.empty()) check_folder(a.out);
  const Machine machine = load(a.machine);
  std::vector<WeightedPhase> phases;
  for (const Workload& w : load_workloads(a.workload.workload, workload_options(a.workload))) {
    for (const WorkloadPhase& p : w.phases)
      phases.push_back({std::make_shared<PreparedPhase>(w.name, p, w.precision, 1), w.weight});
  }
  const std::vector<std::string> levels{"none", "static", "twin", "full"};
  expect_one_of("--check", a.check, levels);
  PointOptions o;
  o.compile = compile_options(a.compiler);
  o.cycle = !a.no_cycle;
  o.recompile_gains = o.ablate = true;
  o.check = static_cast<CheckLevel>(std::find(levels.begin(), levels.end(), a.check) - levels.begin());
  MappingCache cache;
  PointResult r = evaluate_point(machine, phases, o, cache);
  for (const std::string& s : a.machine.set) r.design += " " + s;
  if (r.status != "ok") {
    std::fprintf(stderr, "%s: %s\n", r.status.c_str(), r.reason.c_str());
    return r.status == "mismatch" ? kMismatch : r.status == "failed" ? kBadInput : kInfeasible;
  }
  const SweepResult s = as_sweep({r}, a.workload.workload);
  if (!a.out.empty()) {
    write_report(s, a.out);
    for (const WorkloadResult& w : r.workloads)
      write_file(fmt::format("{}/trace-{}{}.json", a.out, w.workload, w.phase == w.workload ? "" : "-" + w.phase),
                 chrome_trace(w));
    std::fprintf(stderr, "report: %s/report.html\n", a.out.c_str());
  }
  if (a.json) {
    print_out(to_json(r, 1) + "\n");
    return kOk;
  }
  print_out(ranking_text(s));
  for (const WorkloadResult& w : r.workloads) {
    print_out(fmt::format(
        "{} {}: {:.4g} ms ({}), lower bound {:.4g} ms, utilisation {:.1f} %, bound by {}, {:.4g} mJ, check: {} {}\n",
        w.workload, w.phase, w.seconds * 1e3, w.cycle_seconds >= 0 ? "cycle model" : "analytical",
        w.lower_bound_seconds * 1e3, w.utilisation * 100, w.binding, w.energy_pj * 1e-9, w.check.level,
        w.check.passed ? "passed" : w.check.detail));
  }
  return kOk;
}

}  // namespace assay
