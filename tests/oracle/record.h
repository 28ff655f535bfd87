#pragma once

#include <string>
#include <vector>

#include "core/ir/tensor.h"
#include "tests/oracle/networks.h"

namespace assay {

/// What record.mjs kept of a network's one input and one output.
struct Record {
  std::string oracle, model_sha256;
  std::string input, input_sha256;
  Shape input_shape;
  std::uint64_t seed = 0;
  double low = 0, high = 0;
  std::string output;
  Shape output_shape;
  double min = 0, max = 0, mean = 0, rms = 0;
  std::vector<std::int64_t> indices;  ///< flat, of `values`
  std::vector<double> values;
};

/// Throws on a file that is no record of this form.
Record load_record(const RecordedNetwork& network);
/// The input that the record was made with, drawn again from its seed.
Tensor recorded_input(const Record& r);
std::string sha256_of(const Tensor& t);  ///< of its little-endian bytes

/// Largest difference to the kept values, to the extremes, and of the mean and the root mean square, as a part of the
/// largest magnitude in the record.
double distance(const Record& r, const Tensor& got);

}  // namespace assay
