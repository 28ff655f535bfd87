#include "reports/markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/format.h"

namespace assay {
namespace {

class MarkdownWriter {
 public:
  explicit MarkdownWriter(const MarkdownOptions& options) : options_(options) {}

  std::string render(const Document& d) {
    out_ = "# " + escape_markdown(d.title) + "\n\n";
    if (!d.subtitle.empty()) out_ += escape_markdown(d.subtitle) + "\n\n";
    for (const Section& s : d.sections) {
      out_ += "## " + escape_markdown(s.title) + "\n\n";
      blocks(s.blocks);
    }
    while (out_.ends_with("\n\n")) out_.pop_back();
    return std::move(out_);
  }

 private:
  void blocks(const std::vector<Block>& list) {
    for (const Block& b : list) std::visit([&](const auto& v) { block(v); }, b.value);
  }

  void block(const Paragraph& p) {
    const std::string text = escape_markdown(p.text);
    out_ += p.lead                                        ? "**" + text + "**\n\n"
            : p.tone == Tone::warn || p.tone == Tone::bad ? "> " + text + "\n\n"
                                                          : text + "\n\n";
  }
  void block(const Heading& h) {
    out_ += fmt::format("{} {}\n\n", std::string(static_cast<std::size_t>(level_), '#'), escape_markdown(h.text));
  }
  void block(const List& l) {
    for (const auto& item : l.items) out_ += "- " + escape_markdown(item) + "\n";
    out_ += "\n";
  }
  void block(const Facts& f) {
    for (const auto& [name, value] : f.items)
      out_ += fmt::format("- {}: {}\n", escape_markdown(name), escape_markdown(value));
    out_ += "\n";
  }

  void block(const Table& t) {
    if (!t.caption.empty()) out_ += "*" + escape_markdown(t.caption) + "*\n\n";
    std::vector<ColumnFormat> formats;
    std::string rule = "|";
    out_ += "|";
    for (std::size_t c = 0; c < t.columns.size(); ++c) {
      formats.push_back(column_format(t, c));
      out_ += " " + escape_markdown(column_title(t.columns[c], formats.back())) + " |";
      rule += t.columns[c].unit == Unit::text ? " --- |" : " ---: |";
    }
    out_ += "\n" + rule + "\n";
    for (std::size_t r = 0; r < std::min(t.rows.size(), options_.max_rows); ++r) {
      out_ += "|";
      for (std::size_t c = 0; c < t.columns.size(); ++c)
        out_ += " " + escape_markdown(cell_text(t.rows[r][c], formats[c])) + " |";
      out_ += "\n";
    }
    out_ += "\n";
    if (t.rows.size() > options_.max_rows)
      out_ += fmt::format("{} more; the CSV export holds all.\n\n", counted(t.rows.size() - options_.max_rows, "row"));
  }

  void block(const Chart& c) { out_ += fmt::format("*{}.* {}\n\n", escape_markdown(c.title), escape_markdown(c.alt)); }

  void block(const Svg& s) {
    if (!s.note.empty()) out_ += "> " + escape_markdown(s.note) + "\n\n";
    // Longer than any run of backticks inside.
    std::size_t run = 0, longest = 2;
    for (char ch : s.source) longest = std::max(longest, run = ch == '`' ? run + 1 : 0);
    const std::string fence(longest + 1, '`');
    out_ += fmt::format("{}dot\n{}\n{}\n\n", fence, clean_utf8(s.source), fence);
  }

  void block(const Details& d) {
    // On one line: a blank one would end the raw HTML and begin Markdown.
    out_ += "<details><summary>" + escape_html(escape_terminal(d.summary)) + "</summary>\n\n";
    blocks(d.blocks);
    out_ += "</details>\n\n";
  }

  void block(const Choice& c) {
    ++level_;
    for (const auto& panel : c.panels) {
      out_ += fmt::format("{} {}\n\n", std::string(static_cast<std::size_t>(level_ - 1), '#'),
                          escape_markdown(panel.title));
      blocks(panel.blocks);
    }
    --level_;
  }

  const MarkdownOptions& options_;
  std::string out_;
  int level_ = 3;
};

}  // namespace

std::string render_markdown(const Document& document, const MarkdownOptions& options) {
  return MarkdownWriter(options).render(document);
}

}  // namespace assay
