#include "tests/cli/bad_input.h"
#include "tests/workloads/onnx_models.h"

namespace assay {
namespace {

std::string repeated(const std::string& s, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += s;
  return out;
}

/// Nine lists of nine times the one before: 9^9 values when unfolded.
std::string alias_bomb() {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + repeated(", " + before, 8) + "]\n";
  }
  return text;
}

std::string all_bytes() {
  std::string out;
  for (int i = 1; i < 256; ++i) out += static_cast<char>(i);
  return out;
}

std::string with_crlf(std::string text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return out;
}

/// `assay check m.yaml` on one file.
BadInput machine(const std::string& name, const std::string& text, std::vector<std::string> says) {
  return {.name = name, .files = {{"m.yaml", text}}, .args = {"check", "m.yaml"}, .says = std::move(says)};
}

}  // namespace

std::string machine_with(const std::string& from, const std::string& to) {
  static const std::string text = R"(machine: small
process: {node: 45 nm}
clocks: {core: 1 GHz}
memories:
  dram: {kind: dram, capacity: 1 MiB, bandwidth: 16 B/cycle}
  spad: {kind: scratchpad, capacity: 4 KiB, bandwidth: 64 B/cycle}
links:
  dma: {kind: dma, far: dram, near: spad, bandwidth: 16 B/cycle}
units:
  mxu: {kind: matrix, rows: 4, cols: 4, dtypes: {fp32: fp32}}
  vpu: {kind: vector, lanes: 4, ops: any, dtypes: {fp32: 1}}
)";
  return replaced(text, from, to);
}

