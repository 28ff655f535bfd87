#include "core/passes/pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/passes/value_check.h"

namespace assay {
namespace {

void require_pass(const std::vector<Pass>& pipeline, const std::string& option, const std::string& name,
                  bool allow_all) {
  std::vector<std::string> names;
  for (const Pass& p : pipeline) {
    if (p.name == name) return;
    names.push_back(p.name);
  }
  if (allow_all) {
    if (name == "all") return;
    names.emplace_back("all");
  }
  throw InputError(
      Diagnostic{.pos = {},
                 .path = option,
                 .message = fmt::format("no pass is called '{}'; the passes are {}", name, fmt::join(names, ", ")),
                 .suggestion = nearest_name(name, names).value_or("")});
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw InputError(path, "can't be written");
}

void dump(const Graph& g, const PassOptions& options, std::size_t position, const std::string& pass) {
  std::error_code error;
  std::filesystem::create_directories(options.dump_dir, error);
  if (error) throw InputError(options.dump_dir, "the folder can't be made: " + error.message());
  const std::string stem = fmt::format("{}/{:02}-{}", options.dump_dir, position, pass);
  write_file(stem + ".txt", print_graph(g));
  write_file(stem + ".dot", graph_to_dot(g));
}

}  // namespace

void PassContext::remark(const std::string& pass, const std::string& node, const std::string& text) {
  remarks.push_back(fmt::format("{}: node '{}': {}", pass, node, text));
}

std::vector<PassRecord> run_passes(Graph& g, const std::vector<Pass>& pipeline, const PassOptions& options,
                                   PassContext& context) {
  for (const std::string& name : options.disabled) require_pass(pipeline, "--disable-pass", name, false);
  if (!options.dump_after.empty()) require_pass(pipeline, "--dump-after", options.dump_after, true);
  if (!options.stop_after.empty()) require_pass(pipeline, "--stop-after", options.stop_after, false);
  std::optional<ValueCheck> values;
  if (options.check_values) values.emplace(g, options.seed);

  std::vector<PassRecord> records;
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const Pass& pass = pipeline[i];
    const bool enabled =
        std::find(options.disabled.begin(), options.disabled.end(), pass.name) == options.disabled.end();
    if (enabled) {
      PassRecord record{.name = pass.name};
      const auto start = std::chrono::steady_clock::now();
      record.rewrites = pass.run(g, context);
      g.compact();
      record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      record.nodes_after = g.node_count();
      records.push_back(record);
      try {
        verify_graph(g);
      } catch (const InternalError& e) {
        throw InternalError(fmt::format("after pass '{}': {}", pass.name, e.what()));
      }
      if (values && record.rewrites > 0) values->require_same(g, pass);
    }
    if (options.dump_after == pass.name || options.dump_after == "all") dump(g, options, i + 1, pass.name);
    if (options.stop_after == pass.name) break;
  }
  return records;
}

}  // namespace assay
