#pragma once

#include <string>

#include "explorers/result.h"
#include "reports/document.h"

namespace assay {

struct TextOptions {
  std::size_t width = 110;  ///< columns; tables are narrowed by shortening their texts
  std::size_t max_rows = 40;
};

/// The document for a terminal: no colours, no control characters. Details are printed unfolded, drawings left out.
std::string render_text(const Document& document, const TextOptions& options = {});
std::string render_text(const Table& table, const TextOptions& options = {});

/// The ranking with the columns that decide, one line per design, and under it the reasons of what is not ranked.
std::string ranking_text(const SweepResult& sweep, const TextOptions& options = {});

}  // namespace assay
