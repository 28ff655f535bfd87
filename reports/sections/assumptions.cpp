#include <fmt/format.h>

#include <map>

#include "reports/format.h"
#include "reports/section.h"
#include "reports/summary.h"

// What the results rest on, and what they leave out.

namespace assay {
namespace {

/// Notes of all evaluations, each once, with how many designs carry it.
List common_notes(const SweepResult& sweep) {
  std::map<std::string, std::size_t> carriers;
  for (const auto& p : sweep.points) {
    std::map<std::string, bool> here;
    for (const auto& w : p.workloads) {
      for (const auto& note : w.notes) here[note] = true;
    }
    for (const auto& entry : here) ++carriers[entry.first];
  }
  List list;
  for (const auto& [note, n] : carriers) {
    list.items.push_back(sweep.points.size() == 1 ? note : fmt::format("{} ({})", note, counted(n, "design")));
  }
  return list;
}

std::vector<Block> build(const SectionContext& context) {
  const SweepResult& sweep = context.sweep;
  std::vector<Block> out;
  const auto add = [&](const char* title, List list) {
    if (list.items.empty()) return;
    out.push_back(Heading{title});
    out.push_back(std::move(list));
  };
  add("Assumptions", {sweep.assumptions});
  add("Not modelled", {sweep.not_modelled});
  add("Notes of the models on these results", common_notes(sweep));
  if (out.empty()) out.push_back(Paragraph{"The results state no assumptions and no omissions.", Tone::warn});
  return out;
}

}  // namespace

void register_assumptions(SectionRegistry& registry) {
  registry.add({"assumptions", "Assumptions and omissions", build});
}

}  // namespace assay
