#include "core/base/check.h"
#include "core/base/error.h"
#include "core/ir/graph.h"
#include "core/isa/text.h"
#include "core/isa/verify.h"
#include "core/ops/op.h"
#include "core/spec/load.h"
#include "tests/fuzz/targets.h"
#include "workloads/onnx_import.h"

namespace assay {
namespace {

/// What a reader accepted is printed, read again and printed: the same text.
template <class Parse, class Print>
void round_trip(const std::string& printed, Parse parse, Print print) {
  std::string again;
  try {
    again = print(parse(printed, "printed"));
  } catch (const InputError& e) {
    throw InternalError(std::string("what was printed is refused: ") + e.what());
  }
  ASSAY_CHECK(again == printed, "what was printed reads as another");
}

}  // namespace

FuzzTarget program_target(const std::string&) {
  const Machine machine = parse_machine(source_text("configs/micro/machine.yaml"), "machine.yaml");
  return {.name = "program",
          .form = InputForm::text,
          .seeds = source_texts("tests/fuzz/seeds/program", ".asm"),
          .read = [machine](const std::string& text) {
            const Program p = parse_program(text, "fuzz.asm");
            round_trip(print_program(p), parse_program, print_program);
            verify_program(p, machine, {.max_instances = 20'000});
          }};
}

FuzzTarget graph_target(const std::string&) {
  FuzzTarget t{.name = "graph", .form = InputForm::text, .seeds = {}, .read = [](const std::string& text) {
                 Graph g = parse_graph(text, "fuzz.graph");
                 check_structure(g);
                 round_trip(print_graph(g), parse_graph, print_graph);
                 infer_types(g);
                 verify_graph(g);
               }};
  for (const std::string& model : onnx_seeds())
    t.seeds.push_back(print_graph(import_onnx_bytes(model, "seed", ".", import_options(model))));
  return t;
}

}  // namespace assay
