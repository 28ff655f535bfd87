#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iostream>

#include "core/base/check.h"
#include "core/base/error.h"
#include "reports/cli/commands.h"

namespace {

using namespace assay;

void add_machine(CLI::App* app, MachineArgs& a) {
  app->add_option("-m,--machine", a.machine, "Machine description (YAML)")->required();
  app->add_option("--set", a.set, "Replace a value of the description: params.rows=64 (repeatable)");
}

void add_workload(CLI::App* app, WorkloadArgs& a) {
  app->add_option("-w,--workload", a.workload, "Workload (.yaml) or model (.onnx)")->required();
  app->add_option("--bind", a.bind, "Bind a symbolic dimension: batch=1 (repeatable)");
  app->add_option("--shape", a.shape, "Set an input's shape: input=1x3x224x224 (repeatable)");
  app->add_option("--param", a.param, "Set a parameter of a model family: layers=2 (repeatable)");
  app->add_option("--weights", a.weights, "as_in_file, seeded (He-scaled, fixed seed) or absent (shapes only)");
  app->add_option("--precision", a.precision, "native, fp16, bf16 or int8 (a float model is quantised by a pass)");
}

void add_twin(CLI::App* app, WorkloadArgs& a) { app->add_flag("--twin", a.twin, "Use the workload's reduced twin"); }

void add_compiler(CLI::App* app, CompilerArgs& a) {
  app->add_option("--disable-pass", a.disable_pass, "Leave out a graph pass (repeatable); see `assay list passes`");
  app->add_option("--dump-after", a.dump_after, "Write the graph after a pass, or after `all`");
  app->add_option("--dump-dir", a.dump_dir, "Folder for --dump-after (default: the working folder)");
  app->add_flag("--check-passes", a.check_passes, "Execute the graph before and after every pass and compare");
  app->add_flag("--no-fusion", a.no_fusion, "Do not fuse elementwise epilogues");
  app->add_flag("--no-residency", a.no_residency, "Send every intermediate to DRAM");
  app->add_flag("--no-multicast", a.no_multicast, "Every core loads its own tiles");
  app->add_flag("--no-prefetch", a.no_prefetch, "Do not fill a kernel's tiles before the one before ends");
}

/// Of `map`, which then needs neither a machine (the file may have a hierarchy) nor a workload.
void add_nest(CLI::App* app, NestArgs& a) {
  app->get_option("--machine")->required(false);
  app->get_option("--workload")->required(false);
  app->add_option("--mapping", a.mapping, "Evaluate the mapping in this file (YAML) instead");
  app->add_option("--einsum", a.einsum, "What it maps, instead of the file's: \"Z[m,n] += A[m,k] * B[k,n]\"");
  app->add_option("--extents", a.extents, "Extents of dimensions, over the file's: m=64,n=32");
  app->add_option("--convention", a.convention, "How accesses are counted: assay, timeloop or accelforge");
}

/// An option with an empty value is a shell variable that was not set; it is not "no option".
void refuse_empty_values(CLI::App& app) {
  const auto problem = [](const std::string& s) {
    return std::string(s.empty() ? "expected a value, found nothing" : "");
  };
  for (CLI::App* c : app.get_subcommands([](CLI::App*) { return true; })) {
    for (CLI::Option* o : c->get_options())
      if (o->get_items_expected_max() > 0) o->check(CLI::Validator(problem, ""));
  }
}

/// A file that is opened gets the lowest free number: with stdout closed, the store would be written into by what
/// goes to stdout. What is closed is taken, in the direction in which it can't be used: errors stay errors.
void take_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) return;
  }
}

/// CLI11 takes a misspelt command for a stray argument and says that one is missing.
void refuse_unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* c : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(c->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return;
  std::string list;
  for (const std::string& n : names) list += (list.empty() ? "" : ", ") + n;
  throw InputError(Diagnostic{
      {}, argv[1], "there is no such command; there are " + list, nearest_name(argv[1], names).value_or("")});
}

