#include "workloads/arrays.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "workloads/onnx_tensor.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& file, const std::string& message) {
  throw InputError(Diagnostic{.pos = {.file = file}, .path = {}, .message = message, .suggestion = {}});
}

std::string read_file(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) fail(path, "no such file");
  const auto size = fs::file_size(path, error);
  std::ifstream in(path, std::ios::binary);
  std::string bytes(error ? 0 : size, '\0');
  if (error || !in || !in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) fail(path, "can't be read");
  return bytes;
}

/// The text between the quotes or up to the comma after `'key':` in the header's Python dictionary.
std::string header_value(const std::string& header, const std::string& key, const std::string& file) {
  const std::size_t at = header.find("'" + key + "'");
  const std::size_t colon = at == std::string::npos ? at : header.find(':', at);
  if (colon == std::string::npos) fail(file, "not a NumPy array file: its header has no '" + key + "'");
  std::size_t from = header.find_first_not_of(' ', colon + 1);
  if (from == std::string::npos) fail(file, "not a NumPy array file: its header ends early");
  const char open = header[from];
  const std::string stop = open == '\'' ? "'" : open == '(' ? ")" : ",}";
  if (open == '\'' || open == '(') ++from;
  return header.substr(from, header.find_first_of(stop, from) - from);
}

struct NpyType {
  const char* code;
  DType dtype;
};
constexpr NpyType kNpyTypes[] = {{"b1", DType::boolean}, {"i1", DType::i8},  {"u1", DType::u8},  {"i2", DType::i16},
                                 {"u2", DType::u16},     {"i4", DType::i32}, {"u4", DType::u32}, {"i8", DType::i64},
                                 {"u8", DType::u64},     {"f2", DType::f16}, {"f4", DType::f32}, {"f8", DType::f64}};

Shape parse_dims(const std::string& text, const std::string& file) {
  Shape shape;
  std::int64_t elements = 1;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == ' ' || text[at] == ',') {
      ++at;
      continue;
    }
    std::int64_t d = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), d);
    if (error != std::errc() || d < 0) fail(file, "shape (" + text + ") is not a list of sizes");
    if (d > 0 && elements > kMaxElements / d) fail(file, "shape (" + text + ") has more than 2^40 elements");
    elements *= d;
    shape.push_back(d);
    at = static_cast<std::size_t>(end - text.data());
  }
  return shape;
}

}  // namespace

Tensor read_npy(const std::string& path) {
  const std::string bytes = read_file(path);
  if (bytes.size() < 12 || !bytes.starts_with("\x93NUMPY")) fail(path, "not a NumPy array file");
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  const std::size_t version = byte(6), prefix = version == 1 ? 10 : 12;
  if (version < 1 || version > 3) fail(path, fmt::format("NumPy format {}; 1 to 3 are understood", version));
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (bytes.size() - prefix < length) fail(path, "truncated: the header is incomplete");
  const std::string header = bytes.substr(prefix, length);
  const std::string descr = header_value(header, "descr", path);
  if (header_value(header, "fortran_order", path) != "False")
    fail(path, "stored in Fortran order; expected C order (numpy.ascontiguousarray)");
  const auto type = std::find_if(std::begin(kNpyTypes), std::end(kNpyTypes), [&](const NpyType& t) {
    return descr.size() == 3 && descr.substr(1) == t.code && std::string("<>|=").find(descr[0]) != std::string::npos;
  });
  if (type == std::end(kNpyTypes)) fail(path, "elements of type '" + descr + "' are not supported");
  const TensorType tensor_type{type->dtype, parse_dims(header_value(header, "shape", path), path)};
  const auto need = static_cast<std::size_t>(tensor_type.bytes()), have = bytes.size() - prefix - length;
  if (have != need) fail(path, fmt::format("{} bytes of data, but {} needs {}", have, to_string(tensor_type), need));
  Tensor t(tensor_type);
  const auto out = t.bytes();
  if (need > 0) std::memcpy(out.data(), bytes.data() + prefix + length, need);
  if (descr[0] == '>') {
    const auto width = static_cast<std::size_t>(storage_size(type->dtype));
    for (std::size_t i = 0; i + width <= out.size(); i += width) std::reverse(&out[i], &out[i] + width);
  }
  return t;
}

void write_npy(const std::string& path, const Tensor& t) {
  switch (t.dtype()) {
    case DType::bf16:
      return write_npy(path, t.cast(DType::f32));
    case DType::i4:
      return write_npy(path, t.cast(DType::i8));
    case DType::u4:
      return write_npy(path, t.cast(DType::u8));
    default:
      break;
  }
  const auto type =
      std::find_if(std::begin(kNpyTypes), std::end(kNpyTypes), [&](const NpyType& n) { return n.dtype == t.dtype(); });
  std::string dims;
  for (const std::int64_t d : t.shape()) dims += std::to_string(d) + ", ";
  if (t.shape().size() > 1) dims.resize(dims.size() - 2);
  if (t.shape().size() == 1) dims.resize(dims.size() - 1);
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   storage_size(t.dtype()) == 1 ? '|' : '<', type->code, dims);
  header.append(63 - (10 + header.size()) % 64, ' ');  // the data starts at a multiple of 64
  header += '\n';
  std::ofstream out(path, std::ios::binary);
  out << "\x93NUMPY" << '\x01' << '\0' << static_cast<char>(header.size() & 0xff)
      << static_cast<char>(header.size() >> 8) << header;
  out.write(reinterpret_cast<const char*>(t.bytes().data()), static_cast<std::streamsize>(t.bytes().size()));
  out.flush();
  if (!out) fail(path, "can't be written");
}

Tensor read_tensor_pb(const std::string& path) {
  const std::string bytes = read_file(path);
  onnx::TensorProto proto;
  if (bytes.size() > INT32_MAX || !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    fail(path, "is not a complete ONNX tensor (truncated, damaged or another kind of file)");
  const TensorSource source{.file = path, .folder = fs::path(path).parent_path().string(), .budget = nullptr};
  return tensor_value(proto, source);
}

}  // namespace assay
