#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// A small reader of HTML as strict as XML about what must hold here: every tag is closed in order (void elements
/// aside), attributes are quoted and given once, ids are unique, `<` never stands in text, script and style end
/// where they should.
struct HtmlPage {
  struct Element {
    std::string name;
    std::vector<std::pair<std::string, std::string>> attributes;  ///< entities resolved
    std::string text;                                             ///< direct text, entities resolved
    std::string attribute(std::string_view key) const;
  };
  std::vector<Element> elements;  ///< in document order
  std::vector<std::string> errors;
  std::size_t count(std::string_view name) const;
};
HtmlPage read_html(std::string_view text);

}  // namespace assay
