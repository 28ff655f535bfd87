#include "tests/cli/bad_input.h"

namespace assay {
namespace {

using Args = std::vector<std::string>;

/// A description, another, a model, a sweep and things that are none of these.
BadInput option(const std::string& name, Args args, std::vector<std::string> says) {
  return {.name = name,
          .files = {{"m.yaml", machine_with()},
                    {"n.yaml", machine_with()},
                    {"x.onnx", good_model()},
                    {"w.yaml", "workload: w\nonnx: x.onnx\n"},
                    {"s.yaml", sweep_with()},
                    {"empty", ""},
                    {"folder/", ""},
                    {"text", "no result\n"}},
          .args = std::move(args),
          .says = std::move(says)};
}

BadInput run(const std::string& name, const Args& more, std::vector<std::string> says) {
  Args args{"run", "-m", "m.yaml", "-w", "x.onnx"};
  args.insert(args.end(), more.begin(), more.end());
  return option(name, args, std::move(says));
}

}  // namespace

std::vector<BadInput> bad_options() {
  std::vector<BadInput> rows{
      option("nothing", {}, {"error: A subcommand is required", "assay --help"}),
      option("a misspelt command", {"chek", "m.yaml"}, {"chek: there is no such command", "did you mean 'check'?"}),
      option("an unknown option", {"check", "m.yaml", "--bogus"}, {"error: The following argument was not expected"}),
      option("one machine too many", {"check", "m.yaml", "n.yaml"}, {"error: The following argument was not expected"}),
      option("no machine", {"check"}, {"error: machine is required"}),
      option("an unknown list", {"list", "passe"},
             {"list: expected operations, passes or strategies, found 'passe'", "did you mean 'passes'?"}),
      option("a whole description and its peak", {"check", "m.yaml", "--print", "--peak"}, {"--peak excludes --print"}),
      option("a whole description in JSON", {"check", "m.yaml", "--print", "--json"}, {"--json excludes --print"}),

      run("two machines", {"-m", "n.yaml"}, {"error: --machine: At Most 1 required but received 2"}),
      run("an empty output folder", {"-o", ""}, {"error: --out: expected a value, found nothing"}),
      run("an empty precision", {"--precision", ""}, {"error: --precision: expected a value, found nothing"}),
      run("a value set twice", {"--set", "params.n=4", "--set", "params.n=8"}, {"--set: 'params.n' is given twice"}),
      run("no value set", {"--set", "params.n"}, {"--set: expected name=value, found 'params.n'"}),
      run("a symbol bound twice", {"--bind", "n=1", "--bind", "n=2"}, {"--bind: 'n' is given twice"}),
      run("a shape given twice", {"--shape", "x=4", "--shape", "x=8"}, {"--shape: 'x' is given twice"}),
      run("a parameter given twice", {"--param", "a=4", "--param", "a=8"}, {"--param: 'a' is given twice"}),
      run("an unknown check", {"--check", "ful"},
          {"--check: expected none, static, twin or full, found 'ful'", "did you mean 'full'?"}),
      run("a folder for dumps without a dump", {"--dump-dir", "folder"},
          {"--dump-dir: says where --dump-after writes"}),
      run("dumps into a file", {"--dump-after", "all", "--dump-dir", "empty/d"}, {"is not a folder"}),

      option("no threads", {"sweep", "s.yaml", "-j", "0"}, {"error: --threads: Value 0 not in range 1 to 1024"}),
      option("threads twice", {"sweep", "s.yaml", "-j", "1", "-j", "2"}, {"error: --threads: At Most 1 required"}),
      option("an unknown check of a sweep", {"sweep", "s.yaml", "--check", "all"}, {"--check: expected none, static"}),
      option("an empty output folder of a sweep", {"sweep", "s.yaml", "-o", ""}, {"--out: expected a value"}),

      option("a report of an empty file", {"report", "empty"}, {"empty: the file is empty; expected a result"}),
      option("a report of a text", {"report", "text"}, {"text: result: not JSON, or cut off"}),
      option("a report of a folder without one", {"report", "folder"}, {"folder/result.json: no such file"}),
      option("a report of a device", {"report", "/dev/zero"}, {"/dev/zero: not a regular file"}),
      option("a report in no format", {"report", "text", "-f", "htm"},
             {"--format: expected html, markdown, text, csv, layers-csv or json, found 'htm'", "did you mean 'html'?"}),
      option("a report into a folder", {"report", "text", "-o", "folder"},
             {"folder: can't be written: it is a folder"}),
      option("a program into a folder that is not there",
             {"compile", "-m", "m.yaml", "-w", "x.onnx", "-o", "gone/p.txt"}, {"there is no folder 'gone'"}),

      option("a description and a result", {"diff", "m.yaml", "text"}, {"m.yaml and text: one is a description"}),
      option("a workload for two results", {"diff", "text", "text", "-w", "x.onnx"},
             {"--workload: goes with two machine"}),
      option("two descriptions in HTML", {"diff", "m.yaml", "n.yaml", "-f", "html"},
             {"--format: what changed between"}),
      option("two descriptions in no format", {"diff", "m.yaml", "n.yaml", "-f", "pdf"},
             {"--format: expected text, markdown or html, found 'pdf'"}),
  };
  return rows;
}

}  // namespace assay
