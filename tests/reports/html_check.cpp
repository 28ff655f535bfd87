#include "tests/reports/html_check.h"

#include <algorithm>
#include <array>
#include <set>

namespace assay {
namespace {

constexpr std::array kVoid{"meta", "link", "br", "img", "input", "hr", "col"};

std::string unescape(std::string_view s) {
  static constexpr std::pair<std::string_view, char> kEntities[] = {
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}};
  std::string out;
  while (!s.empty()) {
    bool found = false;
    for (const auto& [entity, c] : kEntities) {
      if (!s.starts_with(entity)) continue;
      out += c;
      s.remove_prefix(entity.size());
      found = true;
      break;
    }
    if (found) continue;
    out += s[0];
    s.remove_prefix(1);
  }
  return out;
}

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t'; }

}  // namespace

std::string HtmlPage::Element::attribute(std::string_view key) const {
  for (const auto& [own, value] : attributes) {
    if (own == key) return value;
  }
  return {};
}

std::size_t HtmlPage::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::count_if(elements.begin(), elements.end(), [&](const Element& e) { return e.name == name; }));
}

HtmlPage read_html(std::string_view s) {
  HtmlPage page;
  std::vector<std::size_t> open;
  std::set<std::string> ids;
  const auto error = [&](std::string message) {
    if (page.errors.size() < 20) page.errors.push_back(std::move(message));
  };
  constexpr std::string_view kDoctype = "<!DOCTYPE html>\n";
  if (!s.starts_with(kDoctype)) error("no doctype");
  s.remove_prefix(std::min(kDoctype.size(), s.size()));
  while (!s.empty()) {
    const std::size_t text_end = std::min(s.find('<'), s.size());
    const std::string_view text = s.substr(0, text_end);
    if (!open.empty()) page.elements[open.back()].text += unescape(text);
    if (text.find('>') != text.npos) error("stray > near: " + std::string(text.substr(0, 60)));
    s.remove_prefix(text_end);
    if (s.empty()) break;
    if (s.starts_with("</")) {
      const std::size_t end = s.find('>');
      const std::string_view name = s.substr(2, end == s.npos ? s.npos : end - 2);
      if (open.empty() || page.elements[open.back()].name != name) {
        error("</" + std::string(name.substr(0, 20)) + "> closes " +
              (open.empty() ? "nothing" : page.elements[open.back()].name));
        if (open.empty()) break;
      }
      open.pop_back();
      s.remove_prefix(end == s.npos ? s.size() : end + 1);
      continue;
    }
    std::size_t i = 1;
    while (i < s.size() && ((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9'))) ++i;
    if (i == 1) {
      error("stray < near: " + std::string(s.substr(0, 60)));
      s.remove_prefix(1);
      continue;
    }
    HtmlPage::Element e;
    e.name = s.substr(1, i - 1);
    while (i < s.size() && s[i] != '>') {
      if (is_space(s[i])) {
        ++i;
        continue;
      }
      const std::size_t end = std::min(s.find_first_of("= >", i), s.size());
      std::string key(s.substr(i, end - i));
      std::string value;
      i = end;
      if (i < s.size() && s[i] == '=') {
        if (i + 1 >= s.size() || s[i + 1] != '"') {
          error("unquoted attribute " + key);
          break;
        }
        const std::size_t quote = std::min(s.find('"', i + 2), s.size());
        value = unescape(s.substr(i + 2, quote - i - 2));
        i = quote + 1;
      }
      if (!e.attribute(key).empty()) error("attribute " + key + " twice in <" + e.name + ">");
      if (key == "id" && !ids.insert(value).second) error("id " + value + " twice");
      e.attributes.emplace_back(std::move(key), std::move(value));
    }
    s.remove_prefix(std::min(i + 1, s.size()));
    page.elements.push_back(std::move(e));
    const std::string& name = page.elements.back().name;
    if (std::find(kVoid.begin(), kVoid.end(), name) != kVoid.end()) continue;
    if (name == "script" || name == "style") {
      const std::string closing = "</" + name + ">";
      const std::size_t end = s.find(closing);
      if (end == s.npos) error("<" + name + "> does not end");
      page.elements.back().text = s.substr(0, end);
      s.remove_prefix(end == s.npos ? s.size() : end + closing.size());
      continue;
    }
    open.push_back(page.elements.size() - 1);
  }
  for (std::size_t i : open) error("<" + page.elements[i].name + "> is not closed");
  return page;
}

}  // namespace assay
