#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/spec/file_kind.h"
#include "core/spec/load.h"
#include "core/spec/plain_values.h"
#include "core/spec/yaml.h"

using namespace assay;

namespace {

std::string rejected(const std::string& text, const YamlLimits& limits = {}) {
  try {
    parse_yaml(text, "t.yaml", limits);
  } catch (const InputError& e) {
    REQUIRE(!e.diagnostics().empty());
    return e.diagnostics().front().message;
  }
  return "(accepted)";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string repeat(const std::string& s, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += s;
  return out;
}

}  // namespace

TEST_CASE("a tree keeps order, quotes and the place of every key and value") {
  const YamlNode root = parse_yaml("b: 1\na: [x, \"2\"]\nc:\n  d: ~\n", "t.yaml");
  REQUIRE(root.entries.size() == 3);
  CHECK(root.entries[0].key == "b");
  CHECK(root.find("a")->items[1].quoted);
  CHECK_FALSE(root.find("a")->items[0].quoted);
  CHECK(root.find("a")->items[1].pos.line == 2);
  CHECK(root.find("a")->items[1].pos.column == 8);
  CHECK(root.find("c")->find("d")->is_null());
  CHECK(root.find("nothing") == nullptr);
}

TEST_CASE("Windows and old Mac line ends read like Unix ones, with the same line numbers") {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    const YamlNode root = parse_yaml("a: 1" + end + "b:" + end + "  c: text here" + end, "t.yaml");
    CHECK(root.find("a")->text == "1");
    CHECK(root.find("b")->find("c")->text == "text here");
    CHECK(root.find("b")->find("c")->pos.line == 3);
  }
}

TEST_CASE("a byte order mark is accepted, other encodings are named") {
  CHECK(parse_yaml("\xef\xbb\xbf"
                   "a: 1\n",
                   "t.yaml")
            .find("a")
            ->text == "1");
  CHECK(parse_yaml("a: caf\xc3\xa9\n", "t.yaml").find("a")->text == "caf\xc3\xa9");
  CHECK(contains(rejected("a: caf\xe9\n"), "not UTF-8 text: found byte 0xe9"));
  CHECK(contains(rejected("a: \xc0\xaf\n"), "not UTF-8"));          // overlong
  CHECK(contains(rejected("a: \xed\xa0\x80\n"), "not UTF-8"));      // surrogate
  CHECK(contains(rejected("a: \xf4\x90\x80\x80\n"), "not UTF-8"));  // beyond Unicode
  CHECK(contains(rejected("a: \xe2\x82"), "not UTF-8"));            // cut off
  CHECK(contains(rejected(std::string("\x7f"
                                      "ELF\x02\x01\0\0",
                                      8)),
                 "not a text file: found control character 0x7f"));
  CHECK(contains(rejected(std::string("a: \0 1", 6)), "control character 0x00"));
}

TEST_CASE("empty files are refused") {
  CHECK(contains(rejected(""), "the file is empty"));
  CHECK(contains(rejected("\n\n"), "the file is empty"));
  CHECK(contains(rejected("# only a comment\n"), "the file is empty"));
}

TEST_CASE("every duplicate key is reported") {
  try {
    parse_yaml("a: 1\na: 2\nb: {c: 1, c: 2}\n", "t.yaml");
    FAIL("accepted");
  } catch (const InputError& e) {
    REQUIRE(e.diagnostics().size() == 2);
    CHECK(e.diagnostics()[0].pos.line == 2);
    CHECK(e.diagnostics()[0].message == "duplicate key; it stands at line 1 already");
    CHECK(e.diagnostics()[1].pos.line == 3);
  }
}

TEST_CASE("aliases are unfolded, but not without end") {
  const YamlNode root = parse_yaml("a: &x {k: 1}\nb: *x\n", "t.yaml");
  CHECK(root.find("b")->find("k")->text == "1");

  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string p = "*a" + std::to_string(i - 1), n = std::to_string(i);
    bomb += "a" + n + ": &a" + n + " [" + p;
    for (int k = 0; k < 8; ++k) bomb += ", " + p;
    bomb += "]\n";
  }
  CHECK(contains(rejected(bomb), "more than 100000 values (with aliases unfolded)"));
  CHECK(contains(rejected("a: &x {b: *x}\n"), "this alias refers to a node that contains it"));
  CHECK(contains(rejected("a: &x [1, [*x]]\n"), "this alias refers to a node that contains it"));

  std::string tower = "a0: &a0 [x]\n";
  for (int i = 1; i < 80; ++i) {
    tower += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  }
  CHECK(contains(rejected(tower), "nested deeper than 64 levels"));
}