int dispatch(int argc, char** argv) {
  CLI::App app{
      "Assay: compiles, proves and times AI models on accelerator descriptions, and ranks the designs.\n"
      "Exit codes: 0 ok, 2 bad input, 3 infeasible, 4 mismatch, 70 internal error, 130 interrupted."};
  app.require_subcommand(1);
  app.failure_message([](const CLI::App*, const CLI::Error& e) {
    return std::string("error: ") + e.what() + "\n    `assay --help` and `assay <command> --help` say what there is\n";
  });
  app.set_version_flag("--version", "assay 0.1.0");
  int code = 0;

  CheckArgs check;
  auto* c = app.add_subcommand("check", "Check a machine description; --peak prints what it implies");
  c->add_option("machine", check.machine.machine, "Machine description (YAML)")->required();
  c->add_option("--set", check.machine.set, "Replace a value: params.rows=64 (repeatable)");
  auto* peak =
      c->add_flag("--peak", check.peak, "Peak rates, bytes per cycle and buffer totals, against quoted figures");
  auto* json = c->add_flag("--json", check.json, "JSON on stdout");
  c->add_flag("--print", check.print, "The description with every value resolved")->excludes(peak)->excludes(json);
  c->callback([&] { code = check_command(check); });

  CompileArgs compile;
  c = app.add_subcommand("compile", "Compile a model for a machine; prints the program");
  add_machine(c, compile.machine);
  add_workload(c, compile.workload);
  add_twin(c, compile.workload);
  add_compiler(c, compile.compiler);
  c->add_option("-o,--out", compile.out, "Write the program to a file");
  c->add_flag("--json", compile.json, "A summary as JSON on stdout instead of the program");
  c->callback([&] { code = compile_command(compile); });

  RunArgs run;
  c = app.add_subcommand("run", "Compile, check and time a model on one machine");
  add_machine(c, run.machine);
  add_workload(c, run.workload);
  add_compiler(c, run.compiler);
  c->add_option("--check", run.check, "none, static, twin (execute the reduced twin) or full");
  c->add_option("-o,--out", run.out, "Folder for report.html, result.json and traces");
  c->add_flag("--no-cycle", run.no_cycle, "Analytical model only");
  c->add_flag("--json", run.json, "JSON on stdout");
  c->callback([&] { code = run_command(run); });

  MapArgs map;
  c = app.add_subcommand("map", "Show the mapping of every layer, with its bound; --mapping: evaluate a given one");
  add_machine(c, map.machine);
  add_workload(c, map.workload);
  add_twin(c, map.workload);
  c->add_option("--layer", map.layer, "Only layers whose name contains this");
  c->add_flag("--json", map.json, "JSON on stdout");
  NestArgs nest;
  add_nest(c, nest);
  c->callback([&] { code = map_or_nest_command(map, nest); });

  SweepArgs sweep;
  c = app.add_subcommand("sweep", "Evaluate many designs, rank them, write the report; resumes where it was stopped");
  c->add_option("sweep", sweep.sweep, "Sweep file (YAML)")->required();
  c->add_option("-o,--out", sweep.out, "Folder for the store and the report (default: out/<name>)");
  c->add_option("--check", sweep.check, "Override the file's level: none, static, twin or full");
  c->add_option("-j,--threads", sweep.threads, "Threads (default: one per core)")->check(CLI::Range(1, 1024));
  c->add_flag("--fresh", sweep.fresh, "Forget stored results first");
  c->add_flag("--json", sweep.json, "JSON on stdout");
  c->add_flag("-q,--quiet", sweep.quiet, "No progress on stderr");
  c->callback([&] { code = sweep_command(sweep); });

  ReportArgs report;
  c = app.add_subcommand("report", "Write a report again from stored results");
  c->add_option("result", report.result, "result.json, or the folder of a sweep")->required();
  c->add_option("-f,--format", report.format, "html, markdown, text, csv, layers-csv or json");
  c->add_option("-o,--out", report.out, "File (default: stdout)");
  c->callback([&] { code = report_command(report); });

  DiffArgs diff;
  c = app.add_subcommand("diff", "Compare two sweeps, runs or machine descriptions");
  c->add_option("before", diff.before, "result.json, a sweep's folder, or a description (YAML)")->required();
  c->add_option("after", diff.after, "The same kind")->required();
  c->add_option("-w,--workload", diff.workload, "With two descriptions: run this on both, layer by layer");
  c->add_option("-f,--format", diff.format, "text, markdown or html");
  c->callback([&] { code = diff_command(diff); });

  c = app.add_subcommand("schema", "Print the JSON Schema of machine descriptions");
  c->callback([&] { code = schema_command(); });

  std::string what;
  bool list_json = false;
  c = app.add_subcommand("list", "List operations, passes or strategies");
  c->add_option("what", what, "operations, passes or strategies")->required();
  c->add_flag("--json", list_json, "JSON on stdout");
  c->callback([&] { code = list_command(what, list_json); });

  refuse_empty_values(app);
  refuse_unknown_command(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int shown = app.exit(e);
    if (shown == 0 && !std::cout.flush()) throw InputError("stdout", "can't be written");
    return shown == 0 ? kOk : kBadInput;
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  take_closed_streams();
  try {
    return dispatch(argc, argv);
  } catch (const InputError& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return kBadInput;
  } catch (const Infeasible& e) {
    std::fprintf(stderr, "infeasible: %s\n", e.what());
    return kInfeasible;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "error: not enough memory\n");
    return kInternal;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "internal error: %s\nPlease report this with the command and its input files.\n", e.what());
    return kInternal;
  }
}
