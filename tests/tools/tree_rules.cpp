#include "tests/tools/tree_rules.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

namespace assay {
namespace fs = std::filesystem;
namespace {

/// Calls `visit(number, line)` for every line.
template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
  std::istringstream stream{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) visit(number, std::string_view(line));
}

std::string at(const std::string& path, int line, const std::string& message) {
  return path + ":" + std::to_string(line) + ": " + message;
}

struct Include {
  std::string target;
  bool quoted = false;
};

std::optional<Include> parse_include(std::string_view line) {
  std::size_t i = line.find_first_not_of(" \t");
  if (i == line.npos || line[i] != '#') return std::nullopt;
  i = line.find_first_not_of(" \t", i + 1);
  if (i == line.npos || line.substr(i, 7) != "include") return std::nullopt;
  i = line.find_first_of("<\"", i);
  if (i == line.npos) return std::nullopt;
  const bool quoted = line[i] == '"';
  const std::size_t end = line.find(quoted ? '"' : '>', i + 1);
  if (end == line.npos) return std::nullopt;
  return Include{std::string(line.substr(i + 1, end - i - 1)), quoted};
}

bool is_source(const std::string& path) { return path.ends_with(".h") || path.ends_with(".cpp"); }

/// Position of a file's folder on the road. core/compiler is a pair of files or a folder.
std::optional<std::size_t> rank(const std::string& path) {
  const auto& folders = folders_in_order();
  for (std::size_t i = 0; i < folders.size(); ++i) {
    if (path.starts_with(folders[i] + "/") || path.starts_with(folders[i] + ".")) return i;
  }
  return std::nullopt;
}

bool strangers(const std::string& a, const std::string& b) {
  return (a == "workloads" && b == "hwmodels") || (a == "hwmodels" && b == "workloads");
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool has_word(std::string_view line, const std::string& word) {
  for (std::size_t i = line.find(word); i != line.npos; i = line.find(word, i + 1)) {
    const bool starts = i == 0 || !is_word(line[i - 1]);
    const bool ends = i + word.size() == line.size() || !is_word(line[i + word.size()]);
    if (starts && ends) return true;
  }
  return false;
}

/// An absolute path that begins with `prefix`: `/a/b`, but not `x/a/b`.
bool has_absolute_path(std::string_view line, const std::string& prefix) {
  for (std::size_t i = line.find(prefix); i != line.npos; i = line.find(prefix, i + 1)) {
    if (i == 0 || !(is_word(line[i - 1]) || line[i - 1] == '.' || line[i - 1] == '}' || line[i - 1] == '/')) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> git_files(const fs::path& root) {
  if (root.string().find('\'') != std::string::npos) return {};  // not worth quoting for the shell
  const std::string command =
      "git -C '" + root.string() + "' ls-files -z --cached --others --exclude-standard 2>/dev/null";
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::vector<std::string> files;
  std::string name;
  for (int c = 0; pipe && (c = std::fgetc(pipe.get())) != EOF;) {
    if (c != '\0') {
      name.push_back(static_cast<char>(c));
    } else {
      files.push_back(std::exchange(name, {}));
    }
  }
  return files;
}

std::vector<std::string> walked_files(const fs::path& root) {
  static const std::set<std::string> skipped = {".git", ".cache", "build", "out", "node_modules"};
  std::vector<std::string> files;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator(); ++it) {
    if (it->is_directory() && skipped.contains(it->path().filename().string())) it.disable_recursion_pending();
    if (it->is_regular_file()) files.push_back(fs::relative(it->path(), root).generic_string());
  }
  return files;
}

bool is_text(const std::string& path) {
  static const std::set<std::string> extensions = {"",     ".h",    ".cpp",  ".cmake", ".txt", ".md",  ".yaml",
                                                   ".yml", ".json", ".py",   ".mjs",   ".js",  ".ts",  ".css",
                                                   ".sh",  ".csv",  ".html", ".asm",   ".dot", ".toml"};
  return extensions.contains(fs::path(path).extension().string());
}

}  // namespace

const std::vector<std::string>& folders_in_order() {
  static const std::vector<std::string> folders = {
      "core/base",    "core/spec",     "core/loopnest", "core/isa",  "core/ir",  "core/ops",  "core/passes",
      "core/mapping", "core/lowering", "core/compiler", "workloads", "hwmodels", "explorers", "reports"};
  return folders;
}

std::vector<std::string> include_violations(const std::string& path, std::string_view text) {
  std::vector<std::string> found;
  if (!is_source(path)) return found;
  const auto own = rank(path);
  const bool sees_all = path.starts_with("tests/") || path.starts_with("bench/");
  for_each_line(text, [&](int number, std::string_view line) {
    const auto include = parse_include(line);
    if (!include || !include->quoted) return;
    const auto other = rank(include->target);
    if (sees_all) {
      if (!other && !include->target.starts_with("tests/") && !include->target.starts_with("bench/")) {
        found.push_back(at(path, number, "'" + include->target + "' is not written from the repository root"));
      }
      return;
    }
    if (!other) {
      found.push_back(at(path, number,
                         "'" + include->target +
                             "' is not in a folder of the project, "
                             "written from the repository root"));
    } else if (!own) {
      found.push_back(at(path, number, "this file is in no known folder, but includes one"));
    } else if (*other > *own || strangers(folders_in_order()[*own], folders_in_order()[*other])) {
      found.push_back(at(path, number,
                         folders_in_order()[*own] + " must not include " + folders_in_order()[*other] + " ('" +
                             include->target + "')"));
    }
  });
  return found;
}

std::vector<std::string> weight_violations(const std::string& path, std::string_view text) {
  std::vector<std::string> found;
  if (!is_source(path)) return found;
  constexpr int kMaxLines = 600;
  static const std::vector<std::string> heavy = {"boost/",    "CLI/",    "Eigen/", "yaml-cpp/",
                                                 "nlohmann/", "google/", "onnx/"};
  int lines = 0;
  for_each_line(text, [&](int number, std::string_view line) {
    lines = number;
    const auto include = parse_include(line);
    if (!include || include->quoted) return;
    const auto is_heavy = [&](const std::string& h) { return include->target.starts_with(h); };
    if (path.ends_with(".h") && std::any_of(heavy.begin(), heavy.end(), is_heavy)) {
      found.push_back(at(path, number, "<" + include->target + "> belongs in a .cpp file"));
    } else if (include->target.starts_with("boost/graph/") && !path.starts_with("core/ir/")) {
      found.push_back(at(path, number, "Boost.Graph is used in core/ir only"));
    }
  });
  if (lines > kMaxLines) {
    found.push_back(at(path, lines, "longer than " + std::to_string(kMaxLines) + " lines: split it"));
  }
  return found;
}

std::vector<std::string> wording_violations(const std::string& path, std::string_view text) {
  // Spelled in two pieces, so that this file passes its own test.
  static const std::vector<std::string> marks = {
      "TO"
      "DO",
      "FIX"
      "ME",
      "X"
      "XX",
      "HA"
      "CK"};
  static const std::vector<std::string> places = {
      "/wo"
      "rk/",
      "/tm"
      "p/",
      "/ho"
      "me/",
      "/ro"
      "ot/",
      "/Us"
      "ers/"};
  std::vector<std::string> found;
  for_each_line(text, [&](int number, std::string_view line) {
    for (const auto& mark : marks) {
      if (has_word(line, mark)) found.push_back(at(path, number, "unfinished work: " + mark));
    }
    for (const auto& place : places) {
      if (has_absolute_path(line, place)) found.push_back(at(path, number, "path of one machine: " + place));
    }
    if (path.ends_with("package-lock.json") && line.find("\"resolved\": \"http") != line.npos) {
      found.push_back(at(path, number, "download address in a lock file"));
    }
  });
  return found;
}

std::vector<std::string> project_files(const fs::path& root) {
  std::vector<std::string> files = git_files(root);
  if (files.empty()) files = walked_files(root);
  std::erase_if(files, [&](const std::string& f) { return !is_text(f) || !fs::is_regular_file(root / f); });
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

}  // namespace assay
