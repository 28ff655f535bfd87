#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/error.h"
#include "explorers/result_json.h"
#include "explorers/sweep.h"
#include "reports/cli/support.h"
#include "reports/diff.h"
#include "reports/text.h"

namespace assay {
namespace {

std::atomic<bool> stop_asked{false};
void on_signal(int) { stop_asked = true; }

std::string clock_text(double seconds) {
  const auto s = static_cast<std::int64_t>(seconds);
  return s < 60 ? fmt::format("{} s", s) : fmt::format("{} min {:02} s", s / 60, s % 60);
}

/// One line on stderr: rewritten in place on a terminal, a few lines otherwise.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0), start_(Clock::now()) {}

  void show(const SweepProgress& p) {
    if (quiet_ || p.total == 0) return;
    if (p.stage != stage_) {
      stage_ = p.stage;
      start_ = Clock::now();
      shown_ = -1;
    }
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    const std::int64_t computed = p.done - p.reused;
    const double eta =
        computed > 0 ? elapsed / static_cast<double>(computed) * static_cast<double>(p.total - p.done) : 0;
    const std::int64_t tenth = p.done * 10 / p.total;
    if (!terminal_ && tenth == shown_ && p.done != p.total) return;
    shown_ = tenth;
    std::string line = fmt::format("{}: {}/{}", p.stage, p.done, p.total);
    if (p.reused > 0) line += fmt::format(", {} from the store", p.reused);
    if (p.failed > 0) line += fmt::format(", {} not feasible", p.failed);
    if (p.done < p.total && p.done > 0) line += ", " + clock_text(eta) + " left";
    if (p.done == p.total) line += " in " + clock_text(elapsed);
    if (terminal_)
      std::fprintf(stderr, "\r\033[K%s%s", line.c_str(), p.done == p.total ? "\n" : "");
    else
      std::fprintf(stderr, "%s\n", line.c_str());
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool quiet_, terminal_;
  Clock::time_point start_;
  std::string stage_;
  std::int64_t shown_ = -1;
};

/// What changed since the last run of the same sweep, where there was one.
std::string movement(const std::string& previous, const SweepResult& now) {
  std::ifstream in(previous, std::ios::binary);
  if (!in) return "";
  std::ostringstream text;
  text << in.rdbuf();
  try {
    const SweepResult before = sweep_from_json(text.str());
    if (to_json(before) == to_json(now)) return "";
    return render_text(diff(before, now));
  } catch (const InputError&) {
    return "";  // written by another version: there is nothing to compare with
  }
}

}  // namespace

int sweep_command(const SweepArgs& a) {
  SweepSpec spec = load_sweep(a.sweep);
  if (!a.check.empty()) {
    const std::vector<std::string> levels{"none", "static", "twin", "full"};
    if (std::find(levels.begin(), levels.end(), a.check) == levels.end()) {
      throw InputError(Diagnostic{{},
                                  "--check",
                                  "expected none, static, twin or full, found '" + a.check + "'",
                                  nearest_name(a.check, levels).value_or("")});
    }
    spec.check = a.check;
  }
  const std::string out = a.out.empty() ? "out/" + spec.name : a.out;
  check_folder(out);
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  ProgressLine line(a.quiet);
  SweepOptions o;
  o.store_path = out + "/store.sqlite";
  o.threads = a.threads;
  o.stop = &stop_asked;
  o.progress = [&](const SweepProgress& p) { line.show(p); };
  o.fresh = a.fresh;
  o.ready = [&] {
    make_folder(out);
    if (!a.quiet)
      std::fprintf(stderr, "%s: %lld design points, results in %s\n", spec.name.c_str(),
                   static_cast<long long>(space_size(spec)), out.c_str());
  };
  const SweepResult result = run_sweep(spec, o);
  if (stop_asked) {
    std::fprintf(stderr, "stopped; what was finished is in %s: the same command goes on from there\n",
                 o.store_path.c_str());
    return kInterrupted;
  }
  const std::string moved = movement(out + "/result.json", result);
  write_report(result, out);
  if (a.json)
    print_out(to_json(result, 1) + "\n");
  else
    print_out(ranking_text(result));
  if (!moved.empty() && !a.json) print_out("\nSince the last run:\n" + moved);
  if (!a.quiet) std::fprintf(stderr, "report: %s/report.html\n", out.c_str());
  const bool mismatch = std::any_of(result.points.begin(), result.points.end(),
                                    [](const PointResult& p) { return p.status == "mismatch"; });
  return mismatch ? kMismatch : kOk;
}

}  // namespace assay
