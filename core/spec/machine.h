#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/ids.h"

// The machine description as loaded: plain immutable values (Spec). No behaviour lives here: components' timing,
// energy and area are in hwmodels/, which parts the compiler may use is in core/isa/engines.h.
//
//        chip   ┌ dram ── shared sram ──┐            Scope::chip   one instance
//               │        links          │
//        core   │ scratchpad, accum, DMA, matrix, vector │ × grid  Scope::core   grid.cores() instances
//        pe     │ register files, one MAC │ × rows × cols          Scope::pe     per array element
//
// A description without a `grid` is one core: its DRAM is chip scope, everything else core scope.

namespace assay {

using MemoryId = Id<struct MemoryTag>;
using LinkId = Id<struct LinkTag>;
using MatrixUnitId = Id<struct MatrixUnitTag>;
using VectorUnitId = Id<struct VectorUnitTag>;

enum class Scope : std::uint8_t { chip, core, pe };
enum class MemoryKind : std::uint8_t { dram, scratchpad, accumulator, register_file, cache };
/// What a tensor is to the unit that reads or writes it. A memory may be restricted to some roles (`holds:`).
enum class Role : std::uint8_t { input, weight, output };
/// How much of a part's behaviour the cycle model simulates (design §7): `ideal` is a fixed rate with zero latency
/// and unbounded queues; `bandwidth` adds latency, request size, outstanding requests and sharing; `detailed` adds
/// banks, rows and refresh.
enum class Fidelity : std::uint8_t { ideal, bandwidth, detailed };

struct Clock {
  std::string name;
  std::int64_t hz = 0;
};

/// DRAM device timing in nanoseconds; used by Fidelity::detailed.
struct DramTiming {
  int channels = 1;
  int banks = 8;                  ///< per channel, all bank groups together
  std::int64_t row_bytes = 2048;  ///< page size of one channel
  std::int64_t burst_bytes = 64;  ///< one column access
  double t_rcd = 15, t_rp = 15, t_cl = 15, t_ras = 35, t_rfc = 260, t_refi = 3900;
};

/// Energy of one action and area, where the file overrides the component library. Unset: from the library.
struct CostOverride {
  std::optional<double> read_pj_per_byte, write_pj_per_byte;
  std::optional<double> op_pj;  ///< one MAC of a matrix unit, one lane operation of a vector unit
  std::optional<double> leakage_mw;
  std::optional<double> area_mm2;  ///< one instance
};

struct Memory {
  std::string name;  ///< `dram`, `lls`, `ls`, …: unique in the machine
  Scope scope = Scope::core;
  MemoryKind kind = MemoryKind::scratchpad;
  std::string type;                  ///< DRAM: DDR3, DDR4, LPDDR4, LPDDR5, HBM2, … (energy, defaults); else empty
  std::int64_t capacity = 0;         ///< bytes of one instance
  std::int64_t read_bandwidth = 0;   ///< bytes/s of one instance, after derating; 0 only for register files
  std::int64_t write_bandwidth = 0;  ///< bytes/s; where `shared_ports` it comes out of the read bandwidth
  bool shared_ports = false;         ///< reads and writes share `read_bandwidth`
  int banks = 1;
  std::int64_t word_bytes = 1;  ///< width of one access of one bank
  double latency_s = 0;
  std::vector<Role> holds;      ///< empty: all roles
  bool double_buffered = true;  ///< may the compiler overlap filling and draining a tile
  double derate = 1.0;          ///< share of the quoted bandwidth that is usable (ECC, refresh): applied already
  std::string backs;            ///< cache: the memory behind it
  std::optional<DType> dtype;   ///< accumulators: the stored type
  Fidelity model = Fidelity::bandwidth;
  DramTiming dram;
  int clock = 0;  ///< index into Machine::clocks
  CostOverride cost;
  bool may_hold(Role r) const;
};

enum class LinkKind : std::uint8_t { dma, bus, noc, chain, host };
enum class Topology : std::uint8_t { direct, crossbar, mesh, torus, ring, tree };

/// Moves data between memories. A `dma` link has engines (queues) and is what a copy command runs on; `noc` and
/// `bus` links are carriers that a dma passes through (`via`); `host` reaches the host processor.
struct Link {
  std::string name;
  LinkKind kind = LinkKind::dma;
  Scope scope = Scope::core;  ///< core: one instance per core
  Topology topology = Topology::direct;
  std::vector<MemoryId> far;   ///< memories on the outer side
  std::vector<MemoryId> near;  ///< memories on the side of the units
  std::vector<LinkId> via;     ///< shared carriers that every transfer also occupies
  std::int64_t bandwidth = 0;  ///< bytes/s of one port (for dma: of one instance, both directions unless duplex)
  std::int64_t aggregate_bandwidth = 0;  ///< bytes/s of the whole link; 0: no further limit
  bool duplex = true;                    ///< both directions at full rate at once
  int queues = 2;                        ///< dma: 2 = separate load and store queues, 1 = one queue for both
  std::int64_t max_request = 64;         ///< bytes of one request
  int outstanding = 16;                  ///< requests in flight per engine
  double latency_s = 0;                  ///< per request, one way (hop latency × hops is added for mesh, torus, ring)
  double hop_latency_s = 0;
  double launch_s = 0;          ///< host: overhead per launch
  bool multicast = false;       ///< one read may feed several cores
  bool overlap_compute = true;  ///< false: units stand still while this link moves data
  Fidelity model = Fidelity::bandwidth;
  int clock = 0;
  CostOverride cost;  ///< read_pj_per_byte: per byte (and hop) moved
};

enum class Dataflow : std::uint8_t { weight_stationary, output_stationary, input_stationary, free };
enum class ArrayStyle : std::uint8_t { systolic, intrinsic, pe_array };

/// Types a matrix unit multiplies, the type it accumulates in, and its rate relative to the unit's peak.
struct MatrixType {
  DType operand = DType::i8;
  DType accumulator = DType::i32;
  double rate = 1.0;
};

/// A contraction engine: O[m,n] += A[m,k] · B[k,n] (and sliding windows by addressing).
///   systolic:   rows × cols of MACs; ws: rows hold k, cols hold n; os: rows hold m, cols n; is: rows k, cols m
///   intrinsic:  m × k × n multiply-accumulates every `every` cycles, pipelined
///   pe_array:   rows × cols processing elements with register files of their own (Scope::pe memories), any loop on
///               either axis (Dataflow::free), the closed form of Eyeriss-like arrays
struct MatrixUnit {
  std::string name;
  int count = 1;  ///< instances per core; they split the n dimension
  ArrayStyle style = ArrayStyle::systolic;
  Dataflow dataflow = Dataflow::weight_stationary;
  std::int64_t rows = 0, cols = 0;      ///< systolic, pe_array
  std::int64_t m = 1, k = 1, n = 1;     ///< intrinsic
  std::int64_t every = 1;               ///< cycles between intrinsic issues
  bool double_buffered_weights = true;  ///< the next stationary tile loads while this one computes
  std::int64_t issue_cycles = 0;        ///< fixed cost of one command
  std::int64_t pipeline_cycles = 0;     ///< latency from last operand to last result, beyond the array's own
  std::vector<MatrixType> types;
  std::string multicast = "any";      ///< pe_array: operand delivery, `any` or `none`
  bool gate_zero = false;             ///< energy only
  std::vector<MemoryId> pe_memories;  ///< pe_array: register files, innermost
  std::vector<MemoryId> reads;        ///< memories its operands may stand in; empty: every memory of the core
  std::vector<MemoryId> writes;       ///< where results may go; empty: accumulators, else memories holding outputs
  int clock = 0;
  CostOverride cost;
  /// Multiply-accumulates per cycle of one instance at relative rate 1.
  std::int64_t macs_per_cycle() const;
  const MatrixType* type_for(DType operand) const;  ///< nullptr if unsupported
};

/// Lane-parallel unit: `lanes` results per cycle for operations of throughput 1. `ops` maps an operation name of
/// core/isa/body.h (`add`, `exp`, …), a class (`arithmetic`, `compare`, `transcendental`, `convert`, `reduce`) or
/// `any` to its relative throughput; an operation that is not listed is not executed by this unit.
struct VectorUnit {
  std::string name;
  int count = 1;
  std::int64_t lanes = 1;
  std::map<std::string, double> ops;
  std::map<DType, double> types;  ///< supported types with relative rate
  std::int64_t issue_cycles = 0;
  std::int64_t pipeline_cycles = 0;
  std::vector<MemoryId> reads, writes;  ///< empty: every memory of the core (accumulators included)
  int clock = 0;
  CostOverride cost;
};

/// The fall-back: executes any operation on tensors in DRAM, at the price of the host link and a launch.
struct HostUnit {
  std::string name;
  double flops_per_s = 0;
  std::string link;  ///< name of the host link
};

struct Grid {
  std::int64_t rows = 1, cols = 1;
  std::string name;  ///< `pe` in `grid: {pe: …}`; empty: the description has no grid
  std::int64_t cores() const { return rows * cols; }
};

struct Process {
  double node_nm = 0;
  double voltage = 0;
  double tdp_w = 0;  ///< 0: no limit stated
};

/// A peak that the machine's maker quotes, for comparison with what the description implies.
struct QuotedPeak {
  DType operand = DType::i8;
  double ops_per_s = 0;  ///< a multiply-accumulate counts as two operations
};

/// What the file says about a value, by key path (`memories.acc.capacity`).
struct Provenance {
  std::string source;               ///< publication, table; empty if none is given
  std::optional<double> low, high;  ///< where the value is not published, in the unit of the struct's member
};

struct Machine {
  std::string name;
  std::string family;  ///< groups design points in rankings; default: the root file's machine name
  std::string description;
  Process process;
  std::vector<Clock> clocks;  ///< never empty; [0] is the core clock
  std::vector<Memory> memories;
  std::vector<Link> links;
  std::vector<MatrixUnit> matrix_units;
  std::vector<VectorUnit> vector_units;
  std::vector<HostUnit> hosts;
  Grid grid;
  std::vector<QuotedPeak> quoted;
  double static_power_w = 0;  ///< board and SoC power outside the parts listed
  std::map<std::string, Provenance> provenance;
  std::string source_path;

  const Memory& memory(MemoryId id) const { return memories[id.index()]; }
  const Link& link(LinkId id) const { return links[id.index()]; }
  std::optional<MemoryId> find_memory(const std::string& name) const;
  MemoryId dram() const;  ///< the outermost memory; the loader guarantees that there is one
};

}  // namespace assay
