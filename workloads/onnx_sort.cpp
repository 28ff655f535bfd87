#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "core/base/error.h"
#include "workloads/onnx_flat.h"

namespace assay {
namespace {

[[noreturn]] void fail(const std::string& file, const std::string& path, const std::string& message) {
  throw InputError(Diagnostic{.pos = {.file = file}, .path = path, .message = message, .suggestion = {}});
}

/// Walking back from a stuck node along stuck producers must close a cycle.
[[noreturn]] void report_cycle(const std::vector<FlatNode>& nodes,
                               const std::unordered_map<std::string, std::size_t>& writer,
                               const std::vector<std::size_t>& waiting, const std::string& file) {
  std::size_t at = 0;
  while (waiting[at] == 0) ++at;
  std::vector<std::size_t> path;
  std::vector<bool> seen(nodes.size(), false);
  while (!seen[at]) {
    seen[at] = true;
    path.push_back(at);
    for (const std::string& v : nodes[at].proto->input()) {
      const auto w = writer.find(v);
      if (w == writer.end() || waiting[w->second] == 0) continue;
      at = w->second;
      break;
    }
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), at));
  std::vector<std::string> names;
  for (auto it = path.rbegin(); it != path.rend() && names.size() < 12; ++it)
    names.push_back("'" + nodes[*it].name + "'");
  if (path.size() > names.size()) names.emplace_back("…");
  fail(file, "graph", fmt::format("the nodes {} form a cycle", fmt::join(names, " -> ")));
}

}  // namespace

std::vector<FlatNode> sorted(std::vector<FlatNode> nodes, const std::set<std::string>& given, const std::string& file) {
  std::unordered_map<std::string, std::size_t> writer;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const std::string& v : nodes[i].proto->output()) {
      if (v.empty()) continue;
      const auto [it, fresh] = writer.emplace(v, i);
      if (!fresh)
        fail(file, "node '" + nodes[i].name + "'",
             fmt::format("writes '{}', which node '{}' writes as well", v, nodes[it->second].name));
      if (given.contains(v))
        fail(file, "node '" + nodes[i].name + "'", "writes '" + v + "', which is an input or an initialiser");
    }

  std::vector<std::vector<std::size_t>> readers(nodes.size());
  std::vector<std::size_t> waiting(nodes.size(), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const std::string& v : nodes[i].proto->input()) {
      if (v.empty() || given.contains(v)) continue;
      const auto w = writer.find(v);
      if (w == writer.end())
        fail(file, "node '" + nodes[i].name + "'",
             "reads '" + v + "', which nothing writes (an initialiser or an input is missing)");
      readers[w->second].push_back(i);
      ++waiting[i];
    }

  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (waiting[i] == 0) ready.push(i);
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t i = ready.top();
    ready.pop();
    order.push_back(i);
    for (const std::size_t r : readers[i])
      if (--waiting[r] == 0) ready.push(r);
  }
  if (order.size() != nodes.size()) report_cycle(nodes, writer, waiting, file);
  std::vector<FlatNode> out;
  out.reserve(nodes.size());
  for (const std::size_t i : order) out.push_back(std::move(nodes[i]));
  return out;
}

}  // namespace assay
