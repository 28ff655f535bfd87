#include "core/loopnest/file_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "core/spec/plain_values.h"
#include "core/spec/reader.h"

namespace assay {

void FileFields::problem(const SourcePos& pos, std::string path, std::string message, std::string suggestion) {
  problems_.push_back(
      {.pos = pos, .path = std::move(path), .message = std::move(message), .suggestion = std::move(suggestion)});
}

void FileFields::throw_if_any() const {
  if (!problems_.empty()) throw InputError(problems_);
}

bool FileFields::map(const YamlNode& node, const std::string& path, const std::vector<std::string>& known) {
  if (!node.is_map()) {
    problem(node.pos, path, fmt::format("expected a map, found {}", node.describe()));
    return false;
  }
  for (const YamlEntry& e : node.entries) {
    if (std::find(known.begin(), known.end(), e.key) == known.end())
      problem(e.pos, path.empty() ? e.key : path + "." + e.key,
              fmt::format("unknown key; expected one of {}", fmt::join(known, ", ")),
              nearest_name(e.key, known).value_or(""));
  }
  return true;
}

bool FileFields::sequence(const YamlNode& node, const std::string& path, const std::string& of) {
  if (node.is_sequence()) return true;
  problem(node.pos, path, fmt::format("expected a list of {}, found {}", of, node.describe()));
  return false;
}

std::optional<std::string> FileFields::name(const YamlNode& node, const std::string& path) {
  if (node.is_scalar() && is_name(node.text)) return node.text;
  problem(node.pos, path, fmt::format("expected a name (letters, digits and '_'), found {}", node.describe()));
  return std::nullopt;
}

std::optional<std::int64_t> FileFields::whole(const YamlNode& node, const std::string& path, std::int64_t low) {
  std::int64_t v = 0;
  const std::string& s = node.text;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (node.is_scalar() && !node.quoted && !s.empty() && error == std::errc() && end == s.data() + s.size() &&
      !has_leading_zero(s) && v >= low)
    return v;
  problem(node.pos, path, fmt::format("expected a whole number >= {}, found {}", low, node.describe()));
  return std::nullopt;
}

std::optional<double> FileFields::real(const YamlNode& node, const std::string& path) {
  const std::optional<double> v = plain_number(node);
  if (v && *v >= 0) return v;
  problem(node.pos, path, fmt::format("expected a number >= 0, found {}", node.describe()));
  return std::nullopt;
}

std::optional<bool> FileFields::flag(const YamlNode& node, const std::string& path) {
  if (node.is_scalar() && !node.quoted && (node.text == "true" || node.text == "false")) return node.text == "true";
  problem(node.pos, path, fmt::format("expected true or false, found {}", node.describe()));
  return std::nullopt;
}

std::optional<int> FileFields::one_of(const YamlNode& node, const std::string& path,
                                      const std::vector<std::string>& all, const std::string& what) {
  if (node.is_scalar()) {
    const auto it = std::find(all.begin(), all.end(), node.text);
    if (it != all.end()) return static_cast<int>(it - all.begin());
  }
  problem(node.pos, path, fmt::format("expected {} ({}), found {}", what, fmt::join(all, ", "), node.describe()),
          node.is_scalar() ? nearest_name(node.text, all).value_or("") : "");
  return std::nullopt;
}

std::optional<std::vector<int>> FileFields::list_of(const YamlNode& node, const std::string& path,
                                                    const std::vector<std::string>& all, const std::string& what) {
  std::vector<int> out;
  bool right = true;
  const auto add = [&](const YamlNode& item, const std::string& at) {
    const auto i = one_of(item, at, all, what);
    if (i && std::find(out.begin(), out.end(), *i) != out.end()) {
      problem(item.pos, at, fmt::format("{} stands twice", item.describe()));
      right = false;
    } else if (i) {
      out.push_back(*i);
    } else {
      right = false;
    }
  };
  if (node.is_scalar()) {
    add(node, path);
  } else if (sequence(node, path, what)) {
    for (std::size_t i = 0; i < node.items.size(); ++i) add(node.items[i], fmt::format("{}[{}]", path, i));
  } else {
    right = false;
  }
  return right ? std::optional(out) : std::nullopt;
}

}  // namespace assay
