#pragma once

#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Where in a user's file something stands. Line and column count from 1; 0 means unknown.
struct SourcePos {
  std::string file;
  int line = 0;
  int column = 0;
};

/// One problem in a user's input. Rendered as
///     machines/a.yaml:12:7: core.matrix.rows: expected an integer >= 1, found "0"
///         rows: 0
///               ^
///     did you mean 'cols'?
/// Of a line over 2,000 bytes (a value, a name) the ends are shown.
struct Diagnostic {
  SourcePos pos;
  std::string path;               ///< key path (`core.matrix.rows`), node name, … ; may be empty
  std::string message;            ///< what was found and what was expected
  std::string suggestion;         ///< nearest valid name, or empty
  std::string to_string() const;  ///< reads the file again for the caret line, if it can
};

/// The user's input is wrong. Carries one or more diagnostics; what() is all of them rendered.
class InputError : public std::runtime_error {
 public:
  explicit InputError(Diagnostic d);
  explicit InputError(std::vector<Diagnostic> ds);
  /// Without a position: `path: message`.
  InputError(std::string path, std::string message);
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// The input is right, but nothing satisfies it: a value, not a crash. Says which limit and by how much.
class Infeasible : public std::runtime_error {
 public:
  explicit Infeasible(const std::string& reason) : std::runtime_error(reason) {}
};

/// The candidate with the smallest edit distance to `name`, if it is near enough to be a likely typo
/// (distance <= max(1, length / 3)). O(candidates × length²).
std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> candidates);

}  // namespace assay
