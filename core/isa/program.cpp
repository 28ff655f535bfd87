#include "core/isa/program.h"

#include <algorithm>

namespace assay {

Affine Affine::of(VarId v, std::int64_t coefficient, std::int64_t constant) {
  Affine a;
  a.constant = constant;
  a.add(v, coefficient);
  return a;
}

Affine& Affine::add(VarId v, std::int64_t coefficient) {
  const auto at =
      std::lower_bound(terms.begin(), terms.end(), v, [](const auto& term, VarId var) { return term.first < var; });
  if (at == terms.end() || at->first != v) {
    if (coefficient != 0) terms.insert(at, {v, coefficient});
    return *this;
  }
  at->second += coefficient;
  if (at->second == 0) terms.erase(at);
  return *this;
}

Affine operator+(Affine a, const Affine& b) {
  a.constant += b.constant;
  for (const auto& [v, c] : b.terms) a.add(v, c);
  return a;
}

Affine Affine::scaled(std::int64_t factor) const {
  Affine a;
  if (factor == 0) return a;
  a.constant = constant * factor;
  for (const auto& [v, c] : terms) a.terms.emplace_back(v, c * factor);
  return a;
}

namespace {
bool equal(const Loop& a, const Loop& b) {
  return a.var == b.var && a.name == b.name && a.trip == b.trip && a.body == b.body;
}
}  // namespace

bool operator==(const Stmt& a, const Stmt& b) {
  if (a.node.index() != b.node.index()) return false;
  if (const auto* loop = std::get_if<Loop>(&a.node)) return equal(*loop, std::get<Loop>(b.node));
  if (const auto* c = std::get_if<Command>(&a.node)) return *c == std::get<Command>(b.node);
  if (const auto* h = std::get_if<HostCommand>(&a.node)) return *h == std::get<HostCommand>(b.node);
  if (const auto* w = std::get_if<Wait>(&a.node)) return *w == std::get<Wait>(b.node);
  return std::get<Signal>(a.node) == std::get<Signal>(b.node);
}

bool operator==(const Program& a, const Program& b) {
  return a.name == b.name && a.machine == b.machine && a.grid.rows == b.grid.rows && a.grid.cols == b.grid.cols &&
         a.engines == b.engines && a.semaphores == b.semaphores && a.buffers == b.buffers && a.trail == b.trail &&
         a.body == b.body && a.steps == b.steps && a.inputs == b.inputs && a.outputs == b.outputs &&
         a.constants == b.constants && a.var_count == b.var_count;
}

}  // namespace assay
