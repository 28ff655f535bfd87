#include "core/isa/names.h"

#include <array>

namespace assay {
namespace {

constexpr std::array<std::string_view, 3> kOpcodes = {"copy", "contract", "vector"};
constexpr std::array<std::string_view, 5> kEngines = {"dma_load", "dma_store", "matrix", "vector", "host"};
constexpr std::array<std::string_view, 6> kBuffers = {"input", "output", "constant", "state", "intermediate", "tile"};
constexpr std::array<std::string_view, 4> kDataflows = {"weight_stationary", "output_stationary", "input_stationary",
                                                        "free"};

template <class E, std::size_t N>
std::optional<E> find(const std::array<std::string_view, N>& names, std::string_view text) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == text) return static_cast<E>(i);
  return std::nullopt;
}

}  // namespace

std::string_view name(Opcode v) { return kOpcodes.at(static_cast<std::size_t>(v)); }
std::string_view name(EngineKind v) { return kEngines.at(static_cast<std::size_t>(v)); }
std::string_view name(BufferKind v) { return kBuffers.at(static_cast<std::size_t>(v)); }
std::string_view name(Dataflow v) { return kDataflows.at(static_cast<std::size_t>(v)); }
std::optional<EngineKind> parse_engine_kind(std::string_view text) { return find<EngineKind>(kEngines, text); }
std::optional<BufferKind> parse_buffer_kind(std::string_view text) { return find<BufferKind>(kBuffers, text); }
std::optional<Dataflow> parse_dataflow(std::string_view text) { return find<Dataflow>(kDataflows, text); }

}  // namespace assay
