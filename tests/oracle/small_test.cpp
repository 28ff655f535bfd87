#include <doctest/doctest.h>

#include <iostream>

#include "core/base/hash.h"
#include "core/compiler/compiler.h"
#include "core/isa/verify.h"
#include "core/spec/load.h"
#include "hwmodels/functional/machine.h"
#include "tests/oracle/record.h"
#include "tests/oracle/seeded_model.h"

using namespace assay;

namespace {

const std::string kModels = ASSAY_SOURCE_DIR "/configs/models/";

/// Both sides add in fp32, in orders of their own; measured: up to 3e-6.
constexpr double kTolerance = 1e-5;

const char* kFloatMachine = R"(
machine: fp32
clocks: {core: 1 GHz}
process: {node: 22 nm}
memories:
  dram: {kind: dram, capacity: 1 GiB, bandwidth: 16 GB/s, latency: 60 ns}
  spad: {kind: scratchpad, capacity: 256 KiB, bandwidth: 64 B/cycle}
  acc: {kind: accumulator, capacity: 64 KiB, bandwidth: 64 B/cycle, dtype: fp32}
links:
  dma: {kind: dma, far: dram, near: spad, bandwidth: 16 B/cycle}
units:
  mxu: {kind: matrix, rows: 16, cols: 16, dtypes: {fp32: fp32}}
  vpu: {kind: vector, lanes: 16, ops: any, dtypes: {fp32: 1, int64: 1}}
)";

}  // namespace

TEST_CASE("records belong to the models and inputs that are made here, and are small") {
  for (const RecordedNetwork& n : kSmallNetworks) {
    CAPTURE(n.record);
    const Record r = load_record(n);
    CHECK(r.oracle == "onnxruntime-node 1.30.0");
    CHECK(sha256_of(recorded_input(r)) == r.input_sha256);
    CHECK(sha256_hex(seeded_model(kModels + n.model + ".onnx", options_of(n))) == r.model_sha256);
    CHECK(r.values.size() == 200);
    CHECK(r.rms > 0.01);  // a network that has died out would compare equal to anything
  }
}

TEST_CASE("the reference semantics give what ONNX Runtime gives, before and after the passes") {
  for (const RecordedNetwork& n : kSmallNetworks) {
    CAPTURE(n.record);
    const Record r = load_record(n);
    Graph g = import_onnx(kModels + n.model + ".onnx", options_of(n));
    const TensorMap inputs{{r.input, std::make_shared<const Tensor>(recorded_input(r))}};
    const double before = distance(r, *evaluate_graph(g, inputs).at(r.output));
    PassContext context;
    run_passes(g, standard_pipeline(), {}, context);
    const double after = distance(r, *evaluate_graph(g, inputs).at(r.output));
    std::cout << n.record << ": relative difference " << before << ", after the passes " << after << '\n';
    CHECK(before < kTolerance);
    CHECK(after < kTolerance);
  }
}

TEST_CASE("a program on the functional machine gives what ONNX Runtime gives") {
  const Machine machine = parse_machine(kFloatMachine, "fp32.yaml");
  const RecordedNetwork& n = kSmallNetworks[0];
  const Record r = load_record(n);
  MappingCache cache;
  const CompiledModel c = compile(import_onnx(kModels + n.model + ".onnx", options_of(n)), machine, {}, cache);
  CHECK(verify_program(c.program, machine, {.max_instances = 20'000}).ok());
  FunctionalMachine fm(c.program, machine);
  fm.set(r.input, recorded_input(r));
  for (const auto& [name, buffer] : c.program.constants)
    fm.set(name, *c.graph.tensor(*c.graph.find_tensor(name)).value);
  fm.run();
  const double d = distance(r, fm.get(r.output));
  std::cout << n.record << " on the machine: relative difference " << d << '\n';
  CHECK(d < kTolerance);
}
