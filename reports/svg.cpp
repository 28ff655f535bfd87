#include "reports/svg.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "reports/format.h"

namespace assay {
namespace {

constexpr std::array kElements{"svg",    "g",    "path", "polygon", "polyline", "ellipse",
                               "circle", "rect", "line", "text",    "tspan",    "title"};
constexpr std::array kAttributes{"class",
                                 "cx",
                                 "cy",
                                 "d",
                                 "dx",
                                 "dy",
                                 "fill",
                                 "fill-opacity",
                                 "font-family",
                                 "font-size",
                                 "font-style",
                                 "font-weight",
                                 "height",
                                 "opacity",
                                 "points",
                                 "r",
                                 "rx",
                                 "ry",
                                 "stroke",
                                 "stroke-dasharray",
                                 "stroke-opacity",
                                 "stroke-width",
                                 "text-anchor",
                                 "text-decoration",
                                 "transform",
                                 "viewBox",
                                 "width",
                                 "x",
                                 "x1",
                                 "x2",
                                 "y",
                                 "y1",
                                 "y2"};

template <class List>
bool contains(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

std::string_view trim(std::string_view s) {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}

/// `url(...)` in a colour could load something.
bool is_harmless(std::string_view value) { return value.find("url") == value.npos && value.find('\\') == value.npos; }

/// Entities stay as they are; a stray `&` or quote is made harmless.
std::string keep_entities(std::string_view s) {
  std::string out;
  while (!s.empty()) {
    if (s[0] == '&') {
      const std::size_t end = s.substr(0, 12).find(';');
      const std::string_view name = end == s.npos ? std::string_view{} : s.substr(1, end - 1);
      const std::string_view body = name.starts_with('#') ? name.substr(1) : name;
      const bool entity = !body.empty() && std::all_of(body.begin(), body.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      });
      if (entity) {
        out += s.substr(0, end + 1);
        s.remove_prefix(end + 1);
        continue;
      }
    }
    const std::size_t n = s[0] == '&' ? 1 : std::min(s.find('&'), s.size());
    out += escape_html(s.substr(0, n));
    s.remove_prefix(n);
  }
  return out;
}

/// The allowed attributes of a tag's inside, each with a leading space; nothing if it is not well formed.
std::optional<std::string> rewrite_attributes(std::string_view s) {
  std::string out;
  for (s = trim(s); !s.empty(); s = trim(s)) {
    const std::size_t equals = s.find('=');
    if (equals == s.npos) return std::nullopt;
    const std::string_view name = trim(s.substr(0, equals));
    s = trim(s.substr(equals + 1));
    if (s.empty() || (s[0] != '"' && s[0] != '\'')) return std::nullopt;
    const std::size_t end = s.find(s[0], 1);
    if (end == s.npos) return std::nullopt;
    const std::string_view value = s.substr(1, end - 1);
    s.remove_prefix(end + 1);
    if (!contains(kAttributes, name) || !is_harmless(value)) continue;
    out += ' ';
    out += name;
    out += "=\"" + keep_entities(value) + '"';
  }
  return out;
}

/// End of the tag that starts at `s[0] == '<'`, quotes respected; npos if there is none.
std::size_t tag_end(std::string_view s) {
  char quote = 0;
  for (std::size_t i = 1; i < s.size(); ++i) {
    if (quote) {
      if (s[i] == quote) quote = 0;
    } else if (s[i] == '"' || s[i] == '\'') {
      quote = s[i];
    } else if (s[i] == '>') {
      return i;
    }
  }
  return s.npos;
}

}  // namespace

SvgResult sanitise_svg(std::string_view s) {
  SvgResult result;
  std::string& out = result.svg;
  struct Open {
    std::string_view name;
    bool written = false;
  };
  std::vector<Open> open;
  std::size_t muted = 0;  // depth of elements left out with their content (script, style, …)
  const auto refuse = [](std::string why) { return SvgResult{{}, std::move(why)}; };
  bool seen_svg = false;

  while (!s.empty()) {
    if (s[0] != '<') {
      const std::size_t n = std::min(s.find('<'), s.size());
      if (!open.empty() && !muted) out += keep_entities(s.substr(0, n));
      s.remove_prefix(n);
      continue;
    }
    const auto skip_past = [&](std::string_view closing) {
      const std::size_t end = s.find(closing);
      if (end == s.npos) return false;
      s.remove_prefix(end + closing.size());
      return true;
    };
    if (s.starts_with("<!--")) {
      if (!skip_past("-->")) return refuse("a comment does not end");
      continue;
    }
    if (s.starts_with("<?") || s.starts_with("<!")) {
      if (s.starts_with("<![") || s.substr(0, s.find('>')).find('[') != s.npos)
        return refuse("it declares entities or raw data");
      if (!skip_past(">")) return refuse("a declaration does not end");
      continue;
    }
    const std::size_t end = tag_end(s);
    if (end == s.npos) return refuse("a tag does not end");
    std::string_view inside = s.substr(1, end - 1);
    s.remove_prefix(end + 1);
    if (inside.starts_with('/')) {
      const std::string_view name = trim(inside.substr(1));
      if (open.empty() || open.back().name != name) return refuse("tags do not balance at </" + clean_utf8(name) + ">");
      if (open.back().written) out += "</" + std::string(name) + ">";
      if (muted) --muted;
      open.pop_back();
      if (open.empty()) break;  // one drawing; what follows it is of no interest
      continue;
    }
    const bool closed = inside.ends_with('/');
    if (closed) inside.remove_suffix(1);
    const std::size_t name_end = std::min(inside.find_first_of(" \t\r\n"), inside.size());
    const std::string_view name = inside.substr(0, name_end);
    if (open.empty() && name != "svg") return refuse("it does not start with <svg>");
    seen_svg = true;
    const bool written = !muted && contains(kElements, name);
    if (written) {
      const auto attributes = rewrite_attributes(inside.substr(name_end));
      if (!attributes) return refuse("attributes of <" + clean_utf8(name) + "> are not well formed");
      out += "<" + std::string(name) + *attributes + (closed ? "/>" : ">");
    }
    if (closed) {
      if (open.empty()) break;
      continue;
    }
    if (muted || (!written && name != "a")) ++muted;
    open.push_back({name, written});
    if (open.size() > 1000) return refuse("it is nested too deeply");
  }
  if (!open.empty()) return refuse("it ends inside <" + clean_utf8(open.back().name) + ">");
  if (!seen_svg) return refuse("there is no <svg> in it");
  return result;
}

}  // namespace assay
