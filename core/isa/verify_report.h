#pragma once

#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/isa/verify.h"

// What the parts of the verifier share: the list of violations, and the two parts themselves.

namespace assay {

/// Collects violations: each (rule, statement, key) once, at most `max_violations`.
class ViolationList {
 public:
  ViolationList(const Program& program, std::size_t limit, std::vector<Violation>& out);
  bool any(const std::string& rule) const;
  bool full() const { return out_.size() >= limit_; }
  /// `leaf` may be nullptr: the program as a whole.
  void add(const std::string& rule, const Stmt* leaf, std::size_t number, std::string message, int key = 0);
  std::string where(const Stmt* leaf, std::size_t number) const;

 private:
  const Program& program_;
  std::size_t limit_;
  std::vector<Violation>& out_;
  std::set<std::tuple<std::string, std::size_t, int>> seen_;
};

/// Rule `capability`: only engines, operations, types and copies that the machine has.
void verify_capabilities(const Program& program, const Machine& machine, ViolationList& violations);

/// Rules `structure`, `capability` and the static part of `bounds` and `overlap`: everything that needs no walk.
void verify_statically(const Program& program, const Machine& machine, ViolationList& violations);

/// Rules `bounds`, `uninitialised`, `race`, `deadlock` by walking the queues. Needs a program without structure
/// violations.
void verify_by_walking(const Program& program, const Machine& machine, const VerifyOptions& options,
                       ViolationList& violations, VerifyResult& result);

}  // namespace assay
