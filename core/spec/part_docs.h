#pragma once

#include <string>

namespace assay {

/// The field table of one part (`memory`, `link`, …) as Markdown, as it stands in docs/machine-format.md.
/// InputError if there is no such part.
std::string field_table_markdown(const std::string& part);

/// `document` with the text between `<!-- fields: NAME -->` and `<!-- end -->` replaced by the table of part NAME.
/// InputError if a marker has no end or names no part.
std::string refresh_field_tables(const std::string& document);

}  // namespace assay
