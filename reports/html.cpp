#include "reports/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "reports/assets.h"
#include "reports/format.h"
#include "reports/html_payload.h"

namespace assay {
namespace {

constexpr std::size_t kMaxStaticRows = 300;  // larger tables are data, shown a page at a time by the script
constexpr std::size_t kMaxNumbers = 120;     // charts of so many marks also get a table of their numbers
constexpr std::size_t kMaxPlainData = 200 << 10;

const char* tone_class(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "";
    case Tone::good:
      return "good";
    case Tone::warn:
      return "warn";
    case Tone::bad:
      return "bad";
    case Tone::faint:
      return "faint";
  }
  ASSAY_CHECK(false, "tone without a class");
}

std::string class_attribute(std::string classes) { return classes.empty() ? "" : " class=\"" + classes + "\""; }

/// Room for the rows of a chart whose categories stand on the y axis.
int chart_height(const Chart& c) {
  const auto rows = static_cast<int>(std::min<std::size_t>(
      60, std::max(c.y.categories.size(),
                   c.kind == ChartKind::bar || c.kind == ChartKind::stacked_bar || c.kind == ChartKind::waterfall
                       ? c.x.categories.size()
                       : 0)));
  switch (c.kind) {
    case ChartKind::bar:
    case ChartKind::waterfall:
      return 66 + 26 * rows;
    case ChartKind::stacked_bar:
      return 104 + 44 * rows;
    case ChartKind::heatmap:
      return 136 + 24 * rows;
    case ChartKind::timeline:
      return 110 + 30 * rows;
    case ChartKind::parallel:
      return 430;
    case ChartKind::scatter:
      return c.wide ? 460 : 340;
    case ChartKind::roofline:
      return 360;
    case ChartKind::line:
      return 270;
    case ChartKind::memory_map:
      return 320;
  }
  ASSAY_CHECK(false, "chart kind without a height");
}

/// The numbers of a small chart for those who can't see it; nothing where a table would not help.
Table numbers_of(const Chart& c) {
  Table t{.caption = c.title, .columns = {}, .rows = {}};
  const bool by_category = !c.x.categories.empty();
  switch (c.kind) {
    case ChartKind::bar:
    case ChartKind::stacked_bar:
    case ChartKind::line:
      break;
    default:
      return t;
  }
  const bool several = c.series.size() > 1;
  t.columns.push_back({c.x.title.empty() ? "What" : c.x.title, by_category ? Unit::text : c.x.unit});
  if (several) t.columns.push_back({"Series"});
  t.columns.push_back({c.y.title, c.y.unit});
  for (const Series& s : c.series) {
    for (const Mark& m : s.marks) {
      std::vector<Cell> row;
      row.push_back(by_category ? Cell(c.x.categories.at(static_cast<std::size_t>(m.x))) : Cell(m.x));
      if (several) row.push_back(Cell(s.name));
      row.push_back(Cell(m.y));
      t.rows.push_back(std::move(row));
    }
  }
  if (t.rows.size() > kMaxNumbers) t.rows.clear();
  return t;
}

class HtmlWriter {
 public:
  std::string render(const Document& d);

 private:
  void blocks(const std::vector<Block>& list);
  void block(const Paragraph& p);
  void block(const Heading& h) { out_ += fmt::format("<h{0}>{1}</h{0}>\n", level_, escape_html(h.text)); }
  void block(const List& l);
  void block(const Facts& f);
  void block(const Table& t);
  void block(const Chart& c);
  void block(const Svg& s);
  void block(const Details& d);
  void block(const Choice& c);
  void cell(const Table& t, std::size_t c, const Cell& cell, const ColumnFormat& format, double largest);

  std::string out_;
  HtmlPayload payload_;
  int level_ = 3;  // of the next heading
  int ids_ = 0;
};

void HtmlWriter::blocks(const std::vector<Block>& list) {
  // Charts that are not wide stand side by side.
  bool in_grid = false;
  for (const Block& b : list) {
    const Chart* chart = std::get_if<Chart>(&b.value);
    const bool grid = chart && !chart->wide;
    if (grid != in_grid) out_ += grid ? "<div class=\"grid\">\n" : "</div>\n";
    in_grid = grid;
    std::visit([&](const auto& v) { block(v); }, b.value);
  }
  if (in_grid) out_ += "</div>\n";
}

void HtmlWriter::block(const Paragraph& p) {
  std::string classes = tone_class(p.tone);
  if (p.lead) classes += classes.empty() ? "lead" : " lead";
  out_ += fmt::format("<p{}>{}</p>\n", class_attribute(classes), escape_html(p.text));
}

void HtmlWriter::block(const List& l) {
  out_ += "<ul>\n";
  for (const auto& item : l.items) out_ += "<li>" + escape_html(item) + "</li>\n";
  out_ += "</ul>\n";
}

void HtmlWriter::block(const Facts& f) {
  out_ += "<dl class=\"facts\">\n";
  for (const auto& [name, value] : f.items) {
    out_ += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_html(name), escape_html(value));
  }
  out_ += "</dl>\n";
}

