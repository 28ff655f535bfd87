#include "core/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace assay {
namespace {

/// The line a diagnostic points at, or nothing if the file can't be read any more (pipes, text given by a caller).
std::optional<std::string> source_line(const SourcePos& pos) {
  if (pos.file.empty() || pos.line <= 0) return std::nullopt;
  std::ifstream in(pos.file, std::ios::binary);
  if (!in) return std::nullopt;
  std::string line;
  for (int i = 0; i < pos.line; ++i) {
    if (!std::getline(in, line)) return std::nullopt;
  }
  if (!line.empty() && line.back() == '\r') line.pop_back();
  constexpr std::size_t kLongest = 160;
  if (line.size() > kLongest) return std::nullopt;
  const bool printable = std::none_of(line.begin(), line.end(), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return u < 0x20 && c != '\t';
  });
  if (!printable) return std::nullopt;
  std::replace(line.begin(), line.end(), '\t', ' ');
  return line;
}

/// A line as long as a file helps nobody: its ends are shown.
std::string clipped_line(std::string_view line) {
  constexpr std::size_t kLongest = 2000, kFirst = 1500, kLast = 300;
  if (line.size() <= kLongest) return std::string(line);
  // Not through the middle of a character of several bytes.
  const auto inside = [&](std::size_t at) { return (static_cast<unsigned char>(line[at]) & 0xc0U) == 0x80; };
  std::size_t first = kFirst, last = line.size() - kLast;
  while (first > kFirst - 4 && inside(first)) --first;
  while (last < line.size() - kLast + 4 && inside(last)) ++last;
  return fmt::format("{} [... {} bytes ...] {}", line.substr(0, first), last - first, line.substr(last));
}

std::string clipped(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (at > 0) out += '\n';
    out += clipped_line(std::string_view(text).substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string render(const std::vector<Diagnostic>& ds) {
  std::string out;
  for (const Diagnostic& d : ds) {
    if (!out.empty()) out += '\n';
    out += d.to_string();
  }
  return out;
}

}  // namespace

std::string Diagnostic::to_string() const {
  std::string out;
  if (!pos.file.empty()) {
    out += pos.file;
    if (pos.line > 0) out += fmt::format(":{}", pos.line);
    if (pos.line > 0 && pos.column > 0) out += fmt::format(":{}", pos.column);
    out += ": ";
  }
  if (!path.empty()) out += path + ": ";
  out = clipped(out + message);
  if (const auto line = source_line(pos)) {
    out += fmt::format("\n    {}", *line);
    if (pos.column > 0) out += fmt::format("\n    {:>{}}", '^', pos.column);
  }
  if (!suggestion.empty()) out += fmt::format("\n    did you mean '{}'?", suggestion);
  return out;
}

InputError::InputError(Diagnostic d) : InputError(std::vector<Diagnostic>{std::move(d)}) {}
InputError::InputError(std::vector<Diagnostic> ds) : std::runtime_error(render(ds)), diagnostics_(std::move(ds)) {}
InputError::InputError(std::string path, std::string message)
    : InputError(Diagnostic{.pos = {}, .path = std::move(path), .message = std::move(message), .suggestion = {}}) {}

std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> candidates) {
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  if (name.size() > 200) return std::nullopt;
  std::vector<std::size_t> row;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > name.size() + best_distance || name.size() > candidate.size() + best_distance) continue;
    // Levenshtein distance, one row at a time.
    row.resize(candidate.size() + 1);
    for (std::size_t j = 0; j <= candidate.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= name.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= candidate.size(); ++j) {
        const std::size_t substitute = diagonal + (name[i - 1] == candidate[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace assay
