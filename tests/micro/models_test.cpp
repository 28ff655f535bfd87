#include <doctest/doctest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("each .onnx file in configs/micro is the text beside it (ASSAY_UPDATE_MICRO=1 writes it)") {
  const bool update = std::getenv("ASSAY_UPDATE_MICRO") != nullptr;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ASSAY_SOURCE_DIR "/configs/micro")) {
    if (entry.path().extension() != ".txt") continue;
    CAPTURE(entry.path().string());
    ++files;
    const std::string text = read(entry.path());
    onnx::ModelProto model;
    onnx::OnnxParser parser(text.c_str());
    const auto status = parser.Parse(model);
    CAPTURE(status.ErrorMessage());
    REQUIRE(status.IsOK());
    REQUIRE(parser.EndOfInput());
    std::filesystem::path binary = entry.path();
    binary.replace_extension();  // gemm.onnx.txt → gemm.onnx
    if (update) std::ofstream(binary, std::ios::binary) << model.SerializeAsString();
    // Compared as messages: the order in which a library writes fields is its own.
    onnx::ModelProto stored;
    REQUIRE(stored.ParseFromString(read(binary)));
    CHECK(stored.SerializeAsString() == model.SerializeAsString());
  }
  CHECK(files == 3);
}