/// `largest` of the column fills a bar.
void HtmlWriter::cell(const Table& t, std::size_t c, const Cell& cell, const ColumnFormat& format, double largest) {
  const bool numeric = t.columns[c].unit != Unit::text;
  std::string classes = tone_class(cell.tone);
  const auto add_class = [&](const char* name) { classes += (classes.empty() ? "" : " ") + std::string(name); };
  std::string attributes;
  if (numeric) add_class("n");
  if (t.columns[c].code) add_class("code");
  if (t.columns[c].keep) add_class("keep");
  const double* v = cell.number();
  if (v && t.sortable) attributes += fmt::format(" data-v=\"{:.9g}\"", *v);
  if (v && t.columns[c].bar && std::isfinite(*v) && largest > 0) {
    add_class("share");
    attributes += fmt::format(" style=\"--share:{:.1f}%\"", std::clamp(*v / largest, 0.0, 1.0) * 100);
  }
  std::string text = escape_html(cell_text(cell, format));
  if (!cell.target.empty()) text = fmt::format("<a href=\"#{}\">{}</a>", escape_html(cell.target), text);
  // The first column of text names the row.
  const bool header = !numeric && std::none_of(t.columns.begin(), t.columns.begin() + static_cast<std::ptrdiff_t>(c),
                                               [](const Column& other) { return other.unit == Unit::text; });
  const char* tag = header ? "th" : "td";
  out_ += fmt::format("<{}{}{}{}>{}</{}>", tag, header ? " scope=\"row\"" : "", class_attribute(classes), attributes,
                      text, tag);
}

void HtmlWriter::block(const Table& t) {
  std::vector<ColumnFormat> formats;
  for (std::size_t c = 0; c < t.columns.size(); ++c) formats.push_back(column_format(t, c));
  std::vector<double> largest(t.columns.size(), 0);
  for (const auto& row : t.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (const double* v = row[c].number()) largest[c] = std::max(largest[c], *v);
    }
  }
  if (t.rows.size() > kMaxStaticRows) {
    const std::string id = payload_.add(t, formats);
    out_ += fmt::format(
        "<div class=\"big-table\" data-table=\"{}\" data-caption=\"{}\"><noscript><p class=\"warn\">This table of {} "
        "rows needs "
        "JavaScript; the CSV export holds the same numbers.</p></noscript></div>\n",
        id, escape_html(t.caption), t.rows.size());
    return;
  }
  out_ += fmt::format(
      "<div class=\"table-box\" role=\"region\" tabindex=\"0\" "
      "aria-label=\"{}\">\n<table{}{}>\n<caption>{}</caption>\n<thead><tr>",
      escape_html(t.caption),
      class_attribute(std::string(t.sortable ? "sortable" : "") +
                      (t.searchable ? (t.sortable ? " searchable" : "searchable") : "")),
      t.search_hint.empty() ? "" : " data-hint=\"" + escape_html(t.search_hint) + "\"", escape_html(t.caption));
  for (std::size_t c = 0; c < t.columns.size(); ++c) {
    const Column& column = t.columns[c];
    out_ += fmt::format("<th scope=\"col\"{}{}>{}</th>", column.unit == Unit::text ? "" : " class=\"n\"",
                        column.help.empty() ? "" : " title=\"" + escape_html(column.help) + "\"",
                        escape_html(column_title(column, formats[c])));
  }
  out_ += "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < t.rows.size(); ++r) {
    out_ += t.searchable && r < t.keywords.size() && !t.keywords[r].empty()
                ? fmt::format("<tr data-k=\"{}\">", escape_html(t.keywords[r]))
                : "<tr>";
    for (std::size_t c = 0; c < t.columns.size(); ++c) cell(t, c, t.rows[r][c], formats[c], largest[c]);
    out_ += "</tr>\n";
  }
  out_ += "</tbody>\n</table>\n</div>\n";
}

