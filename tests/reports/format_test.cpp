#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/random.h"
#include "reports/format.h"

namespace assay {

TEST_CASE("a quantity gets the prefix that leaves it between 1 and the base, and four digits") {
  CHECK(format_quantity(1.2345e-3, Unit::seconds) == "1.234 ms");
  CHECK(format_quantity(999.99e-6, Unit::seconds) == "1 ms");
  CHECK(format_quantity(12e-6, Unit::seconds) == "12 µs");
  CHECK(format_quantity(3.5e-9, Unit::seconds) == "3.5 ns");
  CHECK(format_quantity(2, Unit::seconds) == "2 s");
  CHECK(format_quantity(0, Unit::seconds) == "0 s");
  CHECK(format_quantity(-1.5e-3, Unit::seconds) == "-1.5 ms");
  CHECK(format_quantity(9.285e-3, Unit::joules) == "9.285 mJ");
  CHECK(format_quantity(34e9, Unit::bytes_per_second) == "34 GB/s");
  CHECK(format_quantity(92e12, Unit::ops_per_second) == "92 TOP/s");
  CHECK(format_quantity(128 * 1024, Unit::capacity) == "128 KiB");
  CHECK(format_quantity(110.3e6, Unit::bytes) == "110.3 MB");
  CHECK(format_quantity(331, Unit::mm2) == "331 mm²");
  CHECK(format_quantity(0.1234, Unit::ratio) == "12.3 %");
  CHECK(format_quantity(0.001234, Unit::ratio) == "0.12 %");
  CHECK(format_quantity(1, Unit::ratio) == "100 %");
  CHECK(format_quantity(4.1e9, Unit::count) == "4.1 G");
  CHECK(format_quantity(24, Unit::count) == "24");
  CHECK(format_quantity(std::numeric_limits<double>::quiet_NaN(), Unit::seconds) == "unknown");
  CHECK(format_quantity(std::numeric_limits<double>::infinity(), Unit::seconds) == "inf s");
}

TEST_CASE("a column has one prefix, and enough decimals for all but its smallest values") {
  const std::vector<double> times{0.0471, 0.0478, 0.979e-3, 27.57e-3};
  const ColumnFormat f = column_format(times, Unit::seconds);
  CHECK(f.unit == "ms");
  CHECK(f(27.57e-3) == "27.570");
  CHECK(f(0.979e-3) == "0.979");
  CHECK(f(1e-9) == "<0.001");
  CHECK(f(-1e-9) == ">-0.001");
  CHECK(f(0) == "0.000");
  CHECK(f(-0.0) == "0.000");
  CHECK(column_title({"Latency", Unit::seconds}, f) == "Latency (ms)");
  const std::vector<double> spread{1.029e-3, 4.561, 1.7e-3};  // the small ones count, too
  CHECK(column_format(spread, Unit::seconds)(1.029e-3) == "1.029");
  CHECK(column_format(spread, Unit::seconds)(4.561) == "4561.000");
  const std::vector<double> counts{1, 2, 30};
  CHECK(column_format(counts, Unit::count)(30) == "30");
  CHECK(column_format(counts, Unit::count).unit == "");
  const std::vector<double> sizes{4096, 1 << 20};
  CHECK(column_format(sizes, Unit::capacity).unit == "KiB");
  CHECK(column_format(sizes, Unit::capacity)(1 << 20) == "1024");
  CHECK(column_format({}, Unit::seconds)(0) == "0.000");
}

TEST_CASE("rounded shares add up to exactly 1, whatever the values") {
  Random random(11);
  for (int round = 0; round < 500; ++round) {
    std::vector<double> values(static_cast<std::size_t>(random.between(1, 40)));
    for (double& v : values) v = random.uniform() < 0.2 ? 0 : std::exp(20 * random.uniform());
    const auto shares = rounded_shares(values);
    long tenths = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      tenths += std::lround(shares[i] * 1000);
      const double sum = std::accumulate(values.begin(), values.end(), 0.0);
      if (sum > 0) CHECK(std::abs(shares[i] - values[i] / sum) < 1.001e-3);
    }
    INFO("seed 11, round ", round);
    CHECK(tenths == (std::accumulate(values.begin(), values.end(), 0.0) > 0 ? 1000 : 0));
  }
}

TEST_CASE("escapes leave nothing that could be markup") {
  const std::string evil = "<a href='x'>\"&amp;|`\n\x1b[31m\xff é🙂";
  CHECK(escape_html(evil) == "&lt;a href=&#39;x&#39;&gt;&quot;&amp;amp;|`\n\uFFFD[31m\uFFFD é🙂");
  CHECK(escape_markdown("a|b <x> *y* [z](u) `c`\n#") == "a\\|b &lt;x&gt; \\*y\\* \\[z\\](u) \\`c\\` \\#");
  CHECK(escape_json("a\"b\\</script>\n") == "\"a\\\"b\\\\\\u003c/script>\\n\"");
  CHECK(escape_csv("plain") == "plain");
  CHECK(escape_csv("a,\"b\"") == "\"a,\"\"b\"\"\"");
  CHECK(escape_csv("two\nlines") == "\"two\nlines\"");
  CHECK(escape_terminal("a\x1b]0;title\x07\nb") == "a\uFFFD]0;title\uFFFD b");
  CHECK(display_width("µ–漢") == 3);
}

TEST_CASE("text that is not UTF-8 is repaired byte by byte") {
  CHECK(clean_utf8("ok é 漢 🙂") == "ok é 漢 🙂");
  CHECK(clean_utf8("\xc0\xaf") == "\uFFFD\uFFFD");                      // overlong
  CHECK(clean_utf8("\xed\xa0\x80") == "\uFFFD\uFFFD\uFFFD");            // surrogate
  CHECK(clean_utf8("\xf4\x90\x80\x80") == "\uFFFD\uFFFD\uFFFD\uFFFD");  // beyond U+10FFFF
  CHECK(clean_utf8("\xe2\x82") == "\uFFFD\uFFFD");                      // cut off
  CHECK(clean_utf8("\xc2\x85") == "\uFFFD");                            // C1 control
}

TEST_CASE("lists in words") {
  CHECK(join_and({}) == "");
  CHECK(join_and({"a"}) == "a");
  CHECK(join_and({"a", "b", "c"}) == "a, b and c");
  CHECK(counted(1, "design") == "1 design");
  CHECK(counted(3, "family", "families") == "3 families");
}

}  // namespace assay