std::vector<BadInput> bad_machines() {
  const std::string good = machine_with();
  std::vector<BadInput> rows{
      {.name = "no such file", .files = {}, .args = {"check", "m.yaml"}, .says = {"error: m.yaml: no such file"}},
      {.name = "a path of nothing",
       .files = {},
       .args = {"check", ""},
       .says = {"machine: expected a value, found nothing"}},
      {.name = "a folder",
       .files = {{"m.yaml/", ""}},
       .args = {"check", "m.yaml"},
       .says = {"m.yaml: not a regular file"}},
      {.name = "a file that may not be read",
       .files = {{"m.yaml", good}},
       .args = {"check", "m.yaml"},
       .says = {"m.yaml: the file can't be read"},
       .powerless = true,
       .closed = "m.yaml"},
      {.name = "an ONNX model for a machine",
       .files = {{"x.onnx", good_model()}},
       .args = {"check", "x.onnx"},
       .says = {"x.onnx: an ONNX model stands where a YAML file is expected"}},
      {.name = "an override with a leading zero",
       .files = {{"m.yaml", good}},
       .args = {"check", "m.yaml", "--set", "units.mxu.rows=010"},
       .says = {"units.mxu.rows", "'010' has a leading zero"}},
      {.name = "an override of nothing",
       .files = {{"m.yaml", good}},
       .args = {"check", "m.yaml", "--set", "units.mxu.rovs=8"},
       .says = {"units.mxu.rovs", "unknown key", "did you mean 'rows'?"}},
      machine("an empty file", "", {"m.yaml:1:1: the file is empty"}),
      machine("blanks and comments only", "\n# nothing\n\n", {"m.yaml:1:1: the file is empty"}),
      machine("binary junk", all_bytes(), {"m.yaml:1:1: not a text file: found control character 0x01"}),
      machine("another encoding", "machine: caf\xe9\n", {"m.yaml:1:13: not UTF-8 text: found byte 0xe9"}),
      machine("a list", "- a\n- b\n", {"m.yaml:1:1: expected a map of keys and values, found a list"}),
      machine("a workload for a machine", "workload: w\nonnx: x.onnx\n",
              {"m.yaml:1:1: expected a machine description, found a workload"}),
      machine("a sweep for a machine", sweep_with(), {"expected a machine description, found a sweep"}),
      machine("an unknown key", machine_with("capacity: 4 KiB", "capcity: 4 KiB"),
              {"m.yaml:6:28: memories.spad.capcity: unknown key 'capcity'", "did you mean 'capacity'?"}),
      machine("a duplicate key", machine_with("clocks: {core: 1 GHz}", "clocks: {core: 1 GHz}\nclocks: {core: 2 GHz}"),
              {"m.yaml:4:1: clocks: duplicate key; it stands at line 3 already"}),
      machine("a leading zero", machine_with("rows: 4", "rows: 010"),
              {"m.yaml:10:29: units.mxu.rows: expected a whole number: '010' has a leading zero"}),
      machine("a negative size", machine_with("rows: 4", "rows: -4"),
              {"m.yaml:10:29: units.mxu.rows: expected a value 1 … 65536, found '-4'"}),
      machine("a negative capacity", machine_with("4 KiB", "-4 KiB"),
              {"m.yaml:6:38: memories.spad.capacity: expected a value >= 1 B"}),
      machine("an absurd size", machine_with("rows: 4", "rows: 99999999999999999999"),
              {"units.mxu.rows: expected a value 1 … 65536, found '99999999999999999999'"}),
      machine("an absurd capacity", machine_with("4 KiB", "1e11 GiB"),
              {"memories.spad.capacity: expected a value >= 1 B that can be counted in 64 bits"}),
      machine("text for a number", machine_with("rows: 4", "rows: four"),
              {"m.yaml:10:29: units.mxu.rows: expected a whole number, found 'four'"}),
      machine("a map for a number", machine_with("rows: 4", "rows: {a: 4}"), {"m.yaml:10:29: units.mxu.rows"}),
      machine("a number without its unit", machine_with("4 KiB", "4096"), {"memories.spad.capacity", "without a unit"}),
      machine("zero bandwidth", machine_with("64 B/cycle", "0 B/cycle"),
              {"m.yaml:6:56: memories.spad.bandwidth: expected a value >= 1 B/s, found '0 B/cycle'"}),
      machine("no compute unit", good.substr(0, good.find("units:")), {"m.yaml:1:1: the machine has no compute unit"}),
      machine("no path from DRAM", machine_with("kind: dma, far", "kind: bus, far"),
              {"m.yaml:6:9: memories.spad: no dma link leads here from DRAM"}),
      machine("no DRAM",
              machine_with("  dram: {kind: dram, capacity: 1 MiB, bandwidth: 16 B/cycle}\n",
                           "  dram: {kind: scratchpad, capacity: 1 MiB, bandwidth: 16 B/cycle}\n"),
              {"memories: the machine has no memory of kind dram"}),
      machine("lists in lists", "machine: " + repeated("[", 100'000), {"m.yaml:1:11: this '[' is never closed"}),
      machine("maps in maps", "machine: " + repeated("{a: ", 5'000), {"m.yaml:1:262: nested deeper than 64 levels"}),
      machine("block maps in block maps",
              [] {
                std::string text;
                for (int i = 0; i < 300; ++i) text += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
                return text;
              }(),
              {"nested deeper than 64 levels"}),
      machine("an alias of what holds it", "machine: m\nparams: &a {x: *a}\n",
              {"m.yaml:2:16: this alias refers to a node that contains it"}),
      machine("an alias of nothing", "machine: *a\n", {"m.yaml:1:", "YAML syntax"}),
      machine("an alias bomb", alias_bomb(), {"more than 100000 values (with aliases unfolded)"}),
      machine("a deep expression", machine_with("rows: 4", "rows: \"${" + repeated("(", 100'000) + "1\""),
              {"m.yaml:10:", "units.mxu.rows"}),
      machine("parameters in a circle", "params: {a: \"${b}\", b: \"${a}\"}\n" + good, {"params"}),
      machine("a base that is the file itself", "extends: m.yaml\n" + good,
              {"m.yaml:1:10: extends: the descriptions extend each other in a cycle"}),
      machine("a base that is no machine", "extends: w.yaml\n" + good, {"no file 'w.yaml'"}),
      machine("two documents", good + "---\n" + good, {"m.yaml:12:1: a second YAML document starts here"}),
      machine("cut off in the middle", good.substr(0, good.size() - 20), {"m.yaml:1", "YAML syntax"}),
      machine("larger than a description may be", "#" + repeated("x", 5 << 20) + "\n" + good,
              {"bytes long; a description may have 4194304"}),
      machine("an error in a file with CRLF line ends", with_crlf(machine_with("capacity: 4 KiB", "capcity: 4 KiB")),
              {"m.yaml:6:28: memories.spad.capcity", "bandwidth: 64 B/cycle}\n", "did you mean 'capacity'?"}),
  };
  rows.push_back({.name = "a base of another kind",
                  .files = {{"m.yaml", "extends: w.yaml\n" + good}, {"w.yaml", "workload: w\n"}},
                  .args = {"check", "m.yaml"},
                  .says = {"w.yaml:1:1: expected a machine description, found a workload"}});
  return rows;
}

}  // namespace assay
