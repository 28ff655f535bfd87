#include <doctest/doctest.h>

#include <iostream>

#include "core/base/hash.h"
#include "core/ops/op.h"
#include "tests/oracle/record.h"
#include "tests/oracle/seeded_model.h"

using namespace assay;

TEST_CASE("whole networks at their published size give what ONNX Runtime gives") {
  for (const RecordedNetwork& n : kNetworks) {
    CAPTURE(n.record);
    const std::string model = std::string(ASSAY_SOURCE_DIR "/configs/models/") + n.model + ".onnx";
    const Record r = load_record(n);
    const Tensor input = recorded_input(r);
    CHECK(sha256_of(input) == r.input_sha256);
    CHECK(sha256_hex(seeded_model(model, options_of(n))) == r.model_sha256);
    CHECK(r.rms > 0.01);
    const Graph g = import_onnx(model, options_of(n));
    const double d = distance(r, *evaluate_graph(g, {{r.input, std::make_shared<const Tensor>(input)}}).at(r.output));
    std::cout << n.record << ": relative difference " << d << '\n';
    CHECK(d < 1e-5);  // both add in fp32, in orders of their own; measured: up to 2e-6
  }
}
