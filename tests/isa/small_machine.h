#pragma once

#include <string>

#include "core/isa/engines.h"
#include "core/isa/text.h"

// A machine small enough to follow by hand, and the head of programs for it.
//
//   dram (chip, memory 0) ── dma (load, store) ── sp scratchpad (core, memory 1)
//   acc accumulator of fp32 (core, memory 2), filled by mxu 4 × 4, read by vpu

namespace assay::testing {

inline Machine small_machine(std::int64_t rows = 1, std::int64_t cols = 1, DType operand = DType::f32,
                             DType accumulator = DType::f32) {
  Machine m;
  m.name = "small";
  m.clocks = {{"core", 1'000'000'000}};
  m.grid.rows = rows;
  m.grid.cols = cols;
  const auto memory = [&](const char* name, Scope scope, MemoryKind kind, std::int64_t capacity) {
    Memory x;
    x.name = name;
    x.scope = scope;
    x.kind = kind;
    x.capacity = capacity;
    x.read_bandwidth = x.write_bandwidth = 1'000'000'000;
    m.memories.push_back(x);
  };
  memory("dram", Scope::chip, MemoryKind::dram, 1 << 20);
  memory("sp", Scope::core, MemoryKind::scratchpad, 1 << 16);
  memory("acc", Scope::core, MemoryKind::accumulator, 1 << 14);
  m.memories[2].dtype = accumulator;
  Link dma;
  dma.name = "dma";
  dma.far = {MemoryId(0)};
  dma.near = {MemoryId(1)};
  dma.bandwidth = 1'000'000'000;
  dma.multicast = true;
  m.links.push_back(dma);
  MatrixUnit mxu;
  mxu.name = "mxu";
  mxu.rows = mxu.cols = 4;
  mxu.types = {{operand, accumulator, 1.0}};
  m.matrix_units.push_back(mxu);
  VectorUnit vpu;
  vpu.name = "vpu";
  vpu.lanes = 4;
  vpu.ops = {{"any", 1.0}};
  vpu.types = {{DType::f32, 1.0}, {DType::i32, 1.0}, {DType::i8, 1.0}};
  m.vector_units.push_back(vpu);
  return m;
}

/// Engines dma.load, dma.store, mxu, vpu and `declarations`, then `code`.
inline Program small_program(const std::string& declarations, const std::string& code, std::size_t vars = 8,
                             const Grid& grid = {}) {
  const std::string text = "program \"test\" machine \"small\" grid " + std::to_string(grid.rows) + " by " +
                           std::to_string(grid.cols) + " vars " + std::to_string(vars) + "\n" +
                           "engine dma.load dma_load 0\nengine dma.store dma_store 0\nengine mxu matrix 0\n"
                           "engine vpu vector 0\ntrail \"g\" kind \"Gemm\" nodes [\"n\"]\n" +
                           declarations + "code {\n" + code + "}\n";
  return parse_program(text, "test.asm");
}

}  // namespace assay::testing
