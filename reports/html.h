#pragma once

#include <string>

#include "reports/document.h"

namespace assay {

/// The document as one HTML file without any reference to another file or host: style, script (ECharts), data and
/// drawings are inside, and a content security policy forbids loading anything. Readable without the script, which
/// adds charts, sorting, search and the choice of panels. Same document, same bytes. InternalError on tables whose
/// rows and columns differ in number.
std::string render_html(const Document& document);

}  // namespace assay
