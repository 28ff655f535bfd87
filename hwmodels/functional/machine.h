#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/ir/tensor.h"
#include "core/isa/program.h"
#include "hwmodels/activity.h"

// The functional machine: executes a Program on the machine's memories, queue by queue, with the machine's types and
// order of accumulation, and counts what it does.
//
//   FunctionalMachine m(program, machine);
//   m.set("x", x);  m.set("fc.weight", w);
//   m.run();
//   Tensor y = m.get("y");
//
// What is counted (Activity, all cores together; hwmodels/functional/counting.h for contractions):
//   copy      reads: every iteration point whose source is in bounds; writes: every point, for each receiver of a
//             multicast. Link (and its `via`): the source bytes of in-bounds points, once; delivered: × receivers.
//             Index operands count like those of vector commands.
//   vector    reads: each distinct in-bounds element of an operand once per command instance (indexed: as distinct as
//             the index operand's elements); out: written once per element, read once if it is added to.
//             Lane operations: iteration points × instructions of each class (`input`, `constant` and `index` are
//             free), and one `reduce` per point if values are combined.
//   host      reads and writes of whole tensors; host_bytes is their sum.
//   Commands with an empty iteration space count nothing. Commands without a trail are counted in one more group,
//   after those of Program::trail, which exists only if there are such commands.

namespace assay {

struct FunctionalOptions {
  /// 0: each queue runs until it blocks. Otherwise queues and cores interleave at random from this seed: the result
  /// must not depend on it.
  std::uint64_t interleave_seed = 0;
  std::int64_t max_instances = 200'000'000;         ///< of commands, waits and signals; InputError beyond
  std::int64_t max_bytes = std::int64_t{16} << 30;  ///< of all memories together; InputError beyond
};

class FunctionalMachine {
 public:
  /// Throws InputError if the program is malformed or uses what the machine does not have. Keeps references.
  FunctionalMachine(const Program& program, const Machine& machine, const FunctionalOptions& options = {});
  ~FunctionalMachine();

  /// Writes an input or constant (state tensors are inputs) into its buffer. Type and element count must agree.
  void set(const std::string& tensor, const Tensor& value);
  /// Executes the program once more on the memories as they are. Throws InputError on a deadlock, with the queues.
  void run();
  /// Reads any bound tensor.
  Tensor get(const std::string& tensor) const;

  const Activity& activity() const;  ///< of the last run
  std::int64_t instances() const;    ///< commands, waits and signals of the last run

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