void HtmlWriter::block(const Chart& c) {
  const std::string id = payload_.add(c);
  out_ += fmt::format(
      "<figure{} id=\"{}-box\">\n<figcaption id=\"{}-title\">{}</figcaption>\n<div class=\"chart\" data-chart=\"{}\" "
      "role=\"img\" "
      "aria-labelledby=\"{}-title\" aria-describedby=\"{}-alt\" style=\"height:{}px\"></div>\n<p class=\"alt\" "
      "id=\"{}-alt\">{}</p>\n",
      c.wide ? " class=\"wide\"" : "", id, id, escape_html(c.title), id, id, id, chart_height(c), id,
      escape_html(c.alt));
  if (c.kind == ChartKind::parallel)
    out_ += fmt::format("<p class=\"kept\" id=\"{}-kept\" aria-live=\"polite\"></p>\n", id);
  if (const Table numbers = numbers_of(c); !numbers.rows.empty()) block(Details{"Numbers", {numbers}});
  out_ += "</figure>\n";
}

void HtmlWriter::block(const Svg& s) {
  out_ += fmt::format("<figure class=\"wide\">\n<figcaption>{}</figcaption>\n", escape_html(s.title));
  if (!s.svg.empty()) {
    out_ +=
        fmt::format("<div class=\"drawing\" role=\"img\" aria-label=\"{}\" tabindex=\"0\" data-drawing=\"{}\"></div>\n",
                    escape_html(s.title), payload_.add_drawing(s.svg));
  }
  if (!s.note.empty()) out_ += "<p class=\"warn\">" + escape_html(s.note) + "</p>\n";
  if (!s.source.empty()) {
    out_ += fmt::format("<details><summary>DOT text</summary><pre tabindex=\"0\">{}</pre></details>\n",
                        escape_html(s.source));
  }
  out_ += "</figure>\n";
}

void HtmlWriter::block(const Details& d) {
  out_ += "<details><summary>" + escape_html(d.summary) + "</summary>\n";
  blocks(d.blocks);
  out_ += "</details>\n";
}

void HtmlWriter::block(const Choice& c) {
  const std::string id = fmt::format("choice-{}", ++ids_);
  out_ += fmt::format(
      "<div class=\"choice\" id=\"{}\">\n<p class=\"choose\"><label for=\"{}-select\">{}</label> <select "
      "id=\"{}-select\">\n",
      id, id, escape_html(c.label), id);
  for (const auto& panel : c.panels)
    out_ += fmt::format("<option value=\"{}\">{}</option>\n", escape_html(panel.id), escape_html(panel.title));
  out_ += "</select></p>\n";
  ++level_;
  for (const auto& panel : c.panels) {
    out_ += fmt::format("<section class=\"panel\" id=\"{}\" tabindex=\"-1\">\n<h{}>{}</h{}>\n", escape_html(panel.id),
                        level_ - 1, escape_html(panel.title), level_ - 1);
    blocks(panel.blocks);
    out_ += "</section>\n";
  }
  --level_;
  out_ += "</div>\n";
}

std::string HtmlWriter::render(const Document& d) {
  out_ += fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data: blob:\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>\n{}</style>\n"
      "<noscript><style>.chart, .choose, .drawing, .kept {{ display: none }}</style></noscript>\n</head>\n<body>\n"
      "<a class=\"skip\" href=\"#content\">Skip to the content</a>\n<header>\n<h1>{}</h1>\n<p>{}</p>\n</header>\n<nav "
      "aria-label=\"Sections\">\n<ul>\n",
      escape_html(d.title), report_style(), escape_html(d.title), escape_html(d.subtitle));
  for (const Section& s : d.sections)
    out_ += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", escape_html(s.id), escape_html(s.title));
  out_ += "</ul>\n</nav>\n<main id=\"content\">\n";
  for (const Section& s : d.sections) {
    out_ += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", escape_html(s.id), escape_html(s.title));
    blocks(s.blocks);
    out_ += "</section>\n";
  }
  out_ += "</main>\n<footer><p>Made by Assay. This file is complete: it loads nothing from anywhere.</p></footer>\n";
  if (const std::string data = payload_.json(); data.size() <= kMaxPlainData) {
    out_ += "<script type=\"application/json\" id=\"assay-data\">" + data + "</script>\n";
  } else {
    out_ += "<script type=\"text/plain\" id=\"assay-data\" data-encoding=\"deflate\">" + deflate_base64(data) +
            "</script>\n";
  }
  out_ += "<script>\n";
  out_ += report_script();
  out_ += "\n</script>\n</body>\n</html>\n";
  return std::move(out_);
}

}  // namespace

std::string render_html(const Document& document) { return HtmlWriter().render(document); }

}  // namespace assay