TEST_CASE("deep nesting is refused, whatever it is made of") {
  for (const int depth : {65, 600, 100'000}) {
    CAPTURE(depth);
    for (const char* open : {"[", "{a: ", "- ", "? ", "[[", "{", "&a [", "!!seq ["}) {
      CAPTURE(open);
      CHECK(rejected(repeat(open, depth)) != "(accepted)");
    }
    CHECK(rejected(repeat("[", depth) + repeat("]", depth)) != "(accepted)");
  }
  std::string blocks;
  for (int i = 0; i < 700; ++i) blocks += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  CHECK(rejected(blocks) != "(accepted)");
  CHECK(rejected("a: " + repeat("[", 62) + repeat("]", 62)) == "(accepted)");
}

TEST_CASE("long input is refused by its size, many values by their number") {
  CHECK(contains(rejected(std::string(5 << 20, 'a')), "bytes long"));
  CHECK(contains(rejected("[" + repeat("1,", 100'000) + "1]"), "more than 100000 values"));
  CHECK(contains(rejected("a: 1\nb: 2\n", {.bytes = 5}), "10 bytes long; a description may have 5"));
}

TEST_CASE("files that are no files are refused") {
  const auto message = [](const std::string& path) {
    try {
      load_machine(path);
    } catch (const InputError& e) {
      return e.diagnostics().front().message;
    }
    return std::string("(accepted)");
  };
  CHECK(message("/nowhere/at/all.yaml") == "no such file");
  CHECK(message("/") == "not a regular file");
  CHECK(message("/dev/zero") == "not a regular file");
  CHECK(message("") == "expected a path, found nothing");
}

TEST_CASE("mutilated descriptions never do worse than an input error") {
  std::ifstream in(std::string(ASSAY_SOURCE_DIR) + "/tests/spec/bases/small.yaml");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  REQUIRE(text.size() > 200);
  constexpr std::uint64_t kSeed = 20'240'611;
  Random random(kSeed);
  MESSAGE("seed " << kSeed);
  const std::string alphabet = "{}[]:,-&*!|>'\"%@`#~?<= \n\t0189aAeE.$_\\/";
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string mutant = text;
    for (std::int64_t edits = random.between(1, 6); edits > 0; --edits) {
      const auto at = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(mutant.size()) - 1));
      const auto c =
          alphabet[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(alphabet.size()) - 1))];
      switch (random.between(0, 3)) {
        case 0:
          mutant[at] = c;
          break;
        case 1:
          mutant.insert(at, 1, c);
          break;
        case 2:
          mutant.erase(at, static_cast<std::size_t>(random.between(1, 12)));
          break;
        default:
          mutant.resize(std::max<std::size_t>(at, 1));
          break;
      }
      if (mutant.empty()) mutant = "x";
    }
    CAPTURE(round);
    try {
      const Machine m = parse_machine(mutant, "m.yaml");
      const Machine again = parse_machine(print_machine(m), "p.yaml");
      CHECK(print_machine(again) == print_machine(m));
      ++accepted;
    } catch (const InputError&) {
    }
  }
  CHECK(accepted > 10);
}

TEST_CASE("a bracket that is never closed is told from a list that stands as a key") {
  const auto message = [](const std::string& text) {
    try {
      parse_yaml(text, "m.yaml");
    } catch (const InputError& e) {
      return e.diagnostics().front().message;
    }
    return std::string("accepted");
  };
  CHECK(message("{a: [b, 'c]', \"d}\"") == "this '{' is never closed");
  CHECK(message("[b, {c: d}  # ]\n") == "this '[' is never closed");
  CHECK(message("[it's, b]: c\n") == "found a list or map as a key; expected a name");
}

TEST_CASE("the kind of a file is told by its keys, and another kind is refused in one message") {
  const auto root = [](const std::string& text) { return parse_yaml(text, "f.yaml"); };
  CHECK(kind_of(root("machine: m\n")) == FileKind::machine);
  CHECK(kind_of(root("memories: {}\nclocks: {}\n")) == FileKind::machine);
  CHECK(kind_of(root("workload: w\n")) == FileKind::workload);
  CHECK(kind_of(root("suite: []\n")) == FileKind::suite);
  CHECK(kind_of(root("workloads: []\nmachines: []\n")) == FileKind::sweep);
  CHECK(kind_of(root("a: b\n")) == std::nullopt);
  CHECK(kind_of(root("- a\n")) == std::nullopt);
  CHECK_THROWS_WITH_AS(expect_kind(root("suite: []\n"), FileKind::sweep),
                       "f.yaml:1:1: expected a sweep, found a suite of workloads", InputError);
  CHECK_NOTHROW(expect_kind(root("suite: []\n"), FileKind::workload, FileKind::suite));
  CHECK_NOTHROW(expect_kind(root("a: b\n"), FileKind::machine));
}

TEST_CASE("plain numbers have no leading zeros and no quotes; names can be part of a file's name") {
  const auto number = [](const std::string& text) { return plain_number(parse_yaml(text, "f.yaml")); };
  CHECK(number("10") == 10);
  CHECK(number("-0.5") == -0.5);
  CHECK(number("0") == 0);
  for (const char* bad : {"010", "-01", "00", "'1'", "1x", "nan", "inf", "1e999", "[1]"}) {
    CAPTURE(bad);
    CHECK(number(bad) == std::nullopt);
  }
  for (const char* good : {"a", "resnet 50", "gpt-2.1", "größe"}) CHECK(is_file_name(good));
  for (const char* bad : {"", ".", "..", ".hidden", "a/b", "a\\b", "a\nb"}) CHECK_FALSE(is_file_name(bad));
  CHECK_FALSE(is_file_name(std::string(101, 'a')));
}
