#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "reports/diff.h"
#include "reports/html.h"
#include "reports/section.h"
#include "tests/reports/sample.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

bool have_chromium() {
  if (std::system("command -v chromium >/dev/null 2>&1") == 0) return true;
  MESSAGE("skipped: no chromium here");
  return false;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t i = text.find(part); i != text.npos; i = text.find(part, i + 1)) ++n;
  return n;
}

/// The page as the browser has it some seconds after it was opened from disk.
std::string opened(const std::string& html) {
  std::string folder = (fs::temp_directory_path() / "assay_browser_XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()));
  std::ofstream(folder + "/report.html") << html;
  const std::string command =
      "timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
      "--disable-background-networking --disable-component-update --disable-sync --virtual-time-budget=10000 "
      "--window-size=1400,9000 --user-data-dir='" +
      folder + "/profile' --dump-dom 'file://" + folder + "/report.html' 2>/dev/null";
  std::string out;
  {
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    REQUIRE(pipe);
    std::array<char, 65536> buffer;
    while (const std::size_t n = fread(buffer.data(), 1, buffer.size(), pipe.get())) out.append(buffer.data(), n);
  }
  fs::remove_all(folder);
  return out;
}

void check_opened(const std::string& dom, std::size_t charts) {
  REQUIRE(dom.size() > 100000);
  CHECK(count(dom, "data-ready=\"1\"") == 1);
  const std::size_t failed = dom.find("class=\"bad js-error\"");
  if (failed != dom.npos) FAIL_CHECK(dom.substr(failed, 300));
  const std::size_t made = count(dom, "data-made=\"1\"");
  CHECK(made >= charts);
  // ECharts puts a drawing into each box that was made.
  CHECK(count(dom, "<svg") + count(dom, "<canvas") >= made);
}

}  // namespace

TEST_CASE("a browser opens the report of a sweep without errors and draws its charts") {
  if (!have_chromium()) return;
  const std::string dom = opened(render_html(build_report(sample::sweep())));
  check_opened(dom, 8);
  CHECK(count(dom, "2880 rows") == 1);  // the search table was built from data
  CHECK(count(dom, "aria-label=\"Search in: Layers of all designs\"") == 1);
}

TEST_CASE("a browser opens the report of a single run and of a difference") {
  if (!have_chromium()) return;
  check_opened(opened(render_html(build_report(sample::single_run()))), 8);
  check_opened(opened(render_html(diff(sample::sweep({.layers = 5}), sample::sweep({.layers = 6})))), 0);
}

TEST_CASE("a browser runs none of the scripts in hostile names") {
  if (!have_chromium()) return;
  const std::string dom = opened(render_html(build_report(sample::hostile())));
  check_opened(dom, 5);
  CHECK(count(dom, "<script") == 2);
  CHECK(count(dom, "<img") == 0);
}

}  // namespace assay
