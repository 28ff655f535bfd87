#include "core/isa/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/isa/names.h"
#include "core/isa/verify_report.h"

namespace assay {

ViolationList::ViolationList(const Program& program, std::size_t limit, std::vector<Violation>& out)
    : program_(program), limit_(limit), out_(out) {}

bool ViolationList::any(const std::string& rule) const {
  return std::any_of(out_.begin(), out_.end(), [&](const Violation& v) { return v.rule == rule; });
}

std::string ViolationList::where(const Stmt* leaf, std::size_t number) const {
  if (leaf == nullptr) return "program '" + program_.name + "'";
  std::string what = "wait";
  std::int64_t trail = -1;
  if (const auto* c = std::get_if<Command>(&leaf->node)) {
    what = name(c->opcode);
    trail = c->trail;
  } else if (const auto* h = std::get_if<HostCommand>(&leaf->node)) {
    what = "host " + h->op;
    trail = h->trail;
  } else if (std::holds_alternative<Signal>(leaf->node)) {
    what = "signal";
  }
  const bool known = trail >= 0 && trail < static_cast<std::int64_t>(program_.trail.size());
  const std::string group =
      known ? fmt::format("group '{}', ", program_.trail[static_cast<std::size_t>(trail)].group) : "";
  return fmt::format("{}{} #{}", group, what, number);
}

void ViolationList::add(const std::string& rule, const Stmt* leaf, std::size_t number, std::string message, int key) {
  if (full() || !seen_.emplace(rule, leaf == nullptr ? SIZE_MAX : number, key).second) return;
  out_.push_back({rule, where(leaf, number), std::move(message)});
}

VerifyResult verify_form(const Program& program, const Machine& machine) {
  VerifyResult result;
  ViolationList violations(program, VerifyOptions{}.max_violations, result.violations);
  verify_statically(program, machine, violations);
  return result;
}

VerifyResult verify_program(const Program& program, const Machine& machine, const VerifyOptions& options) {
  VerifyResult result;
  ViolationList violations(program, options.max_violations, result.violations);
  verify_statically(program, machine, violations);
  // Ids, ranges and sizes are sound only if the structure is: a walk over a malformed program proves nothing.
  if (violations.any("structure")) return result;
  // Nor does one over memory that is not there: the walk keeps a bit for every byte of it.
  if (std::any_of(program.buffers.begin(), program.buffers.end(),
                  [&](const Buffer& b) { return b.bytes > machine.memory(b.memory).capacity; }))
    return result;
  verify_by_walking(program, machine, options, violations, result);
  return result;
}

}  // namespace assay
