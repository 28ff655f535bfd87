#include <algorithm>
#include <limits>

#include "core/base/check.h"
#include "core/base/error.h"
#include "hwmodels/timing/census.h"
#include "hwmodels/timing/notes.h"
#include "hwmodels/timing/walk.h"

namespace assay {
namespace {

// The walk lets engines overlap freely at shared places; where that undercuts what a shared resource needs for all of
// them together, the total is that resource's time. The difference is given to the groups in proportion to their
// work on the resource (largest remainders first), as contention.
void raise_to_bound(TimingResult& r, const Census& census) {
  const std::int64_t missing = census.lower_bound - r.total;
  if (missing <= 0) return;
  const auto binding = std::max_element(census.resources.begin(), census.resources.end(),
                                        [](const auto& a, const auto& b) { return a.busy < b.busy; });
  std::vector<std::int64_t> share(r.groups.size(), 0);
  std::int64_t all = 0;
  for (std::size_t g = 0; g < r.groups.size(); ++g)
    for (const ResourceTime& t : census.group_resources[g])
      if (t.name == binding->name) all += share[g] = t.busy;
  if (all == 0) return;
  std::int64_t given = 0;
  std::vector<std::pair<long double, std::size_t>> remainders;
  for (std::size_t g = 0; g < r.groups.size(); ++g) {
    const long double exact =
        static_cast<long double>(missing) * static_cast<long double>(share[g]) / static_cast<long double>(all);
    const auto whole = std::min(missing - given, static_cast<std::int64_t>(exact));
    r.groups[g].span += whole;
    r.groups[g].loss.contention += whole;
    given += whole;
    remainders.emplace_back(static_cast<long double>(whole) - exact, g);
  }
  std::sort(remainders.begin(), remainders.end());
  for (std::size_t i = 0; given < missing; i = (i + 1) % remainders.size(), ++given) {
    ++r.groups[remainders[i].second].span;
    ++r.groups[remainders[i].second].loss.contention;
  }
  r.total = census.lower_bound;
  r.notes.push_back("the engines' own times overlap to less than '" + binding->name +
                    "' needs for all of them: the total is raised to that bound, the difference shown as contention");
}

TimingResult analyse_with(const Program& program, const Machine& machine, const ModelOptions& options) {
  Flow flow = make_flow(program, machine, options);
  const CoreClasses classes = core_classes(flow);
  Census census = take_census(flow, classes);
  WalkResult walk = walk_program(flow, classes);

  TimingResult r;
  r.model = "analytical";
  r.base = flow.base;
  r.total = walk.total;
  r.lower_bound = census.lower_bound;
  r.skipped_iterations = walk.skipped_iterations;
  WalkCore& critical = walk.cores[walk.critical];
  const auto last = std::max_element(critical.engines.begin(), critical.engines.end(),
                                     [](const auto& a, const auto& b) { return a.done < b.done; });
  if (last != critical.engines.end() && !program.trail.empty())
    critical.accountant.tail(last->last_group, r.total, Owner::memory);
  std::int64_t spans = 0;
  for (std::size_t g = 0; g < program.trail.size(); ++g) {
    GroupTime t;
    t.group = g;
    t.start = std::numeric_limits<std::int64_t>::max();
    for (const WalkCore& core : walk.cores) {
      t.start = std::min(t.start, core.group_start[g]);
      t.end = std::max(t.end, core.group_end[g]);
    }
    if (t.start > t.end) t.start = t.end = 0;  // nothing of it ran
    t.span = critical.accountant.account(g).span;
    t.loss = critical.accountant.account(g).loss;
    ASSAY_CHECK(t.loss.total() == t.span, std::to_string(t.loss.total()) + " of " + std::to_string(t.span));
    spans += t.span;
    r.groups.push_back(std::move(t));
  }
  ASSAY_CHECK(spans == r.total, "spans " + std::to_string(spans) + " of " + std::to_string(r.total));
  raise_to_bound(r, census);
  describe_groups(census, r.groups);
  r.resources = std::move(census.resources);
  r.activity = std::move(census.activity);
  add_notes(r.notes, flow);
  r.notes.push_back("engines do not contend with each other; shared parts divide their rate by the cores using them");
  if (flow.remote)
    r.notes.push_back(std::to_string(classes.classes.size()) + " classes of cores stand for " +
                      std::to_string(program.grid.cores()) + " cores");
  return r;
}

}  // namespace

TimingResult analyse(const Program& program, const Machine& machine, const AnalyticalOptions& options) {
  return analyse_with(program, machine, {options.all_ideal, ""});
}

std::int64_t analyse_with_doubled(const Program& program, const Machine& machine, const std::string& resource) {
  Machine faster = machine;
  std::vector<std::string> names;
  bool found = false;
  const auto is = [&](const std::string& name) {
    names.push_back(name);
    found = found || name == resource;
    return name == resource;
  };
  for (Memory& m : faster.memories) {
    if (!is(m.name)) continue;
    m.read_bandwidth *= 2;
    m.write_bandwidth *= 2;
  }
  const auto double_link = [](Link& l) {
    l.bandwidth *= 2;
    l.aggregate_bandwidth *= 2;
    l.outstanding *= 2;
  };
  for (Link& l : faster.links)
    if (is(l.name)) double_link(l);
  ModelOptions options;
  for (const Engine& e : program.engines) {
    const bool dma = e.kind == EngineKind::dma_load || e.kind == EngineKind::dma_store;
    if (!is(e.name) || faster.links.size() <= e.part) continue;
    if (!dma)
      options.doubled = e.name;
    else if (faster.links[e.part].name != resource)  // a queue of its link; a single queue has the link's name
      double_link(faster.links[e.part]);
  }
  for (const Engine& e : program.engines)
    if (e.name == resource && e.kind != EngineKind::dma_load && e.kind != EngineKind::dma_store)
      options.doubled = e.name;
  if (is("latency")) {
    for (Memory& m : faster.memories) m.latency_s /= 2;
    for (Link& l : faster.links) {
      l.latency_s /= 2;
      l.hop_latency_s /= 2;
      l.launch_s /= 2;
    }
    for (MatrixUnit& u : faster.matrix_units) {
      u.issue_cycles /= 2;
      u.pipeline_cycles /= 2;
    }
    for (VectorUnit& u : faster.vector_units) {
      u.issue_cycles /= 2;
      u.pipeline_cycles /= 2;
    }
  }
  if (!found) {
    const auto near = nearest_name(resource, names);
    throw InputError(Diagnostic{
        {}, "resource", "'" + resource + "' is no memory, link or engine of the machine", near.value_or("")});
  }
  return analyse_with(program, faster, options).total;
}

}  // namespace assay
