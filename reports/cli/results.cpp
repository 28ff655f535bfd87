#include <fmt/format.h>

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

/// Results of thousands of points in detail stay below it; the tree of a longer file would not fit into memory.
constexpr std::uintmax_t kLongestResult = std::uintmax_t{1} << 30;

std::string read_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) throw InputError(path, "no such file");
  if (!std::filesystem::is_regular_file(path, error)) throw InputError(path, "not a regular file");
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (size == 0) throw InputError(path, "the file is empty; expected a result of `assay sweep` or `assay run`");
  if (size > kLongestResult)
    throw InputError(path, fmt::format("{} bytes long; a result may have {}", size, kLongestResult));
  std::ifstream in(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(error ? 0 : size), '\0');
  if (error || !in || !in.read(text.data(), static_cast<std::streamsize>(text.size())))
    throw InputError(path, "can't be read");
  return text;
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
  return render_text(d);
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
  expect_one_of("--format", a.format, {"html", "markdown", "text", "csv", "layers-csv", "json"});
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
  expect_one_of("--format", a.format, {"text", "markdown", "html"});
  const bool machines = is_yaml(a.before);
  if (machines != is_yaml(a.after))
    throw InputError(fmt::format("{} and {}", a.before, a.after),
                     "one is a description, the other a result: expected two of a kind");
  if (!machines && !a.workload.empty())
    throw InputError("--workload", "goes with two machine descriptions; results hold their workloads");
  if (machines && a.workload.empty() && a.format != "text")
    throw InputError("--format", "what changed between two descriptions is text; with --workload there is a report");
  if (machines) {
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
