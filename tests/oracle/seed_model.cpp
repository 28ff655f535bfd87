#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <string>

#include "tests/oracle/networks.h"
#include "tests/oracle/seeded_model.h"

// seed_model RECORD CONFIGS OUT.onnx: writes the model that a record is made from. seed_model --list: their names.

int main(int argc, char** argv) {
  using namespace assay;
  std::vector<RecordedNetwork> all(std::begin(kSmallNetworks), std::end(kSmallNetworks));
  all.insert(all.end(), std::begin(kNetworks), std::end(kNetworks));
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (const RecordedNetwork& n : all) std::printf("%s\n", n.record);
    return 0;
  }
  if (argc != 4) {
    std::fprintf(stderr, "usage: seed_model --list | seed_model RECORD CONFIGS OUT.onnx\n");
    return 2;
  }
  try {
    for (const RecordedNetwork& n : all) {
      if (std::strcmp(n.record, argv[1]) != 0) continue;
      const std::string bytes = seeded_model(std::string(argv[2]) + "/models/" + n.model + ".onnx", options_of(n));
      std::ofstream out(argv[3], std::ios::binary);
      out << bytes;
      out.flush();
      if (out) return 0;
      std::fprintf(stderr, "seed_model: %s can't be written\n", argv[3]);
      return 1;
    }
    std::fprintf(stderr, "seed_model: there is no record '%s'; --list names them\n", argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "seed_model: %s\n", e.what());
  }
  return 1;
}
