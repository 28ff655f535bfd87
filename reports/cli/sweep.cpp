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

// A stop is asked for politely: what runs is finished and kept. One design of a large model may take minutes, though,
// and whoever stops a sweep wants it to end: after kPatience seconds, or at the second signal, the process ends where
// it stands. The store is as good then: each result in it was written in one transaction.
constexpr unsigned kPatience = 1;
std::atomic<bool> stop_asked{false};
std::string stop_message;  // made before the handlers are there: they may not allocate

void end_at_once(int) {
  // Nobody is left to hear of a failed write.
  if (write(STDERR_FILENO, stop_message.data(), stop_message.size()) < 0) _exit(kInterrupted);
  _exit(kInterrupted);
}

void on_signal(int signal) {
  if (stop_asked) end_at_once(signal);
  stop_asked = true;
  alarm(kPatience);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction before {
  }, now{};
  now.sa_handler = handler;
  now.sa_flags = SA_RESTART;
  // What runs in the background of a script, or under nohup, was told to ignore these.
  if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) return;
  sigaction(signal, &now, nullptr);
}

void handle_stops(const std::string& store) {
  stop_message = fmt::format("stopped; what was finished is in {}: the same command goes on from there\n", store);
  handle(SIGALRM, end_at_once);
  handle(SIGINT, on_signal);
  handle(SIGTERM, on_signal);
}

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
    expect_one_of("--check", a.check, {"none", "static", "twin", "full"});
    spec.check = a.check;
  }
  const std::string out = a.out.empty() ? "out/" + spec.name : a.out;
  check_folder(out);
  ProgressLine line(a.quiet);
  SweepOptions o;
  o.store_path = out + "/store.sqlite";
  handle_stops(o.store_path);
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
    alarm(0);
    std::fputs(stop_message.c_str(), stderr);
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
