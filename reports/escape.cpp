#include <fmt/format.h>

#include "reports/format.h"

namespace assay {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Length of the well-formed UTF-8 sequence at the front (Unicode 15, table 3-7), 0 if there is none.
std::size_t sequence_length(std::string_view s) {
  const auto at = [&](std::size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  const auto tail = [&](std::size_t i) { return (at(i) & 0xC0) == 0x80; };
  const unsigned a = at(0), b = at(1);
  if (a < 0x80) return 1;
  if (a >= 0xC2 && a <= 0xDF) return tail(1) ? 2 : 0;
  if (a >= 0xE0 && a <= 0xEF) {
    if (!tail(1) || !tail(2) || (a == 0xE0 && b < 0xA0) || (a == 0xED && b > 0x9F)) return 0;
    return 3;
  }
  if (a >= 0xF0 && a <= 0xF4) {
    if (!tail(1) || !tail(2) || !tail(3) || (a == 0xF0 && b < 0x90) || (a == 0xF4 && b > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

bool is_control(std::string_view sequence) {
  const auto c = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F;
  return c == 0xC2 && static_cast<unsigned char>(sequence[1]) < 0xA0;  // C1 controls
}

/// Calls `visit` with each well-formed, printable sequence, or with U+FFFD in place of anything else.
template <class Visit>
void for_each_character(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t n = sequence_length(text);
    const std::string_view c = text.substr(0, n ? n : 1);
    visit(n && !is_control(c) ? c : kReplacement);
    text.remove_prefix(n ? n : 1);
  }
}

}  // namespace

std::string clean_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](std::string_view c) { out += c; });
  return out;
}

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](std::string_view c) {
    switch (c[0]) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  });
  return out;
}

std::string escape_markdown(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](std::string_view c) {
    switch (c[0]) {
      case '\n':
      case '\t':
        out += ' ';
        break;
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\\':
      case '`':
      case '*':
      case '_':
      case '[':
      case ']':
      case '|':
      case '#':
      case '~':
      case '$':
        out += '\\';
        [[fallthrough]];
      default:
        out += c;
    }
  });
  return out;
}

std::string escape_json(std::string_view text) {
  std::string out = "\"";
  out.reserve(text.size() + 2);
  for_each_character(text, [&](std::string_view c) {
    switch (c[0]) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      // So that neither `</script>` nor `<!--` can stand in a script element.
      case '<':
        out += "\\u003c";
        break;
      default:
        out += c;
    }
  });
  out += '"';
  return out;
}

std::string escape_csv(std::string_view text) {
  const std::string clean = clean_utf8(text);
  if (clean.find_first_of(",\"\n") == clean.npos && !clean.starts_with(' ') && !clean.ends_with(' ')) return clean;
  std::string out = "\"";
  for (char c : clean) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string escape_terminal(std::string_view text) {
  std::string out = clean_utf8(text);
  for (char& c : out) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t n = 0;
  for (char c : text) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return n;
}

}  // namespace assay
