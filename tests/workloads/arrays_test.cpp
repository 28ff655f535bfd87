#include "workloads/arrays.h"

#include <doctest/doctest.h>
#include <onnx/onnx_pb.h>

#include <fstream>

#include "tests/workloads/onnx_models.h"
#include "tests/workloads/says.h"

namespace assay {
namespace {

std::string npy(const std::string& header, const std::string& data, char version = 1) {
  std::string out = "\x93NUMPY";
  out += version, out += '\0';
  out += static_cast<char>(header.size()), out += '\0';
  if (version > 1) out += std::string(2, '\0');
  return out + header + data;
}

TEST_CASE("arrays of every type survive writing and reading") {
  const ScratchFolder folder;
  for (const DType t : {DType::f32, DType::f16, DType::f64, DType::i8, DType::u8, DType::i16, DType::u16, DType::i32,
                        DType::u32, DType::i64, DType::u64, DType::boolean})
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 4}}) {
      Tensor a({t, shape});
      for (std::int64_t i = 0; i < a.size(); ++i) a.set(i, static_cast<double>(i % 2));
      const std::string path = folder.path() + "/a.npy";
      write_npy(path, a);
      const Tensor b = read_npy(path);
      CHECK(b.type() == a.type());
      CHECK(b.to_doubles() == a.to_doubles());
    }
}

TEST_CASE("types that NumPy lacks are written as wider ones") {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/a.npy";
  write_npy(path, Tensor::scalar(DType::bf16, 1.5));
  CHECK(read_npy(path).dtype() == DType::f32);
  write_npy(path, Tensor::scalar(DType::i4, -3));
  CHECK(read_npy(path).dtype() == DType::i8);
  CHECK(read_npy(path).get(0) == -3);
  write_npy(path, Tensor::scalar(DType::u4, 9));
  CHECK(read_npy(path).dtype() == DType::u8);
}

TEST_CASE("versions 2 and 3 and big-endian data are read") {
  const ScratchFolder folder;
  const std::string header = "{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }\n";
  for (const char version : {'\1', '\2', '\3'})
    CHECK(read_npy(folder.write("a.npy", npy(header, std::string("\1\2\xff\xfe", 4), version))).to_doubles() ==
          std::vector<double>{258, -2});
}

TEST_CASE("arrays that can't be read say why") {
  const ScratchFolder folder;
  const auto said = [&](const std::string& content) {
    return error_of([&] { read_npy(folder.write("a.npy", content)); });
  };
  const auto header = [](const std::string& descr, const std::string& order, const std::string& shape) {
    return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': (" + shape + "), }\n";
  };
  CHECK_SAYS(error_of([&] { read_npy(folder.path() + "/none.npy"); }), "no such file");
  CHECK_SAYS(said("PK\3\4 something else"), "not a NumPy array file");
  CHECK_SAYS(said(npy(header("<f4", "False", "1,"), "1234", 9)), "NumPy format 9");
  CHECK_SAYS(said(npy(header("<f4", "True", "1,"), "1234")), "stored in Fortran order");
  CHECK_SAYS(said(npy(header("|O", "False", "1,"), "1234")), "elements of type '|O' are not supported");
  CHECK_SAYS(said(npy(header("<f4", "False", "2,"), "1234")), "4 bytes of data, but fp32[2] needs 8");
  CHECK_SAYS(said(npy(header("<f4", "False", "99999999999, 99999999999"), "")), "has more than 2^40 elements");
  CHECK_SAYS(said(npy(header("<f4", "False", "x"), "")), "is not a list of sizes");
  CHECK_SAYS(said(npy("{'descr': '<f4'}\n", "")), "its header has no 'fortran_order'");
  CHECK_SAYS(said(npy("{'descr':", "")), "its header ends early");
  CHECK_SAYS(said(npy(header("<f4", "False", "2,"), "").substr(0, 30)), "truncated");
  CHECK_SAYS(error_of([&] { write_npy(folder.path() + "/no/such/a.npy", Tensor::scalar(DType::f32, 0)); }),
             "can't be written");
}

TEST_CASE("a tensor file of an ONNX test case is read") {
  const ScratchFolder folder;
  onnx::TensorProto t;
  t.set_data_type(7), t.add_dims(2), t.add_int64_data(5), t.add_int64_data(-6);
  const std::string bytes = t.SerializeAsString();
  CHECK(read_tensor_pb(folder.write("t.pb", bytes)).to_doubles() == std::vector<double>{5, -6});
  CHECK_SAYS(error_of([&] { read_tensor_pb(folder.write("t.pb", bytes.substr(0, bytes.size() - 1))); }),
             "is not a complete ONNX tensor");
  CHECK_SAYS(error_of([&] { read_tensor_pb(folder.path() + "/none.pb"); }), "no such file");
}

TEST_CASE("made-up inputs stay inside tables, masks are 0 or 1, and names decide the values") {
  TestModel m;
  m.input("ids", 7, {"1", "200"}).input("attention_mask", 7, {"1", "200"}).input("x", 1, {"1", "200"});
  m.input("keep", 9, {"4", "50"}).input("pixels", 2, {"400"}).input("count", 6, {"100"});
  m.floats("table", {5, 3}, std::vector<float>(15, 1.0F)).output("e");
  auto& cast = m.node("Cast", {"ids"}, {"ids32"});
  set_int(cast, "to", 6);
  m.node("Gather", {"table", "ids32"}, {"e"});
  for (const char* name : {"attention_mask", "x", "keep", "pixels", "count"})
    m.node("Identity", {name}, {std::string(name) + "_"}), m.output(std::string(name) + "_");
  const Graph g = m.import();
  const TensorMap in = seeded_inputs(g, 7);
  CHECK(in.size() == 6);
  const auto range = [&](const std::string& name) {
    const std::vector<double> v = in.at(name)->to_doubles();
    return std::pair(*std::min_element(v.begin(), v.end()), *std::max_element(v.begin(), v.end()));
  };
  CHECK(range("ids") == std::pair(0.0, 4.0));
  CHECK(range("attention_mask") == std::pair(0.0, 1.0));
  CHECK(range("keep") == std::pair(0.0, 1.0));
  for (std::int64_t row = 0; row < 4; ++row) CHECK(in.at("keep")->get(row * 50) == 1);
  CHECK(range("pixels").second > 200);
  CHECK(range("count").first >= 0);
  CHECK(range("count").second <= 7);
  CHECK(in.at("x")->to_doubles() == seeded_inputs(g, 7).at("x")->to_doubles());
  CHECK(in.at("x")->to_doubles() != seeded_inputs(g, 8).at("x")->to_doubles());
}

}  // namespace
}  // namespace assay
