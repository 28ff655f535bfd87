#include "reports/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "reports/format.h"
#include "reports/summary.h"

namespace assay {
namespace {

/// At most `width` columns, the end replaced by `…`.
std::string shorten(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  std::string out;
  std::size_t n = 0;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t next = i + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0) == 0x80) ++next;
    if (++n >= width) break;
    out.append(text, i, next - i);
    i = next;
  }
  return out + "…";
}

std::string pad(const std::string& text, std::size_t width, bool right) {
  const std::size_t have = display_width(text);
  const std::string space(width > have ? width - have : 0, ' ');
  return right ? space + text : text + space;
}

/// Words on lines of at most `width` columns.
std::string wrap(const std::string& text, std::size_t width, const std::string& indent = "") {
  std::string out, line = indent;
  const std::string clean = escape_terminal(text);
  for (std::size_t i = 0; i < clean.size();) {
    const std::size_t end = std::min(clean.find(' ', i), clean.size());
    const std::string word = clean.substr(i, end - i);
    if (line.size() > indent.size() && display_width(line) + 1 + display_width(word) > width) {
      out += line + "\n";
      line = indent;
    }
    if (line.size() > indent.size()) line += ' ';
    line += word;
    i = end + 1;
  }
  return out + line + "\n";
}

/// Words on up to `max_lines` lines, the last one with what is left. Names must stay apart where they differ only at
/// their ends, so they are folded rather than cut.
std::vector<std::string> fold(const std::string& text, std::size_t width, std::size_t max_lines) {
  std::vector<std::string> lines(1);
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find(' ', i), text.size());
    const std::string word = text.substr(i, end - i);
    std::string& last = lines.back();
    if (last.empty() || lines.size() == max_lines || display_width(last) + 1 + display_width(word) <= width) {
      last += (last.empty() ? "" : " ") + word;
    } else {
      lines.push_back("  " + word);
    }
    i = end + 1;
  }
  return lines;
}

/// Heading in up to two lines: the unit, then the title split at the middle space.
std::vector<std::string> heading_lines(const std::string& title) {
  if (display_width(title) <= 6) return {title};
  const std::size_t paren = title.rfind(" (");
  if (paren != title.npos) return {title.substr(0, paren), title.substr(paren + 1)};
  const std::size_t space = title.find(' ', title.size() / 3);
  if (space != title.npos) return {title.substr(0, space), title.substr(space + 1)};
  return {title};
}

// Short forms of what reports/summary.h says in full.

