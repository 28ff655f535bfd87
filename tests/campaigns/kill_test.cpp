#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "core/base/random.h"
#include "tests/campaigns/campaign.h"

// A sweep that is killed at any moment goes on from there, and nobody can tell from what it exports.

namespace assay {
namespace {

/// Kills in all: ASSAY_KILLS, or as many as the quick tests have time for.
int wanted_kills() {
  const char* text = std::getenv("ASSAY_KILLS");
  return text != nullptr ? std::atoi(text) : 20;
}

/// The largest k of "points: k/8" that was said. A result is kept before it is announced.
std::int64_t announced(const std::string& err) {
  std::int64_t most = 0;
  for (std::size_t at = err.find("points: "); at != std::string::npos; at = err.find("points: ", at + 1))
    most = std::max<std::int64_t>(most, std::atoi(err.c_str() + at + 8));
  return most;
}

void sleep_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

}  // namespace

TEST_CASE("a sweep killed at random moments loses nothing that it finished, and exports the same bytes in the end") {
  const SmallSweep sweep;
  const auto& expected = sweep.expected();
  const std::uint64_t seed = 20;
  MESSAGE("seed " << seed);
  Random random(seed);
  int kills = 0, too_late = 0;
  double whole = run_to_end(sweep.folder(), SmallSweep::command("timed")).seconds;
  for (int series = 0; kills < wanted_kills(); ++series) {
    const std::string out = "out" + std::to_string(series);
    const int threads = 1 + series % 2;
    std::int64_t before = 0;
    for (bool finished = false; !finished;) {
      RunningAssay run(sweep.folder(), SmallSweep::command(out, threads));
      // The last kills of a series come too late: the sweep has ended.
      sleep_for(whole * random.uniform());
      run.send(SIGKILL);
      const EndedRun e = run.wait();
      CAPTURE(kills);
      CAPTURE(e.err);
      finished = e.signal != SIGKILL;
      if (finished) {
        ++too_late;
        REQUIRE(e.code == 0);
        break;
      }
      ++kills;
      const std::int64_t now = sweep.stored(out).value_or(0);
      CHECK(now >= before);
      CHECK(now >= announced(e.err));
      before = now;
      if (kills >= wanted_kills()) {
        const EndedRun last = run_to_end(sweep.folder(), SmallSweep::command(out, threads));
        CAPTURE(last.err);
        REQUIRE(last.code == 0);
        finished = true;
      }
    }
    // What a killed export leaves behind is replaced by the next.
    auto exports = sweep.exports(out);
    CHECK(first_difference(exports, expected) == "");
    std::error_code none;
    std::filesystem::remove_all(sweep.path(out), none);
  }
  MESSAGE(kills << " kills, " << too_late << " sweeps had ended before");
}

TEST_CASE("a sweep exports the same bytes with one thread and with two") {
  const SmallSweep sweep;
  const EndedRun e = run_to_end(sweep.folder(), SmallSweep::command("two", 2));
  CAPTURE(e.err);
  REQUIRE(e.code == 0);
  CHECK(first_difference(sweep.exports("two"), sweep.expected()) == "");
}

TEST_CASE("a sweep run again from its store exports the same bytes and computes nothing") {
  const SmallSweep sweep;
  const auto expected = sweep.expected();
  const EndedRun e = run_to_end(sweep.folder(), SmallSweep::command("undisturbed", 2));
  CHECK(e.code == 0);
  CHECK(e.err.find("points: 8/8, 8 from the store") != std::string::npos);
  CHECK(first_difference(sweep.exports("undisturbed"), expected) == "");
}

TEST_CASE("SIGINT and SIGTERM end a sweep within two seconds, with a message and a store that goes on") {
  const SmallSweep sweep;
  Random random(7);
  for (const int signal : {SIGINT, SIGTERM}) {
    for (int round = 0; round < 3; ++round) {
      CAPTURE(signal);
      CAPTURE(round);
      const std::string out = "stop" + std::to_string(signal) + std::to_string(round);
      RunningAssay run(sweep.folder(), SmallSweep::command(out, 2));
      REQUIRE(run.wait_until_said("points: " + std::to_string(2 * round) + "/8"));
      const auto sent = std::chrono::steady_clock::now();
      run.send(signal);
      const EndedRun e = run.wait();
      CAPTURE(e.err);
      CHECK(std::chrono::steady_clock::now() - sent < std::chrono::seconds(2));
      CHECK(e.code == 130);
      CHECK(e.err.find("stopped; what was finished is in " + out + "/store.sqlite") != std::string::npos);
      CHECK(e.out == "");
      CHECK(!std::filesystem::exists(sweep.path(out) + "/result.json"));
      CHECK(sweep.stored(out).value_or(0) >= 2 * round);
      const EndedRun again = run_to_end(sweep.folder(), SmallSweep::command(out, 2));
      CHECK(again.code == 0);
      CHECK(first_difference(sweep.exports(out), sweep.expected()) == "");
    }
  }
}

}  // namespace assay
