#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

// A report as data: sections make it, renderers (HTML, Markdown, terminal) print it. Nothing here is markup; texts
// are plain UTF-8 and may hold any character, escaping is the renderers' work.

namespace assay {

/// What a number is. Numbers are kept in base units (s, J, W, B, B/s, op/s, op/B, mm², J·s; `ratio` 0.5 = 50 %);
/// the renderer chooses the SI prefix. `capacity` is bytes in powers of two (KiB), `bytes` in powers of ten.
enum class Unit {
  text,
  number,
  count,
  seconds,
  joules,
  watts,
  bytes,
  capacity,
  bytes_per_second,
  ops_per_second,
  ops_per_byte,
  mm2,
  ratio,
  joule_seconds,
};

enum class Tone { plain, good, warn, bad, faint };

/// A text, a number, or unknown (printed as `–`).
class Cell {
 public:
  Cell() = default;
  Cell(std::string text, Tone t = Tone::plain, std::string to = {})
      : tone(t), target(std::move(to)), kind_(Kind::text), text_(std::move(text)) {}
  Cell(const char* text, Tone t = Tone::plain) : Cell(std::string(text), t) {}
  Cell(double number, Tone t = Tone::plain) : tone(t), kind_(Kind::number), number_(number) {}
  const double* number() const { return kind_ == Kind::number ? &number_ : nullptr; }
  const std::string* text() const { return kind_ == Kind::text ? &text_ : nullptr; }

  Tone tone = Tone::plain;
  std::string target;  ///< id of a section or panel to jump to, or empty

 private:
  enum class Kind { unknown, text, number };
  Kind kind_ = Kind::unknown;
  std::string text_;
  double number_ = 0;
};

struct Column {
  std::string title;
  Unit unit = Unit::text;
  std::string help = {};  ///< one sentence, or empty
  bool bar = false;       ///< a ratio that reads better with a bar behind it
  bool code = false;      ///< a text in a notation: fixed pitch, on one line
  bool keep = false;      ///< a text that gives way last where room is scarce, and folds rather than being cut
};

struct Table {
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< each as long as `columns`
  bool sortable = false;
  bool searchable = false;
  std::vector<std::string> keywords = {};  ///< per row: found by the search box, not shown; may be empty
  std::string search_hint = {};
};

struct Paragraph {
  std::string text;
  Tone tone = Tone::plain;
  bool lead = false;  ///< set larger: the sentence a hurried reader should see
};

struct Heading {
  std::string text;
};

struct List {
  std::vector<std::string> items;
};

/// Names and values, for a handful of facts.
struct Facts {
  std::vector<std::pair<std::string, std::string>> items;
};

enum class ChartKind {
  scatter,
  line,
  bar,
  stacked_bar,
  parallel,
  heatmap,
  timeline,
  waterfall,
  memory_map,
  roofline,
};

struct Axis {
  std::string title;
  Unit unit = Unit::number;
  bool log = false;
  std::vector<std::string> categories = {};  ///< if any, positions are indices into it
};

/// One thing drawn. Which members count depends on the kind:
///   scatter, roofline  x, y, size (relative area; 0: all the same), label, target
///   line               x, y
///   bar, stacked_bar   x (category), y (value)
///   waterfall          x (category), y (value); bars stand on each other in order
///   heatmap            x, y (categories), size (value)
///   timeline           x … x2 (time), y (lane), label
///   memory_map         x … x2 (step), y … y2 (address), label
struct Mark {
  double x = 0, y = 0, x2 = 0, y2 = 0, size = 0;
  std::string label = {}, target = {};
};

struct Series {
  std::string name;
  std::vector<Mark> marks = {};
  bool line = false;  ///< in a scatter or roofline: joined by a line, no symbols
};

struct ParallelRow {
  std::string name, group;
  std::vector<double> values;  ///< one per dimension; index where the dimension has categories; NaN: none
};

struct Chart {
  ChartKind kind = ChartKind::scatter;
  std::string title;
  std::string alt;  ///< what the chart shows, in a sentence with numbers: read aloud, or printed instead
  Axis x = {}, y = {};
  std::vector<Series> series = {};
  std::vector<Axis> dimensions = {};   ///< parallel
  std::vector<ParallelRow> rows = {};  ///< parallel
  std::string size_title = {};         ///< what `size` means (heatmap, scatter)
  Unit size_unit = Unit::number;
  double limit = 0;   ///< memory_map: the capacity
  bool wide = false;  ///< across the page; others stand two in a row
};

/// A drawing as sanitised SVG text (reports/svg.h), with the text it was drawn from. Without svg, `note` says why.
struct Svg {
  std::string title;
  std::string svg;
  std::string source;
  std::string note;
};

struct Block;

/// Folded away until asked for.
struct Details {
  std::string summary;
  std::vector<Block> blocks;
};

/// One of several panels at a time, chosen by name.
struct Choice {
  struct Panel {
    std::string id;  ///< unique in the document: the target of links
    std::string title;
    std::vector<Block> blocks;
  };
  std::string label;
  std::vector<Panel> panels;
};

struct Block {
  std::variant<Paragraph, Heading, List, Facts, Table, Chart, Svg, Details, Choice> value;
  template <class T>
  requires std::is_constructible_v<decltype(value), T&&> Block(T&& v)
      : value(std::forward<T>(v)) {}  // NOLINT: a block is any of these
};

struct Section {
  std::string id;  ///< unique, [a-z0-9-]
  std::string title;
  std::vector<Block> blocks;
};

struct Document {
  std::string title;
  std::string subtitle;
  std::vector<Section> sections;
};

}  // namespace assay
