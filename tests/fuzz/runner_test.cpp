#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <set>
#include <stdexcept>

#include "core/base/check.h"
#include "core/base/error.h"
#include "tests/fuzz/runner.h"

// Who guards the guard: each kind of misbehaviour is seen, and the input that caused it is kept.

namespace assay {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitizerCounts = true;
#else
constexpr bool kSanitizerCounts = false;
#endif

struct ArtefactFolder {
  std::string path = (std::filesystem::temp_directory_path() / "assay-artefacts-XXXXXX").string();
  ArtefactFolder() {
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no folder");
  }
  ~ArtefactFolder() {
    std::error_code none;
    std::filesystem::remove_all(path, none);
  }
  ArtefactFolder(const ArtefactFolder&) = delete;
  ArtefactFolder& operator=(const ArtefactFolder&) = delete;
  std::string text(const std::string& name) const {
    std::ifstream in(path + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
};

FuzzTarget target(std::function<void(const std::string&)> read) {
  return {.name = "t", .form = InputForm::text, .seeds = {"good: 1\n"}, .read = std::move(read)};
}

/// Memory that no compiler can leave out.
void take(std::size_t bytes) {
  static std::string* volatile kept;
  kept = new std::string(bytes, 'x');
  delete kept;
}

/// What replaying "spoilt" to a reader that accepts the seed and does `bad` otherwise says.
std::string verdict_on(const std::function<void()>& bad) {
  const ArtefactFolder folder;
  FuzzOptions options;
  options.artefacts = folder.path;
  options.memory = 1 << 20;
  const FuzzTarget t = target([&](const std::string&) { bad(); });
  return replay(t, "spoilt", options);
}

/// Exit code of a process that replays "spoilt" (it is expected to end there), and what it kept of the input.
std::pair<int, std::string> fate_of(const std::function<void()>& bad) {
  const ArtefactFolder folder;
  const pid_t pid = fork();
  if (pid == 0) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(9);
    FuzzOptions options;
    options.artefacts = folder.path;
    options.cpu_seconds = 1;
    const FuzzTarget t = target([&](const std::string&) { bad(); });
    replay(t, "spoilt", options);
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, folder.text("fuzz-replayed")};
}

}  // namespace

TEST_CASE("what is accepted and what is refused with a message is well behaved") {
  CHECK(verdict_on([] {}) == "");
  CHECK(verdict_on([] { throw InputError("key", "is wrong"); }) == "");
  CHECK(verdict_on([] { throw Infeasible("too large"); }) == "");
}

TEST_CASE("another exception, a message that is none and a broken promise are failures") {
  CHECK(verdict_on([] { throw std::out_of_range("map::at"); }) == "exception: map::at");
  CHECK(verdict_on([] { throw InternalError("1 != 2"); }) == "internal error: 1 != 2");
  CHECK(verdict_on([] { throw 3; }) == "exception: of no known type");
  std::string lines;
  for (int i = 0; i < 20'000; ++i) lines += "x\n";
  CHECK(verdict_on([&] { throw InputError("", lines); }).starts_with("message: of 40"));
  CHECK(verdict_on([] { throw Infeasible(""); }) == "message: of 0 bytes");
}

TEST_CASE("more memory than the limit is a failure, also where the exception is caught") {
  if (kSanitizerCounts) return;  // it has its own limit
  CHECK(verdict_on([] { take(1 << 19); }) == "");
  CHECK(verdict_on([] { take(1 << 21); }) == "memory: bad_alloc");
  CHECK(verdict_on([] {
          std::vector<std::string> parts;
          for (int i = 0; i < 40; ++i) parts.emplace_back(1 << 16, 'x');
        }) == "memory: bad_alloc");
  CHECK(verdict_on([] {
          try {
            take(1 << 21);
          } catch (const std::bad_alloc&) {
            throw InputError("size", "too large");
          }
        }) == "memory: more than an input may take");
}

TEST_CASE("a crash, a runaway recursion and an endless loop end the process, and the input is kept") {
  if (kSanitizerCounts) return;  // its own report and exit code
  using Fate = std::pair<int, std::string>;
  CHECK(fate_of([] { raise(SIGSEGV); }) == Fate{1, "spoilt"});
  CHECK(fate_of([] { std::abort(); }) == Fate{1, "spoilt"});
  std::function<std::size_t(std::size_t)> deeper = [&](std::size_t n) {
    volatile char frame[4096] = {};
    return n == SIZE_MAX ? 0 : deeper(n + 1) + static_cast<std::size_t>(frame[n % 4096]);
  };
  CHECK(fate_of([&] { deeper(0); }) == Fate{1, "spoilt"});
  std::atomic<bool> never{false};
  CHECK(fate_of([&] {
          while (!never) {
          }
        }) == Fate{1, "spoilt"});
}

TEST_CASE("a campaign reports each kind of failure once, with an input that shows it again") {
  const ArtefactFolder folder;
  FuzzOptions options;
  options.artefacts = folder.path;
  options.iterations = 2000;
  const FuzzTarget t = target([](const std::string& s) {
    if (s != "good: 1\n") throw std::runtime_error("at " + std::to_string(s.size()));
  });
  const FuzzSummary s = fuzz(t, options);
  REQUIRE(s.failures.size() == 1);
  CHECK(s.failures[0].find("exception: at ") == 0);
  const std::string at = s.failures[0].substr(s.failures[0].find("fuzz-t-1-"));
  const std::string input = folder.text(at.substr(0, at.size() - 1));
  CHECK(replay(t, input, options) == "exception: at " + std::to_string(input.size()));
}

TEST_CASE("a campaign fails when a seed is refused or an input of the corpus fails") {
  const ArtefactFolder folder, corpus;
  FuzzOptions options;
  options.artefacts = folder.path;
  options.iterations = 0;
  const auto refusing = target([](const std::string&) { throw InputError("key", "is wrong"); });
  CHECK(fuzz(refusing, options).failures.at(0).find("seed: 0 is refused") == 0);
  const auto picky = target([](const std::string& s) {
    if (s == "once") throw std::runtime_error("again");
  });
  CHECK(fuzz(picky, options).failures.empty());
  options.corpus = corpus.path;
  std::ofstream(corpus.path + "/bug") << "once";
  CHECK(fuzz(picky, options).failures.at(0).find("exception: again") == 0);
}

TEST_CASE("a number gives the same inputs again, and another number others") {
  const std::vector<std::string> seeds{"machine: m\nrows: 16\n", "machine: n\nlanes: [8, 16]\n"};
  for (const InputForm form : {InputForm::text, InputForm::yaml, InputForm::bytes}) {
    Mutator a(seeds, form, 1), b(seeds, form, 1), c(seeds, form, 2);
    std::set<std::string> distinct;
    int same = 0, other = 0;
    for (int i = 0; i < 1000; ++i) {
      const std::string x = a.next();
      same += x == b.next();
      other += x != c.next();
      CHECK(x.size() <= Mutator::kLargest);
      distinct.insert(x);
    }
    CHECK(same == 1000);
    CHECK(other > 900);
    CHECK(distinct.size() > 500);
  }
}

TEST_CASE("among the inputs are truncated, spliced, nested, absurd and CRLF ones, and alias bombs") {
  const std::vector<std::string> seeds{"machine: first\nrows: 16\n", "machine: second\nlanes: [8, 16]\n"};
  Mutator m(seeds, InputForm::yaml, 3);
  std::set<std::string> seen;
  for (int i = 0; i < 5000; ++i) {
    const std::string s = m.next();
    const auto has = [&](const char* part) { return s.find(part) != std::string::npos; };
    if (s.size() < 5) seen.insert("truncated");
    if (has("machine: first") && has("lanes")) seen.insert("spliced");
    if (has("[[[[[[[[") || has("{a: {a: {a: ")) seen.insert("nested");
    if (has("9223372036854775808")) seen.insert("absurd");
    if (has("\r\n")) seen.insert("CRLF");
    if (has("&b9 [*b8, *b8")) seen.insert("bomb");
    if (has("machine: machine: ") || has("rows rows") || has("16 16")) seen.insert("doubled");
    if (has("*z #")) seen.insert("alias of what holds it");
  }
  CHECK(seen.size() == 8);
}

}  // namespace assay
