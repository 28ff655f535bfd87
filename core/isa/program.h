#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/ids.h"
#include "core/isa/body.h"
#include "core/spec/machine.h"

// A Program: what one class of cores executes (SPMD, parameterised by the core's coordinates).
//
// It is written as ONE loop nest whose leaves are tagged with the engine that executes them. Each engine has one
// in-order queue: the nest restricted to the engine's leaves (a loop with no leaf of an engine does not exist for
// it). Engines run freely against each other, held together only by counting semaphores.
//
//   loop k < 4
//     wait    @dma.load   free.w 1                 dma.load: for k { wait; copy; signal; }
//     copy    @dma.load   w_tile[k % 2] <- weights[...]
//     signal  @dma.load   full.w 1                 mxu:      for k { wait; contract; signal; }
//     wait    @mxu        full.w 1
//     contract @mxu       acc <- x_tile, w_tile[k % 2]
//     signal  @mxu        free.w 1
//
// Executing the nest in written order is one legal schedule (its sequential meaning); the static verifier proves
// that the semaphores make every other interleaving of the queues mean the same.

namespace assay {

using VarId = Id<struct VarTag>;  ///< a loop variable; numbers are unique in a program
using EngineId = Id<struct EngineTag>;
using SemaphoreId = Id<struct SemaphoreTag>;
using BufferId = Id<struct BufferTag>;

/// c + Σ coefficient·variable. Variables 0 and 1 are the core's grid row and column.
struct Affine {
  std::int64_t constant = 0;
  std::vector<std::pair<VarId, std::int64_t>> terms;  ///< sorted by variable, coefficients not 0
  static Affine of(VarId v, std::int64_t coefficient = 1, std::int64_t constant = 0);
  Affine& add(VarId v, std::int64_t coefficient);
  friend Affine operator+(Affine a, const Affine& b);
  Affine scaled(std::int64_t factor) const;
  friend bool operator==(const Affine&, const Affine&) = default;
};
inline const VarId kCoreRow{0};
inline const VarId kCoreCol{1};
inline constexpr std::size_t kFirstLoopVar = 2;

/// An iteration extent that shrinks at the edge of the data: clamp(available, 0, full). Extent 0 makes the whole
/// command a no-op (its waits and signals are separate statements and still happen).
struct Extent {
  std::int64_t full = 1;
  std::optional<Affine> available;
  friend bool operator==(const Extent&, const Extent&) = default;
};

/// Multiple buffering: slot = sequence mod depth, address += slot · stride.
struct Ring {
  Affine sequence;
  std::int64_t depth = 1;
  std::int64_t stride = 0;  ///< bytes
  friend bool operator==(const Ring&, const Ring&) = default;
};

/// One dimension of a view. Coordinate = offset + Σ coefficient·iteration (+ the value of an index operand);
/// it addresses coordinate·stride bytes, and is in bounds for 0 <= coordinate < size.
struct ViewDim {
  std::int64_t size = 1;
  std::int64_t stride = 0;  ///< bytes
  Affine offset;
  std::vector<std::pair<int, std::int64_t>> iter;  ///< (iteration dimension, coefficient)
  std::optional<int> index_operand;  ///< gather: number of the input whose element is added to the coordinate
  friend bool operator==(const ViewDim&, const ViewDim&) = default;
};

/// How a command reads or writes one operand: buffer + byte_offset + ring slot + Σ coordinate·stride.
struct Operand {
  BufferId buffer;
  DType type = DType::f32;
  std::int64_t byte_offset = 0;
  std::optional<Ring> ring;
  std::vector<ViewDim> dims;
  /// Reads outside the bounds give this value (padding) and touch no memory. Without it they are illegal.
  std::optional<double> fill;
  friend bool operator==(const Operand&, const Operand&) = default;
};

struct IterDim {
  std::string name;
  Extent extent;
  bool reduction = false;
  Affine origin = {};  ///< added to the iteration number where the body asks for its `index`
  friend bool operator==(const IterDim&, const IterDim&) = default;
};

/// A set of grid axes. Used for multicast (`along`) and for remote signals.
struct Axes {
  bool row = false, col = false;
  bool any() const { return row || col; }
  friend bool operator==(Axes, Axes) = default;
};

/// How a contraction's iteration dimensions lie on the array: the command's inner mapping.
struct ArrayPlan {
  Dataflow dataflow = Dataflow::weight_stationary;  ///< never `free`: what this command does
  /// Spatial factors: (iteration dimension, factor). For systolic and intrinsic units these are the dimensions that
  /// are flattened on each axis and the factor is the whole axis; for pe_array the unrolled part.
  std::vector<std::pair<int, std::int64_t>> on_rows, on_cols;
  std::vector<int> order;  ///< temporal order of iteration dimensions, outermost first
  friend bool operator==(const ArrayPlan&, const ArrayPlan&) = default;
};

enum class Opcode : std::uint8_t { copy, contract, vector };

/// A loop nest on one engine:  out[..] (combine)= body(in[0][..], in[1][..], …)  for every iteration point.
///   copy      body is the identity (dtype conversion allowed), two memories, on a dma engine
///   contract  out[..] += (in0 − zero0)·(in1 − zero1) over the reduction dimensions, on a matrix unit; `body` empty
///   vector    any body, on a vector unit
struct Command {
  Opcode opcode = Opcode::copy;
  EngineId engine;
  std::vector<IterDim> iter;  ///< outermost first
  std::vector<Operand> in;
  Operand out;
  Body body;
  Combine combine = Combine::none;
  DType accumulator = DType::f32;  ///< type in which `combine` is carried out
  /// Reductions only. The first visit initialises the output: the one where all of these are 0; other visits add to
  /// what is there. Empty: every visit initialises.
  std::vector<Affine> accumulate_unless_zero;
  double zero[2] = {0, 0};         ///< contract: zero points of the operands
  std::optional<ArrayPlan> array;  ///< contract
  /// copy: executed by the cores whose coordinate is 0 on these axes, written to the same buffer of every core
  /// along them.
  Axes multicast;
  std::int64_t trail = -1;  ///< index into Program::trail
  friend bool operator==(const Command&, const Command&) = default;
};

/// An operation that no engine of the machine executes: done by the host on whole tensors in DRAM (chip scope).
/// There is one host: only core (0, 0) executes it, on the other cores it is a no-op.
struct HostCommand {
  EngineId engine;
  std::string op;            ///< operation name of core/ops
  std::string attributes;    ///< JSON text, as the operation prints them
  std::vector<BufferId> in;  ///< invalid id: absent optional input
  std::vector<BufferId> out;
  std::int64_t trail = -1;
  friend bool operator==(const HostCommand&, const HostCommand&) = default;
};

struct Wait {
  EngineId engine;
  SemaphoreId semaphore;
  std::int64_t count = 1;  ///< blocks until the core's counter holds this many, then takes them
  Axes leader;             ///< executed only by cores with coordinate 0 on these axes
  Affine slot = {};        ///< which counter of the semaphore: slot mod Semaphore::slots; over loop variables only
  friend bool operator==(const Wait&, const Wait&) = default;
};
struct Signal {
  EngineId engine;  ///< adds after every earlier command of the engine has completed
  SemaphoreId semaphore;
  std::int64_t count = 1;
  Axes leader;     ///< executed only by cores with coordinate 0 on these axes
  Axes to_all;     ///< to every core along these axes (itself included) …
  Axes to_leader;  ///< … or to the one with coordinate 0 on these axes
  Affine slot = {};
  friend bool operator==(const Signal&, const Signal&) = default;
};

struct Stmt;
struct Loop {
  VarId var;
  std::string name;
  std::int64_t trip = 0;  ///< >= 0
  std::vector<Stmt> body;
};
struct Stmt {
  std::variant<Loop, Command, HostCommand, Wait, Signal> node;
};
bool operator==(const Stmt& a, const Stmt& b);

enum class BufferKind : std::uint8_t { input, output, constant, state, intermediate, tile };

/// A piece of one memory. For core-scope memories every core has its own. Buffers may share addresses when they
/// are never live together; the verifier proves that accesses are ordered.
struct Buffer {
  std::string name;
  MemoryId memory;
  std::int64_t address = 0;
  std::int64_t bytes = 0;
  BufferKind kind = BufferKind::tile;
  /// For tensors that live outside the program (inputs, outputs, constants, state): how their elements lie.
  DType type = DType::f32;
  std::vector<std::int64_t> shape;
  std::string tensor;                          ///< tensor of the compiled graph that it holds, or holds a tile of
  std::int64_t first_step = 0, last_step = 0;  ///< live interval in `Program::steps`, half-open
  friend bool operator==(const Buffer&, const Buffer&) = default;
};

enum class EngineKind : std::uint8_t { dma_load, dma_store, matrix, vector, host };
struct Engine {
  std::string name;  ///< `dma.load`, `mxu`, …
  EngineKind kind = EngineKind::dma_load;
  std::uint32_t part = 0;  ///< index into Machine::links, matrix_units, vector_units or hosts
  friend bool operator==(const Engine&, const Engine&) = default;
};

/// Which nodes of the source model a command comes from.
struct TrailEntry {
  std::string group;               ///< the fused group's name (unique in the program)
  std::vector<std::string> nodes;  ///< source node names
  std::string layer_kind;          ///< operation of the group's main node, for tables
  friend bool operator==(const TrailEntry&, const TrailEntry&) = default;
};

/// One counter, or several of one name. A ring buffer whose slots are released by several cores has a counter per
/// slot: of one counter for all slots nobody could tell which slot the tokens have released.
struct Semaphore {
  std::string name;
  std::int64_t initial = 0;  ///< of each counter
  std::int64_t slots = 1;
  friend bool operator==(const Semaphore&, const Semaphore&) = default;
};

struct Program {
  std::string name;  ///< model
  std::string machine;
  Grid grid;
  std::vector<Engine> engines;
  std::vector<Semaphore> semaphores;
  std::vector<Buffer> buffers;
  std::vector<TrailEntry> trail;
  std::vector<Stmt> body;
  std::vector<std::string> steps;  ///< names of the top-level groups in order (live intervals count these)
  std::map<std::string, BufferId> inputs, outputs, constants;  ///< by graph tensor name
  std::size_t var_count = kFirstLoopVar;
  const Buffer& buffer(BufferId id) const { return buffers[id.index()]; }
};
bool operator==(const Program& a, const Program& b);  ///< field by field

}  // namespace assay
