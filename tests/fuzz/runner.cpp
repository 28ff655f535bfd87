#include "tests/fuzz/runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "core/base/check.h"
#include "core/base/error.h"
#include "tests/fuzz/memory_meter.h"

// Sanitizers end the process by themselves; this lets the input be kept first. Absent otherwise.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace assay {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr std::size_t kLongestMessage = 32'000;  ///< more is no message but a flood

/// What a signal handler needs to keep the current input: plain memory and system calls only.
struct CurrentInput {
  const char* data = nullptr;
  std::size_t size = 0;
  char path[512] = {};
};
CurrentInput current;

void say(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) _exit(3);
}

void keep_current_input() {
  if (current.data == nullptr) return;
  const int file = open(current.path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || write(file, current.data, current.size) < 0) say("the input could not be kept\n");
  say("failing input: ");
  say(current.path);
  say("\n");
}

void on_fatal_signal(int signal) {
  say(signal == SIGPROF || signal == SIGALRM ? "\nhang: " : "\ncrash: ");
  say(signal == SIGSEGV   ? "segmentation fault (or stack overflow)\n"
      : signal == SIGABRT ? "abort\n"
      : signal == SIGFPE  ? "arithmetic error\n"
      : signal == SIGPROF ? "more CPU time than an input may take\n"
      : signal == SIGALRM ? "more time than an input may take\n"
                          : "fatal signal\n");
  keep_current_input();
  _exit(1);
}

void install_guards() {
  static pid_t done = 0;  // a forked process may have got handlers of its own
  if (done == getpid()) return;
  done = getpid();
  static std::array<char, 1U << 16> stack;
  stack_t alternate{};
  alternate.ss_sp = stack.data();
  alternate.ss_size = stack.size();
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_handler = on_fatal_signal;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGPROF, &action, nullptr);
  sigaction(SIGALRM, &action, nullptr);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(keep_current_input);
    return;  // its report says more than ours
  }
  for (const int s : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) sigaction(s, &action, nullptr);
}

void set_clocks(int cpu_seconds) {
  itimerval cpu{}, wall{};
  cpu.it_value.tv_sec = cpu_seconds * (kSanitized ? 10 : 1);
  wall.it_value.tv_sec = cpu.it_value.tv_sec * 12;  // a busy machine is no hang
  setitimer(ITIMER_PROF, &cpu, nullptr);
  setitimer(ITIMER_REAL, &wall, nullptr);
}

enum class Outcome : unsigned char { accepted, refused, failed };

/// `what` starts with the kind of the failure.
Outcome guarded(const FuzzTarget& target, const std::string& input, const FuzzOptions& options, std::string& what) {
  install_guards();
  current.data = input.data();
  current.size = input.size();
  Outcome outcome = Outcome::accepted;
  set_clocks(options.cpu_seconds);
  set_memory_limit(options.memory);
  const auto refused = [&](const std::string& message) {
    outcome = Outcome::refused;
    if (message.empty() || message.size() > kLongestMessage) {
      outcome = Outcome::failed;
      what = fmt::format("message: of {} bytes", message.size());
    }
  };
  try {
    target.read(input);
  } catch (const InputError& e) {
    refused(e.what());
  } catch (const Infeasible& e) {
    refused(e.what());
  } catch (const std::bad_alloc&) {
    outcome = Outcome::failed;
    what = "memory: bad_alloc";
  } catch (const InternalError& e) {
    outcome = Outcome::failed;
    what = std::string("internal error: ") + e.what();
  } catch (const std::exception& e) {
    outcome = Outcome::failed;
    what = std::string("exception: ") + e.what();
  } catch (...) {
    outcome = Outcome::failed;
    what = "exception: of no known type";
  }
  clear_memory_limit();
  set_clocks(0);
  if (outcome != Outcome::failed && memory_limit_was_hit()) {
    outcome = Outcome::failed;
    what = "memory: more than an input may take";
  }
  current.data = nullptr;
  return outcome;
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<std::filesystem::path> sorted_files(const std::string& folder) {
  std::vector<std::filesystem::path> out;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

/// Messages with other numbers and names in them are one kind of failure.
std::string kind_of(const std::string& what) {
  std::string kind;
  for (const char c : what.substr(0, 120)) {
    if (c < '0' || c > '9') kind += c;
  }
  return kind.substr(0, 60);
}

class Campaign {
 public:
  Campaign(const FuzzTarget& target, const FuzzOptions& options) : target_(target), options_(options) {}

  FuzzSummary run() {
    std::vector<std::string> seeds = target_.seeds;
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      if (one(seeds[i], fmt::format("seed-{}", i)) == Outcome::refused)
        fail(fmt::format("seed: {} is refused", i), seeds[i], fmt::format("seed-{}", i));
    }
    for (const auto& path : sorted_files(options_.corpus)) {
      seeds.push_back(file_text(path));
      one(seeds.back(), path.filename().string());
    }
    seeds.insert(seeds.end(), target_.material.begin(), target_.material.end());
    Mutator mutator(seeds, target_.form, options_.seed);
    Random random(options_.seed, target_.name);
    for (std::int64_t i = 0; i < options_.iterations; ++i) {
      std::string input;
      if (target_.mutate && i % 2 == 1)
        input = target_.mutate(seeds[static_cast<std::size_t>(random.next() % seeds.size())], random);
      else
        input = mutator.next();
      one(input, std::to_string(i));
    }
    return summary_;
  }

 private:
  std::string artefact(const std::string& name) const {
    return fmt::format("{}/fuzz-{}-{}-{}", options_.artefacts, target_.name, options_.seed, name);
  }

  Outcome one(const std::string& input, const std::string& name) {
    const std::string path = artefact(name);
    std::snprintf(current.path, sizeof current.path, "%s", path.c_str());
    std::string what;
    const Outcome outcome = guarded(target_, input, options_, what);
    summary_.accepted += outcome == Outcome::accepted;
    summary_.refused += outcome == Outcome::refused;
    if (outcome == Outcome::failed) fail(what, input, name);
    return outcome;
  }

  void fail(const std::string& what, const std::string& input, const std::string& name) {
    if (!kinds_.insert(kind_of(what)).second) return;
    std::ofstream(artefact(name), std::ios::binary) << input;
    summary_.failures.push_back(fmt::format("{} [input {}]", what.substr(0, 600), artefact(name)));
  }

  const FuzzTarget& target_;
  const FuzzOptions& options_;
  FuzzSummary summary_;
  std::set<std::string> kinds_;
};

}  // namespace

FuzzSummary fuzz(const FuzzTarget& target, const FuzzOptions& options) { return Campaign(target, options).run(); }

std::string replay(const FuzzTarget& target, const std::string& input, const FuzzOptions& options) {
  std::snprintf(current.path, sizeof current.path, "%s", (options.artefacts + "/fuzz-replayed").c_str());
  std::string what;
  return guarded(target, input, options, what) == Outcome::failed ? what : "";
}

}  // namespace assay

extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "max_allocation_size_mb=2048:detect_stack_use_after_return=0";
}
