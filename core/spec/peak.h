#pragma once

#include <string>
#include <vector>

#include "core/spec/machine.h"

namespace assay {

/// What a description implies, before any program runs: for `assay check --peak`. Operations count a
/// multiply-accumulate as two. Everything is for the whole chip unless it says otherwise.
struct PeakCompute {
  std::string unit;
  DType type = DType::i8;
  bool matrix = false;
  double per_cycle = 0;  ///< MACs (matrix) or lane operations (vector) of all instances in one cycle of their clock
  double ops_per_s = 0;
};

struct PeakLevel {
  std::string memory;
  Scope scope = Scope::core;
  std::int64_t instances = 1;
  std::int64_t capacity = 0;   ///< bytes, of all instances
  double bytes_per_s = 0;      ///< reads of all instances, after derating; 0: not limited
  double bytes_per_cycle = 0;  ///< of one instance, by the memory's own clock
  double ops_per_byte = 0;     ///< fastest matrix (else vector) type over bytes_per_s: the ridge of the roofline
};

struct PeakQuote {
  DType type = DType::i8;
  double quoted = 0, implied = 0;  ///< operations/s; implied is 0 where no unit has the type
};

struct Peak {
  std::vector<PeakCompute> compute;  ///< matrix units first, in the order of the file
  std::vector<PeakLevel> levels;     ///< in the order of the file
  std::vector<PeakQuote> quotes;
  std::int64_t on_chip_bytes = 0;  ///< scratchpads, accumulators, register files and caches
};

Peak peak_of(const Machine& m);
/// The same as a text table for a terminal.
std::string describe_peak(const Machine& m);

}  // namespace assay
