#pragma once

#include <string>
#include <string_view>

namespace assay {

struct SvgResult {
  std::string svg;    ///< starts with `<svg`, well formed
  std::string error;  ///< why the text was refused, or empty
};

/// Rewrites the SVG of another program so that it can stand inside a page: only shapes, groups and text stay, with
/// their geometry and colours. Links, scripts, images, styles, event handlers, ids and everything unknown are left
/// out (the content of links stays), so that nothing in it can run, load or clash. Refuses text whose tags do not
/// balance. O(length).
SvgResult sanitise_svg(std::string_view text);

}  // namespace assay
