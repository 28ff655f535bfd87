#include "tests/fuzz/mutator.h"

#include <algorithm>
#include <utility>

namespace assay {
namespace {

bool is_wordy(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}
bool is_decimal(char c) { return c >= '0' && c <= '9'; }

struct TextRange {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

/// Runs of word characters, and every other visible character by itself.
std::vector<TextRange> token_ranges(const std::string& s) {
  std::vector<TextRange> out;
  for (std::size_t i = 0; i < s.size();) {
    std::size_t j = i + 1;
    if (is_wordy(s[i]))
      while (j < s.size() && is_wordy(s[j])) ++j;
    if (s[i] != ' ' && s[i] != '\n') out.push_back({i, j});
    i = j;
  }
  return out;
}

std::vector<TextRange> number_ranges(const std::string& s) {
  std::vector<TextRange> out;
  for (std::size_t i = 0; i < s.size();) {
    if (!is_decimal(s[i])) {
      ++i;
      continue;
    }
    std::size_t j = i + 1;
    while (j < s.size() && is_decimal(s[j])) ++j;
    out.push_back({i, j});
    i = j;
  }
  return out;
}

std::vector<TextRange> line_ranges(const std::string& s) {
  std::vector<TextRange> out;
  for (std::size_t i = 0; i < s.size();) {
    const std::size_t end = std::min(s.find('\n', i), s.size() - 1) + 1;
    out.push_back({i, end});
    i = end;
  }
  return out;
}

std::string replaced_range(const std::string& s, TextRange r, const std::string& with) {
  return s.substr(0, r.begin) + with + s.substr(r.end);
}

std::string repeated(const std::string& s, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += s;
  return out;
}

/// `levels` lists of nine aliases of the list before: 9^levels values when unfolded.
std::string alias_bomb(std::size_t levels) {
  std::string out = "b0: &b0 [x, x, x, x, x, x, x, x, x]\n";
  for (std::size_t i = 1; i < levels; ++i) {
    const std::string before = std::to_string(i - 1), now = std::to_string(i);
    out += "b" + now + ": &b" + now + " [*b" + before + repeated(", *b" + before, 8) + "]\n";
  }
  return out;
}

}  // namespace

const std::vector<std::string>& absurd_numbers() {
  static const std::vector<std::string> numbers{"0",
                                                "-0",
                                                "-1",
                                                "1",
                                                "2",
                                                "3",
                                                "010",
                                                "0x10",
                                                "255",
                                                "65535",
                                                "65536",
                                                "1000000",
                                                "2147483647",
                                                "2147483648",
                                                "4294967295",
                                                "4294967296",
                                                "-2147483648",
                                                "1099511627776",
                                                "1152921504606846976",
                                                "9223372036854775807",
                                                "9223372036854775808",
                                                "-9223372036854775808",
                                                "18446744073709551615",
                                                "18446744073709551616",
                                                "99999999999999999999999999999999999999",
                                                "1e9",
                                                "1e18",
                                                "1e29",
                                                "1e308",
                                                "1e-320",
                                                "1e99999",
                                                "0.5",
                                                "0.0000000001",
                                                "nan",
                                                "inf",
                                                ".5",
                                                "5."};
  return numbers;
}

Mutator::Mutator(const std::vector<std::string>& seeds, InputForm form, std::uint64_t seed)
    : seeds_(seeds), form_(form), random_(seed) {}

std::size_t Mutator::below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random_.next() % n); }

const std::string& Mutator::any_seed() { return seeds_[below(seeds_.size())]; }

std::string Mutator::next() {
  std::string s = any_seed();
  const std::size_t times = 1 + below(4);
  for (std::size_t i = 0; i < times; ++i) mutate(s);
  if (s.size() > kLargest) s.resize(kLargest);
  return s;
}

void Mutator::mutate(std::string& s) {
  const std::size_t dice = below(10);
  if (form_ == InputForm::bytes || dice < 3) return mutate_bytes(s);
  if (form_ == InputForm::yaml && dice < 5) return mutate_yaml(s);
  mutate_text(s);
}

void Mutator::mutate_bytes(std::string& s) {
  const std::size_t at = below(s.size());
  const std::size_t length = 1 + below(std::min<std::size_t>(s.size() - at, 64));
  switch (below(7)) {
    case 0:
      if (!s.empty()) s[at] = static_cast<char>(s[at] ^ (1 << below(8)));
      break;
    case 1:
      if (!s.empty()) s[at] = static_cast<char>(below(256));
      break;
    case 2:
      s.resize(at);
      break;
    case 3: {  // the beginning of one, the end of another
      const std::string& other = any_seed();
      s = s.substr(0, at) + other.substr(below(other.size()));
      break;
    }
    case 4:
      s.erase(at, length);
      break;
    case 5:
      s.insert(at, s.substr(at, length));
      break;
    default:
      s.insert(at, std::string(1 + below(8), static_cast<char>(below(256))));
  }
}

