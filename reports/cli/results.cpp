#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/error.h"
#include "explorers/rank.h"
#include "explorers/result_json.h"
#include "reports/cli/support.h"
#include "reports/csv.h"
#include "reports/diff.h"
#include "reports/html.h"
#include "reports/markdown.h"
#include "reports/section.h"
#include "reports/text.h"

namespace assay {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) throw InputError(path, "no such file");
  if (!in || std::filesystem::is_directory(path, error)) throw InputError(path, "can't be read");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool is_yaml(const std::string& path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

SweepResult load_result(const std::string& path) {
  // A folder of a sweep stands for its result.
  std::error_code error;
  const std::string file = std::filesystem::is_directory(path, error) ? path + "/result.json" : path;
  const std::string text = read_file(file);
  try {
    return sweep_from_json(text);
  } catch (const InputError& e) {
    throw InputError(file, e.what());
  }
}

std::string render(const Document& d, const std::string& format) {
  if (format == "html") return render_html(d);
  if (format == "markdown") return render_markdown(d);
  if (format == "text") return render_text(d);
  const std::vector<std::string> known{"html", "markdown", "text"};
  throw InputError(
      Diagnostic{{}, "--format", "unknown format '" + format + "'", nearest_name(format, known).value_or("")});
}

/// Lines of the two canonical descriptions that differ.
std::string machine_diff(const Machine& a, const Machine& b) {
  std::istringstream left(print_machine(a)), right(print_machine(b));
  std::vector<std::string> l, r;
  for (std::string s; std::getline(left, s);) l.push_back(s);
  for (std::string s; std::getline(right, s);) r.push_back(s);
  // Longest common subsequence: descriptions have a few hundred lines.
  std::vector<std::vector<int>> lcs(l.size() + 1, std::vector<int>(r.size() + 1, 0));
  for (std::size_t i = l.size(); i-- > 0;) {
    for (std::size_t j = r.size(); j-- > 0;)
      lcs[i][j] = l[i] == r[j] ? lcs[i + 1][j + 1] + 1 : std::max(lcs[i + 1][j], lcs[i][j + 1]);
  }
  std::string out;
  std::size_t i = 0, j = 0;
  while (i < l.size() || j < r.size()) {
    if (i < l.size() && j < r.size() && l[i] == r[j])
      ++i, ++j;
    else if (j == r.size() || (i < l.size() && lcs[i + 1][j] >= lcs[i][j + 1]))
      out += "- " + l[i++] + "\n";
    else
      out += "+ " + r[j++] + "\n";
  }
  return out.empty() ? "the descriptions are equal\n" : out;
}

}  // namespace

void check_folder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path there = fs::absolute(path, error);
  while (!fs::exists(fs::symlink_status(there, error)) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, error)) throw InputError(path, "'" + there.string() + "' is not a folder");
  if (access(there.c_str(), W_OK | X_OK) != 0)
    throw InputError(path, "the folder '" + there.string() + "' can't be written into");
}

void check_target(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path parent = fs::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (!fs::is_directory(folder, error)) throw InputError(path, "can't be written: there is no folder '" + folder + "'");
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    throw InputError(path, "can't be written: the folder '" + folder + "' does not allow it");
  if (fs::is_directory(path, error)) throw InputError(path, "can't be written: it is a folder");
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw InputError(path, "the folder can't be made: " + error.message());
}

void write_file(const std::string& path, const std::string& content) {
  const std::string temporary = path + ".part";
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out << content;
    out.flush();
    if (!out) {
      std::error_code ignored;
      std::filesystem::remove(temporary, ignored);
      throw InputError(path, "can't be written");
    }
  }
  std::error_code error, ignored;
  std::filesystem::rename(temporary, path, error);
  if (!error) return;
  std::filesystem::remove(temporary, ignored);
  throw InputError(path, "can't be written: " + error.message());
}

void print_out(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw InputError("stdout", "can't be written");
}

SweepResult as_sweep(std::vector<PointResult> points, const std::string& name) {
  SweepResult s;
  s.name = name;
  s.objective = "latency";
  s.points = std::move(points);
  for (std::size_t i = 0; i < s.points.size(); ++i) s.points[i].index = static_cast<std::int64_t>(i);
  rank(s);
  return s;
}

void write_report(const SweepResult& sweep, const std::string& folder) {
  make_folder(folder);
  const Document d = build_report(sweep);
  write_file(folder + "/report.html", render_html(d));
  write_file(folder + "/report.md", render_markdown(d));
  write_file(folder + "/points.csv", points_csv(sweep));
  write_file(folder + "/layers.csv", layers_csv(sweep));
  write_file(folder + "/result.json", to_json(sweep, 1));
}

int report_command(const ReportArgs& a) {
  if (!a.out.empty()) check_target(a.out);
  const SweepResult s = load_result(a.result);
  std::string text;
  if (a.format == "csv")
    text = points_csv(s);
  else if (a.format == "layers-csv")
    text = layers_csv(s);
  else if (a.format == "json")
    text = to_json(s, 1);
  else if (a.format == "text")
    text = ranking_text(s);
  else
    text = render(build_report(s), a.format);
  if (a.out.empty())
    print_out(text);
  else
    write_file(a.out, text);
  return kOk;
}

int diff_command(const DiffArgs& a) {
  if (is_yaml(a.before) && is_yaml(a.after)) {
    const Machine before = load_machine(a.before), after = load_machine(a.after);
    std::string text = machine_diff(before, after);
    if (!a.workload.empty()) {
      MappingCache cache;
      std::vector<WeightedPhase> phases;
      for (const Workload& w : load_workloads(a.workload)) {
        for (const WorkloadPhase& p : w.phases)
          phases.push_back({std::make_shared<PreparedPhase>(w.name, p, w.precision, 1), w.weight});
      }
      PointOptions o;
      o.check = CheckLevel::statically;
      PointResult l = evaluate_point(before, phases, o, cache), r = evaluate_point(after, phases, o, cache);
      l.design = a.before;
      r.design = a.after;
      for (const PointResult* p : {&l, &r}) {
        if (p->status != "ok") {
          std::fprintf(stderr, "%s: %s: %s\n", p->design.c_str(), p->status.c_str(), p->reason.c_str());
          return kInfeasible;
        }
      }
      text += "\n" + render(diff(l, r), a.format);
    }
    print_out(text);
    return kOk;
  }
  print_out(render(diff(load_result(a.before), load_result(a.after)), a.format));
  return kOk;
}

}  // namespace assay
