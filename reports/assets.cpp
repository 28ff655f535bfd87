#include "reports/assets.h"

// The assembler copies the files; as array literals they would take the compiler many seconds. ASSAY_SCRIPT_FILE
// and ASSAY_STYLE_FILE come from the build.

#define ASSAY_EMBED(symbol, file)                                                                              \
  asm(".section .rodata\n"                                                                                     \
      ".global " #symbol "_begin\n.global " #symbol "_end\n" #symbol "_begin:\n.incbin \"" file "\"\n" #symbol \
      "_end:\n.byte 0\n.previous\n")

ASSAY_EMBED(assay_report_script, ASSAY_SCRIPT_FILE);
ASSAY_EMBED(assay_report_style, ASSAY_STYLE_FILE);

extern "C" {
extern const char assay_report_script_begin[], assay_report_script_end[];
extern const char assay_report_style_begin[], assay_report_style_end[];
}

namespace assay {

std::string_view report_script() { return {assay_report_script_begin, assay_report_script_end}; }
std::string_view report_style() { return {assay_report_style_begin, assay_report_style_end}; }

}  // namespace assay