void Mutator::mutate_text(std::string& s) {
  const std::vector<TextRange> tokens = token_ranges(s);
  if (tokens.empty()) return mutate_bytes(s);
  const TextRange token = tokens[below(tokens.size())];
  const std::string word = s.substr(token.begin, token.size());
  switch (below(11)) {
    case 0:
      s = replaced_range(s, token, word + " " + word);
      break;
    case 1:
      s = replaced_range(s, token, "");
      break;
    case 2: {
      const TextRange other = tokens[below(tokens.size())];
      s = replaced_range(s, token, s.substr(other.begin, other.size()));
      break;
    }
    case 3: {
      const std::string& seed = any_seed();
      const std::vector<TextRange> there = token_ranges(seed);
      if (there.empty()) break;
      const TextRange other = there[below(there.size())];
      s = replaced_range(s, token, seed.substr(other.begin, other.size()));
      break;
    }
    case 4: {
      const std::vector<TextRange> lines = line_ranges(s);
      const TextRange line = lines[below(lines.size())];
      s.insert(lines[below(lines.size())].begin, s.substr(line.begin, line.size()));
      break;
    }
    case 5: {
      const std::vector<TextRange> lines = line_ranges(s);
      s = replaced_range(s, lines[below(lines.size())], "");
      break;
    }
    case 6:
    case 7: {
      const std::vector<TextRange> numbers = number_ranges(s);
      if (numbers.empty()) break;
      s = replaced_range(s, numbers[below(numbers.size())], absurd_numbers()[below(absurd_numbers().size())]);
      break;
    }
    case 8: {
      static const std::vector<std::pair<std::string, std::string>> brackets{
          {"[", "]"}, {"{", "}"}, {"(", ")"}, {"{a: ", "}"}, {"[x, ", "]"}, {"-(", ")"}, {"${", "}"}, {"- ", ""}};
      const auto& [open, close] = brackets[below(brackets.size())];
      const std::size_t depth = std::size_t{1} << (2 + below(13));
      const bool closed = below(2) == 0;
      s = replaced_range(s, token, repeated(open, depth) + word + (closed ? repeated(close, depth) : ""));
      break;
    }
    case 9: {
      std::string out;
      for (const char c : s) out += c == '\n' ? "\r\n" : std::string(1, c);
      s = std::move(out);
      break;
    }
    default: {
      static const std::vector<std::string> odd{"\t",
                                                "\r",
                                                std::string(1, '\0'),
                                                "\xff",
                                                "\xc3",
                                                "\xed\xa0\x80",
                                                "\xef\xbb\xbf",
                                                "\"",
                                                "'",
                                                "\\",
                                                "#",
                                                "*",
                                                "&",
                                                "!",
                                                "%",
                                                "\n",
                                                "é"};
      s.insert(token.begin, odd[below(odd.size())]);
    }
  }
}

void Mutator::mutate_yaml(std::string& s) {
  const std::vector<TextRange> lines = line_ranges(s);
  if (lines.empty()) return mutate_bytes(s);
  const TextRange line = lines[below(lines.size())];
  switch (below(5)) {
    case 0:
      s = alias_bomb(1 + below(40)) + s;
      break;
    case 1: {  // an anchor and aliases of it, perhaps inside itself
      const std::size_t colon = s.find(": ", line.begin);
      if (colon == std::string::npos) break;
      s.insert(colon + 2, "&z ");
      const std::size_t later = s.find(": ", colon + 1 + below(s.size() - colon - 1));
      if (later != std::string::npos) s.insert(later + 2, "*z #");
      break;
    }
    case 2:
      s.insert(line.begin, std::string(1 + below(6), ' '));
      break;
    case 3: {
      static const std::vector<std::string> values{"null",
                                                   "~",
                                                   "{}",
                                                   "[]",
                                                   "[[]]",
                                                   "true",
                                                   "|",
                                                   ">",
                                                   "!!int 3",
                                                   "<<: x",
                                                   "${1/0}",
                                                   "${x}",
                                                   "\"\"",
                                                   "''",
                                                   "---",
                                                   "...",
                                                   "? x",
                                                   "1 KB",
                                                   "-1 B",
                                                   "1 parsec",
                                                   "[1, 2]",
                                                   "[2, 1]",
                                                   "{value: 1, source: s}"};
      const std::size_t colon = s.find(": ", line.begin);
      if (colon == std::string::npos) break;
      const std::size_t end = std::min(s.find_first_of(",}\n", colon + 2), s.size());
      s = replaced_range(s, {colon + 2, end}, values[below(values.size())]);
      break;
    }
    default: {  // a whole block from another seed
      const std::string& other = any_seed();
      const std::vector<TextRange> there = line_ranges(other);
      if (there.empty()) break;
      const std::size_t first = below(there.size());
      const std::size_t last = std::min(first + 1 + below(5), there.size()) - 1;
      s.insert(line.begin, other.substr(there[first].begin, there[last].end - there[first].begin));
    }
  }
}

}  // namespace assay
