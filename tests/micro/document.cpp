#include "tests/micro/document.h"

#include <fstream>
#include <optional>
#include <stdexcept>

namespace assay {
namespace {

std::string trimmed(const std::string& s) {
  const std::size_t begin = s.find_first_not_of(' ');
  return begin == std::string::npos ? "" : s.substr(begin, s.find_last_not_of(' ') - begin + 1);
}

/// The text between the first two backquotes.
std::optional<std::string> quoted(const std::string& s) {
  const std::size_t begin = s.find('`'), end = s.find('`', begin + 1);
  if (begin == std::string::npos || end == std::string::npos) return std::nullopt;
  return s.substr(begin + 1, end - begin - 1);
}

/// `| a | b |` → a, b.
std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out;
  for (std::size_t begin = 1; begin < line.size();) {
    const std::size_t end = std::min(line.find('|', begin), line.size());
    out.push_back(trimmed(line.substr(begin, end - begin)));
    begin = end + 1;
  }
  return out;
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), in_(path) {
    if (!in_) throw std::runtime_error("can't read " + path);
  }

  MicroDocument run() {
    while (next()) {
      if (line_.starts_with("## ")) title_ = line_.substr(3);
      if (line_.starts_with("Model: ")) d_.cases.push_back({title_, quote(), "", {}, {}, {}});
      if (line_.starts_with("Mapping: ")) {
        std::string& mapping = current().mapping;
        mapping += (mapping.empty() ? "" : "\n") + quote();
      }
      if (line_.starts_with("| ")) table(cells(line_));
    }
    return std::move(d_);
  }

 private:
  bool next() {
    ++number_;
    return static_cast<bool>(std::getline(in_, line_));
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(path_ + ":" + std::to_string(number_) + ": " + what + ": " + line_);
  }

  std::string quote() const {
    const auto q = quoted(line_);
    if (!q) fail("expected `…`");
    return *q;
  }

  MicroCase& current() {
    if (d_.cases.empty()) fail("no model was named yet");
    return d_.cases.back();
  }

  long long whole(const std::string& s) const {
    std::size_t used = 0;
    long long v = 0;
    try {
      v = std::stoll(s, &used);
    } catch (const std::logic_error&) {
      fail("'" + s + "' is no number");
    }
    if (used != s.size()) fail("'" + s + "' is no whole number");
    return v;
  }

  void table(const std::vector<std::string>& header) {
    const std::size_t columns = header.size();
    const std::string kind = header.front();
    next();  // |---|
    while (next() && line_.starts_with("|")) {
      const std::vector<std::string> c = cells(line_);
      if (c.size() != columns) fail("expected " + std::to_string(columns) + " cells");
      row(kind, c);
    }
  }

  void row(const std::string& kind, const std::vector<std::string>& c) {
    if (kind == "engine") {
      current().commands.push_back({c[0], whole(c[2]), whole(c[3]), whole(c[4])});
    } else if (kind == "count") {
      if (!current().counts.emplace(c[0], whole(c[2])).second) fail("listed twice");
    } else if (kind == "energy") {
      if (!current().energy.emplace(c[0], static_cast<double>(whole(c[2]))).second) fail("listed twice");
    } else if (kind == "edit") {
      const auto edit = quoted(c[0]);
      const std::size_t equals = edit ? edit->find('=') : std::string::npos;
      if (equals == std::string::npos) fail("expected `path=value`");
      d_.edits.push_back({c[1], edit->substr(0, equals), edit->substr(equals + 1), whole(c[3])});
    } else {
      fail("a table of an unknown kind");
    }
  }

  std::string path_, line_, title_;
  std::ifstream in_;
  int number_ = 0;
  MicroDocument d_;
};

}  // namespace

MicroDocument read_micro_document(const std::string& path) { return Reader(path).run(); }

}  // namespace assay
