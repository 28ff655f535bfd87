#pragma once

// Small machines of different shapes that take fp32, so that meaning is compared without quantisation.

namespace assay::test_machines {

inline constexpr const char* kSystolic = R"(
machine: systolic
process: {node: 28 nm, voltage: 0.9 V}
clocks: {core: 1 GHz}
memories:
  dram: {kind: dram, type: DDR4, capacity: 1 GiB, bandwidth: 8 GB/s, latency: 60 ns}
  spad: {kind: scratchpad, capacity: 24 KiB, bandwidth: 64 B/cycle, holds: [input, weight, output]}
  acc: {kind: accumulator, capacity: 4 KiB, bandwidth: 64 B/cycle, dtype: fp32}
links:
  dma: {kind: dma, far: [dram], near: [spad], bandwidth: 16 B/cycle}
  pcie: {kind: host, bandwidth: 4 GB/s, launch: 1 us}
units:
  mxu: {kind: matrix, rows: 4, cols: 4, dataflow: weight_stationary, dtypes: {fp32: fp32}}
  vpu: {kind: vector, lanes: 4, ops: {any: 1}, dtypes: {fp32: 1, int8: 1, uint8: 1, int32: 1, int64: 1, bool: 1}}
  host: {kind: host, link: pcie, rate: 1 GFLOP/s}
)";

inline constexpr const char* kGrid = R"(
machine: grid
process: {node: 7 nm, voltage: 0.8 V}
clocks: {core: 1 GHz}
memories:
  dram: {kind: dram, type: DDR4, capacity: 1 GiB, bandwidth: 32 GB/s, latency: 60 ns}
  sram: {kind: scratchpad, capacity: 64 KiB, bandwidth: 64 B/cycle}
links:
  noc: {kind: noc, topology: crossbar, bandwidth: 32 B/cycle, multicast: true}
grid:
  pe:
    size: [2, 2]
    memories:
      ls: {kind: scratchpad, capacity: 12 KiB, bandwidth: 64 B/cycle}
    links:
      fi: {kind: dma, far: [dram, sram], near: [ls], via: [noc], bandwidth: 32 B/cycle}
    units:
      dpe: {kind: matrix, intrinsic: {m: 2, k: 4, n: 2, every: 1 cycle}, dtypes: {fp32: fp32}}
      se: {kind: vector, lanes: 8, ops: {any: 1}, dtypes: {fp32: 1, int8: 1, uint8: 1, int32: 1, int64: 1, bool: 1}}
)";

}  // namespace assay::test_machines
