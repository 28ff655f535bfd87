#pragma once

#include <optional>
#include <string_view>

#include "core/isa/program.h"

// Spellings of the enumerations of program.h: one place for printing, parsing and messages.

namespace assay {

std::string_view name(Opcode v);      ///< copy contract vector
std::string_view name(EngineKind v);  ///< dma_load dma_store matrix vector host
std::string_view name(BufferKind v);  ///< input output constant state intermediate tile
std::string_view name(Dataflow v);    ///< weight_stationary output_stationary input_stationary free
std::optional<EngineKind> parse_engine_kind(std::string_view text);
std::optional<BufferKind> parse_buffer_kind(std::string_view text);
std::optional<Dataflow> parse_dataflow(std::string_view text);

}  // namespace assay
