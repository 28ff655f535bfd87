#include "reports/format.h"
#include "reports/section.h"
#include "reports/summary.h"

// Where the results come from: enough to make them again.

namespace assay {
namespace {

std::vector<Block> build(const SectionContext& context) {
  const SweepResult& sweep = context.sweep;
  std::vector<Block> out;
  Table manifest{
      .caption = "Manifest: inputs by hash, options, versions, seeds", .columns = {{"What"}, {"Value"}}, .rows = {}};
  for (const auto& [name, value] : sweep.manifest) manifest.rows.push_back({Cell(name), Cell(value)});
  if (manifest.rows.empty()) {
    out.push_back(Paragraph{"No manifest was recorded: these results can't be traced to their inputs.", Tone::bad});
  } else {
    out.push_back(std::move(manifest));
  }
  Table keys{.caption = "Content keys",
             .columns = {{"#", Unit::count},
                         {"Design"},
                         {"Key of machine, workloads, options and model version"},
                         {"Programs"}},
             .rows = {}};
  for (const auto& p : sweep.points) {
    std::string programs;
    for (const auto& w : p.workloads) {
      if (!w.program_sha256.empty())
        programs += (programs.empty() ? "" : ", ") + phase_name(w) + " " + w.program_sha256.substr(0, 16);
    }
    keys.rows.push_back({Cell(static_cast<double>(p.index)), Cell(p.design), p.key.empty() ? Cell() : Cell(p.key),
                         programs.empty() ? Cell() : Cell(programs)});
  }
  if (!keys.rows.empty()) out.push_back(Details{"Content keys of every design point", {std::move(keys)}});
  return out;
}

}  // namespace

void register_provenance(SectionRegistry& registry) { registry.add({"provenance", "Provenance", build}); }

}  // namespace assay