std::string bindings(const PointResult& p) {
  std::vector<std::string> names;
  for (const auto& w : p.workloads) {
    if (std::find(names.begin(), names.end(), w.binding) == names.end()) names.push_back(w.binding);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The weakest check of any workload.
std::string check_word(const PointResult& p) {
  std::string weakest = "full";
  for (const auto& w : p.workloads) {
    const bool functional = w.check.level == "twin" || w.check.level == "full";
    if (functional && !w.check.passed) return "FAILED";
    if (!functional) {
      weakest = w.check.static_ok && weakest != "none" ? "static" : "none";
    } else if (w.check.level == "twin" && weakest == "full") {
      weakest = "twin";
    }
  }
  return p.workloads.empty() ? "none" : weakest;
}

std::string time_word(const PointResult& p) {
  const bool cycle =
      std::all_of(p.workloads.begin(), p.workloads.end(), [](const auto& w) { return w.cycle_seconds >= 0; });
  return cycle && !p.workloads.empty() ? "cycle" : "analytical";
}

class TextWriter {
 public:
  explicit TextWriter(const TextOptions& options) : options_(options) {}

  std::string render(const Document& d) {
    heading(d.title, '=');
    if (!d.subtitle.empty()) out_ += wrap(d.subtitle, options_.width) + "\n";
    for (const Section& s : d.sections) {
      heading(s.title, '-');
      blocks(s.blocks);
    }
    while (out_.ends_with("\n\n")) out_.pop_back();
    return std::move(out_);
  }

  void block(const Table& t);
  std::string take() { return std::move(out_); }

 private:
  void heading(const std::string& text, char rule) {
    last_heading_ = text;
    const std::string clean = shorten(escape_terminal(text), options_.width);
    out_ += clean + "\n" + std::string(display_width(clean), rule) + "\n";
  }
  void blocks(const std::vector<Block>& list) {
    for (const Block& b : list) std::visit([&](const auto& v) { block(v); }, b.value);
  }
  void block(const Paragraph& p) { out_ += wrap(p.text, options_.width) + "\n"; }
  void block(const Heading& h) { out_ += escape_terminal(h.text) + "\n\n"; }
  void block(const List& l) {
    for (const auto& item : l.items) out_ += wrap("- " + item, options_.width, "  ");
    out_ += "\n";
  }
  void block(const Facts& f) {
    for (const auto& [name, value] : f.items) out_ += wrap(name + ": " + value, options_.width, "  ");
    out_ += "\n";
  }
  void block(const Chart& c) { out_ += wrap(c.title + ". " + c.alt, options_.width) + "\n"; }
  void block(const Svg& s) {
    if (!s.note.empty()) out_ += wrap(s.note, options_.width) + "\n";
  }
  void block(const Details& d) {
    out_ += escape_terminal(d.summary) + "\n\n";
    blocks(d.blocks);
  }
  void block(const Choice& c) {
    for (const auto& panel : c.panels) {
      heading(panel.title, '.');
      blocks(panel.blocks);
    }
  }

  const TextOptions& options_;
  std::string out_;
  std::string last_heading_;  // a table need not repeat it
};

void TextWriter::block(const Table& t) {
  const std::size_t columns = t.columns.size(), rows = std::min(t.rows.size(), options_.max_rows);
  if (!t.caption.empty() && t.caption != last_heading_) out_ += wrap(t.caption, options_.width);
  std::vector<std::vector<std::string>> heads(columns), cells(columns);
  std::vector<std::size_t> width(columns, 1), least(columns, 1);
  std::size_t head_lines = 1;
  for (std::size_t c = 0; c < columns; ++c) {
    const ColumnFormat format = column_format(t, c);
    const bool text = t.columns[c].unit == Unit::text;
    heads[c] = heading_lines(escape_terminal(column_title(t.columns[c], format)));
    head_lines = std::max(head_lines, heads[c].size());
    for (const auto& line : heads[c]) width[c] = std::max(width[c], display_width(line));
    for (std::size_t r = 0; r < rows; ++r) {
      cells[c].push_back(escape_terminal(cell_text(t.rows[r][c], format)));
      width[c] = std::max(width[c], display_width(cells[c].back()));
    }
    least[c] = !text ? width[c] : std::min<std::size_t>(width[c], t.columns[c].keep ? 42 : 6);
  }
  // Texts give way, the widest first, until the line fits.
  const auto total = [&] { return std::accumulate(width.begin(), width.end(), 2 * (columns ? columns - 1 : 0)); };
  const auto narrow = [&] {
    while (total() > options_.width) {
      std::size_t widest = columns;
      for (std::size_t c = 0; c < columns; ++c) {
        if (width[c] > least[c] && (widest == columns || width[c] > width[widest])) widest = c;
      }
      if (widest == columns) break;
      --width[widest];
    }
  };
  narrow();
  for (std::size_t c = 0; c < columns; ++c) {
    if (t.columns[c].keep) least[c] = std::min<std::size_t>(least[c], 24);
  }
  narrow();
  const auto line = [&](auto&& cell) {
    std::string text;
    for (std::size_t c = 0; c < columns; ++c) {
      if (c) text += "  ";
      text += pad(shorten(cell(c), width[c]), width[c], t.columns[c].unit != Unit::text);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out_ += text + "\n";
  };
  for (std::size_t l = 0; l < head_lines; ++l) {
    line([&](std::size_t c) {  // headings stand at the bottom
      const std::size_t skipped = head_lines - heads[c].size();
      return l < skipped ? std::string() : heads[c][l - skipped];
    });
  }
  line([&](std::size_t c) { return std::string(width[c], '-'); });
  for (std::size_t r = 0; r < rows; ++r) {
    std::vector<std::vector<std::string>> folded(columns);
    std::size_t height = 1;
    for (std::size_t c = 0; c < columns; ++c) {
      folded[c] = t.columns[c].keep ? fold(cells[c][r], width[c], 3) : std::vector<std::string>{cells[c][r]};
      height = std::max(height, folded[c].size());
    }
    for (std::size_t l = 0; l < height; ++l) {
      line([&](std::size_t c) { return l < folded[c].size() ? folded[c][l] : std::string(); });
    }
  }
  if (t.rows.size() > rows) out_ += fmt::format("… {} more\n", counted(t.rows.size() - rows, "row"));
  out_ += "\n";
}

}  // namespace

std::string render_text(const Document& document, const TextOptions& options) {
  return TextWriter(options).render(document);
}

std::string render_text(const Table& table, const TextOptions& options) {
  TextWriter writer(options);
  writer.block(table);
  return writer.take();
}

std::string ranking_text(const SweepResult& sweep, const TextOptions& options) {
  Table t{.caption = {},
          .columns = {{"#", Unit::count},
                      {.title = "Design", .keep = true},
                      {"Latency", Unit::seconds},
                      {"Energy", Unit::joules},
                      {"Area", Unit::mm2},
                      {"Power", Unit::watts},
                      {"Gap", Unit::ratio},
                      {"Better", Unit::ratio},
                      {"Tied"},
                      {"Bound by"},
                      {"Check"},
                      {"Time by"}},
          .rows = {}};
  for (std::size_t i = 0; i < sweep.ranking.size(); ++i) {
    const RankRow& r = sweep.ranking[i];
    const PointResult& p = sweep.points.at(r.point);
    const bool last = i + 1 == sweep.ranking.size();
    t.rows.push_back({Cell(static_cast<double>(i + 1)), Cell(p.design), Cell(p.latency_s), Cell(p.energy_pj * 1e-12),
                      Cell(p.area_mm2), Cell(p.average_w), p.mapping_gap < 0 ? Cell() : Cell(p.mapping_gap),
                      last ? Cell() : Cell(r.p_better_than_next),
                      last ? Cell() : Cell(r.tied_with_next ? "tied" : "no"), Cell(bindings(p)), Cell(check_word(p)),
                      Cell(time_word(p))});
  }
  std::string out = t.rows.empty() ? "No design point is feasible.\n" : render_text(t, options);
  while (out.ends_with("\n\n")) out.pop_back();
  std::map<std::string, std::size_t> failed;
  for (const auto& p : sweep.points) {
    if (!is_ok(p)) ++failed[p.status + (p.reason.empty() ? "" : ": " + p.reason)];
  }
  std::size_t shown = 0;
  for (const auto& [what, n] : failed) {
    if (++shown > 10) {
      out += fmt::format("… {} more\n", counted(failed.size() - 10, "reason"));
      break;
    }
    out += wrap(fmt::format("{} × {}", n, what), options.width);
  }
  return out;
}

}  // namespace assay
