#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "reports/graphviz.h"
#include "reports/svg.h"

namespace assay {
namespace {

/// A program of a few lines of shell in place of dot.
class StandIn {
 public:
  explicit StandIn(const std::string& script) {
    path_ = (std::filesystem::temp_directory_path() / "assay_dot_XXXXXX").string();
    const int fd = mkstemp(path_.data());
    REQUIRE(fd >= 0);
    close(fd);
    std::ofstream(path_) << "#!/bin/sh\n" << script << "\n";
    chmod(path_.c_str(), 0700);
  }
  ~StandIn() { std::filesystem::remove(path_); }
  GraphvizResult run(GraphvizOptions options = {}) const {
    options.program = path_;
    return run_graphviz("digraph { a -> b }", options);
  }

 private:
  std::string path_;
};

bool have_dot() {
  if (std::system("command -v dot >/dev/null 2>&1") == 0) return true;
  MESSAGE("skipped: no dot here");
  return false;
}

}  // namespace

TEST_CASE("dot draws a graph, and what it draws is safe to put into a page") {
  if (!have_dot()) return;
  const auto r =
      run_graphviz("digraph { a [label=\"<script>é\", URL=\"javascript:x\"]; b [image=\"/etc/passwd\"]; a -> b }");
  CHECK(r.error == "");
  CHECK(r.svg.starts_with("<svg"));
  CHECK(r.svg.find("&lt;script&gt;é") != r.svg.npos);
  for (const char* bad : {"href", "javascript", "<script", "<image", "xmlns", " id=", "<!--", "<?"}) {
    INFO(bad);
    CHECK(r.svg.find(bad) == r.svg.npos);
  }
  CHECK(run_graphviz("digraph { a -> b }").svg == run_graphviz("digraph { a -> b }").svg);
}

TEST_CASE("every way of not drawing is a reason, not a crash") {
  CHECK(run_graphviz("digraph {}", {.program = "no-such-program-here"}).error ==
        "'no-such-program-here' could not be run: No such file or directory (Debian: apt install graphviz)");
  if (have_dot()) CHECK(run_graphviz("digraph { a -> ").error.find("syntax error") != std::string::npos);
  std::string many = "digraph {";
  for (int i = 0; i < 2001; ++i) many += " a -> b;";
  CHECK(run_graphviz(many + "}").error == "2001 edges are too many to draw (limit 2000)");
  CHECK(StandIn("sleep 10").run({.timeout_ms = 100}).error.find("took longer than 100 ms") != std::string::npos);
  CHECK(StandIn("exec sleep 10 >/dev/null 2>&1").run({.timeout_ms = 100}).error.find("took longer than 100 ms") !=
        std::string::npos);
  CHECK(StandIn("head -c 100000 /dev/zero").run({.max_output = 5000}).error.find("wrote more than 5000 bytes") !=
        std::string::npos);
  CHECK(StandIn("kill -SEGV $$").run().error.find("signal 11") != std::string::npos);
  CHECK(StandIn("echo why >&2; exit 3").run().error.find("exit code 3): why") != std::string::npos);
  CHECK(StandIn("echo hello").run().error.find("wrote no usable SVG: there is no <svg> in it") != std::string::npos);
  CHECK(StandIn("cat >/dev/null; echo '<svg width=\"1\"></svg>'").run().svg == "<svg width=\"1\"></svg>");
}

TEST_CASE("a report whose graph can't be drawn keeps the text and says why") {
  GraphDrawer drawer({.program = "no-such-program-here"});
  const Svg svg = drawer.draw("g", "digraph { a -> b }");
  CHECK(svg.svg == "");
  CHECK(svg.source == "digraph { a -> b }");
  CHECK(svg.note.starts_with("The graph is not drawn: 'no-such-program-here' could not be run"));
}

TEST_CASE("the SVG sanitiser keeps shapes and text and drops everything else") {
  const auto clean = [](const char* text) { return sanitise_svg(text).svg; };
  CHECK(clean("<?xml version=\"1.0\"?><!DOCTYPE svg PUBLIC \"x\" \"y\"><!-- c --><svg width='8' xmlns=\"http://x\"><g "
              "id=\"a\" class=\"node\"><path d=\"M0 0\"/></g></svg>") ==
        "<svg width=\"8\"><g class=\"node\"><path d=\"M0 0\"/></g></svg>");
  CHECK(clean("<svg onload=\"x()\"><script>alert(1)</script><style>*{}</style><text "
              "fill=\"url(http://x)\">a&amp;b</text></svg>") == "<svg><text>a&amp;b</text></svg>");
  CHECK(clean("<svg><a xlink:href=\"http://x\"><text>t</text></a><image href=\"x\"/></svg>") ==
        "<svg><text>t</text></svg>");
  CHECK(clean("<svg><foreignObject><g><text>no</text></g></foreignObject><text>yes</text></svg>") ==
        "<svg><text>yes</text></svg>");
  CHECK(clean("<svg><text>a & b &#x27; &bogus !</text></svg>") ==
        "<svg><text>a &amp; b &#x27; &amp;bogus !</text></svg>");
  CHECK(clean("<svg><title>x</title></svg><svg><script/></svg>") == "<svg><title>x</title></svg>");
}

TEST_CASE("malformed SVG is refused with a reason") {
  const auto why = [](const std::string& text) { return sanitise_svg(text).error; };
  CHECK(why("") == "there is no <svg> in it");
  CHECK(why("<g></g>") == "it does not start with <svg>");
  CHECK(why("<svg><g></svg>") == "tags do not balance at </svg>");
  CHECK(why("<svg><g>") == "it ends inside <g>");
  CHECK(why("<svg><g") == "a tag does not end");
  CHECK(why("<svg><!-- ") == "a comment does not end");
  CHECK(why("<!DOCTYPE svg [<!ENTITY a \"b\">]><svg></svg>") == "it declares entities or raw data");
  CHECK(why("<svg><![CDATA[<script>]]></svg>") == "it declares entities or raw data");
  CHECK(why("<!DOCTYPE svg") == "a declaration does not end");
  CHECK(why("<svg width=8></svg>") == "attributes of <svg> are not well formed");
  std::string deep = "<svg>";
  for (int i = 0; i < 2000; ++i) deep += "<g>";
  CHECK(why(deep) == "it is nested too deeply");
}

}  // namespace assay
