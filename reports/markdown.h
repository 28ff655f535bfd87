#pragma once

#include <string>

#include "reports/document.h"

namespace assay {

struct MarkdownOptions {
  std::size_t max_rows = 50;  ///< of one table; the rest is counted
};

/// The document as GitHub-flavoured Markdown for a review document. Charts become their description and, where they
/// are small, a table; drawings become their DOT text. Names are escaped: nothing in a result can become markup.
std::string render_markdown(const Document& document, const MarkdownOptions& options = {});

}  // namespace assay
