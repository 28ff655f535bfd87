#pragma once

#include <cstdint>
#include <string>
#include <vector>

// What each sub-command of the command line needs, as plain data (CLI11 is included in main.cpp only), and the
// functions that carry them out. Results go to stdout, messages to stderr. A command returns its exit code.

namespace assay {

inline constexpr int kOk = 0, kBadInput = 2, kInfeasible = 3, kMismatch = 4, kInternal = 70, kInterrupted = 130;

struct MachineArgs {
  std::string machine;           ///< description
  std::vector<std::string> set;  ///< `params.rows=64`
};

struct WorkloadArgs {
  std::string workload;            ///< .yaml or .onnx
  std::vector<std::string> bind;   ///< `batch=1`
  std::vector<std::string> shape;  ///< `input=1x3x224x224`
  std::vector<std::string> param;  ///< `layers=2`
  std::string weights, precision;
  bool twin = false;  ///< the reduced twin instead of the model
};

struct CompilerArgs {
  std::vector<std::string> disable_pass;
  std::string dump_after, dump_dir;  ///< folder: where the program is run if empty
  bool check_passes = false;
  bool no_fusion = false, no_residency = false, no_prefetch = false, no_multicast = false;
};

struct CheckArgs {
  MachineArgs machine;
  bool peak = false, print = false, json = false;
};
int check_command(const CheckArgs& a);

struct CompileArgs {
  MachineArgs machine;
  WorkloadArgs workload;
  CompilerArgs compiler;
  std::string out;  ///< program text; empty: stdout
  bool json = false;
};
int compile_command(const CompileArgs& a);

struct MapArgs {
  MachineArgs machine;
  WorkloadArgs workload;
  std::string layer;  ///< only kernels whose name contains this
  bool json = false;
};
int map_command(const MapArgs& a);

/// `map --mapping file.yaml`: one einsum under one given mapping, counted (core/loopnest).
struct NestArgs {
  std::string mapping;          ///< YAML, core/loopnest/nest_file.h
  std::string einsum, extents;  ///< instead of the file's; `n=1,k=64`
  std::string convention = "assay";
  MachineArgs machine;  ///< empty: the file's hierarchy
  bool json = false;
};
int nest_command(const NestArgs& a);
/// map_command without a mapping, nest_command with one. InputError where options of the two are mixed.
int map_or_nest_command(const MapArgs& map, const NestArgs& nest);

struct RunArgs {
  MachineArgs machine;
  WorkloadArgs workload;
  CompilerArgs compiler;
  std::string check = "twin";  ///< none static twin full
  std::string out;             ///< folder for report.html, result.json, trace.json; empty: none
  bool no_cycle = false, json = false;
};
int run_command(const RunArgs& a);

struct SweepArgs {
  std::string sweep;
  std::string out;    ///< folder; empty: out/<name>
  std::string check;  ///< overrides the file's
  int threads = 0;
  bool json = false, quiet = false, fresh = false;
};
int sweep_command(const SweepArgs& a);

struct ReportArgs {
  std::string result, out;
  std::string format = "html";  ///< html markdown text csv layers-csv json
};
int report_command(const ReportArgs& a);

struct DiffArgs {
  std::string before, after;
  std::string workload;         ///< with two descriptions: run both
  std::string format = "text";  ///< text markdown html
};
int diff_command(const DiffArgs& a);

int list_command(const std::string& what, bool json);
int schema_command();

}  // namespace assay
