#include "workloads/onnx_tensor.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "core/ops/onnx_types.h"

namespace assay {
namespace {

static_assert(std::endian::native == std::endian::little, "ONNX raw data is little-endian");

namespace fs = std::filesystem;

[[noreturn]] void fail(const TensorSource& source, const onnx::TensorProto& proto, const std::string& message) {
  throw InputError(Diagnostic{
      .pos = {.file = source.file}, .path = "tensor '" + proto.name() + "'", .message = message, .suggestion = {}});
}

bool four_bit(DType t) { return t == DType::i4 || t == DType::u4; }

void spend(const onnx::TensorProto& proto, const TensorSource& source, std::int64_t bytes) {
  if (source.budget == nullptr) return;
  if (bytes > *source.budget)
    fail(source, proto,
         fmt::format("the weights together are larger than may be read ({} more bytes needed, {} left); "
                     "'weights: absent' keeps their shapes only",
                     bytes, *source.budget));
  *source.budget -= bytes;
}

/// Elements as they lie in the file → elements as Tensor stores them.
void unpack(const std::string& raw, Tensor& t) {
  if (!four_bit(t.dtype())) {
    if (!raw.empty()) std::memcpy(t.bytes().data(), raw.data(), raw.size());
    return;
  }
  const auto put = [&](std::int64_t i, unsigned nibble) {
    const int value = t.dtype() == DType::i4 && nibble >= 8 ? static_cast<int>(nibble) - 16 : static_cast<int>(nibble);
    t.bytes()[static_cast<std::size_t>(i)] = static_cast<std::byte>(value);
  };
  for (std::int64_t i = 0; i < t.size(); ++i) {  // the low half comes first
    const auto byte = static_cast<unsigned char>(raw[static_cast<std::size_t>(i / 2)]);
    put(i, i % 2 == 0 ? byte & 15U : byte >> 4U);
  }
}

template <class To, class Field>
void copy_field(const onnx::TensorProto& proto, const TensorSource& source, const Field& field, Tensor& t) {
  if (field.size() != t.size())
    fail(source, proto, fmt::format("{} values for shape {}", field.size(), to_string(t.shape())));
  std::size_t i = 0;
  const auto out = t.data<To>();
  for (const auto v : field) out[i++] = static_cast<To>(v);
}

std::string external_data(const onnx::TensorProto& proto, const TensorSource& source, std::int64_t expected) {
  std::string location;
  std::int64_t offset = 0, length = -1;
  const auto number = [&](const std::string& key, const std::string& text) {
    std::int64_t v = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (error != std::errc() || end != text.data() + text.size() || v < 0)
      fail(source, proto, fmt::format("external data: {} is '{}', expected a number of bytes", key, text));
    return v;
  };
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = number("offset", entry.value());
    if (entry.key() == "length") length = number("length", entry.value());
  }
  if (location.empty()) fail(source, proto, "external data without a location");
  if (length >= 0 && length != expected)
    fail(source, proto, fmt::format("external data of {} bytes, but the shape needs {}", length, expected));
  const fs::path relative(location);
  bool inside = relative.is_relative();
  for (const fs::path& part : relative) inside = inside && part != "..";
  std::error_code error;
  const fs::path root = fs::weakly_canonical(source.folder.empty() ? "." : source.folder, error);
  const fs::path full = fs::weakly_canonical(root / relative, error);
  inside = inside && std::mismatch(root.begin(), root.end(), full.begin(), full.end()).first == root.end();
  if (!inside) fail(source, proto, fmt::format("external data at '{}' lies outside the model's folder", location));
  if (!fs::is_regular_file(full, error)) fail(source, proto, fmt::format("external data '{}' is missing", location));
  const auto size = static_cast<std::int64_t>(fs::file_size(full, error));
  if (error || offset > size || expected > size - offset)
    fail(source, proto,
         fmt::format("external data '{}' has {} bytes, but {} at offset {} are needed", location, size, expected,
                     offset));
  std::ifstream in(full, std::ios::binary);
  std::string raw(static_cast<std::size_t>(expected), '\0');
  if (!in.seekg(offset) || !in.read(raw.data(), expected))
    fail(source, proto, fmt::format("external data '{}' can't be read", location));
  return raw;
}

void read_fields(const onnx::TensorProto& proto, const TensorSource& source, Tensor& t) {
  switch (t.dtype()) {
    case DType::f32:
      return copy_field<float>(proto, source, proto.float_data(), t);
    case DType::f64:
      return copy_field<double>(proto, source, proto.double_data(), t);
    case DType::i64:
      return copy_field<std::int64_t>(proto, source, proto.int64_data(), t);
    case DType::u64:
      return copy_field<std::uint64_t>(proto, source, proto.uint64_data(), t);
    case DType::u32:
      return copy_field<std::uint32_t>(proto, source, proto.uint64_data(), t);
    case DType::i32:
      return copy_field<std::int32_t>(proto, source, proto.int32_data(), t);
    case DType::i16:
      return copy_field<std::int16_t>(proto, source, proto.int32_data(), t);
    case DType::i8:
      return copy_field<std::int8_t>(proto, source, proto.int32_data(), t);
    case DType::u8:
    case DType::boolean:
      return copy_field<std::uint8_t>(proto, source, proto.int32_data(), t);
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      return copy_field<std::uint16_t>(proto, source, proto.int32_data(), t);
    case DType::i4:
    case DType::u4:
      break;
  }
  // 4-bit: each int32 holds one byte of two elements.
  const std::int64_t packed = (t.size() + 1) / 2;
  if (proto.int32_data_size() != packed)
    fail(source, proto, fmt::format("{} packed values for shape {}", proto.int32_data_size(), to_string(t.shape())));
  std::string raw;
  for (const std::int32_t v : proto.int32_data()) raw += static_cast<char>(v);
  unpack(raw, t);
}

}  // namespace

std::string onnx_type_name(int data_type) {
  if (const auto t = dtype_from_onnx(data_type)) return std::string(name(*t));
  switch (data_type) {
    case 0:
      return "undefined";
    case 8:
      return "string";
    case 14:
      return "complex64";
    case 15:
      return "complex128";
    case 17:
      return "float8e4m3fn";
    case 18:
      return "float8e4m3fnuz";
    case 19:
      return "float8e5m2";
    case 20:
      return "float8e5m2fnuz";
    case 23:
      return "float4e2m1";
    case 24:
      return "float8e8m0";
    default:
      return fmt::format("number {}", data_type);
  }
}

TensorType tensor_type(const onnx::TensorProto& proto, const TensorSource& source) {
  const auto dtype = dtype_from_onnx(proto.data_type());
  if (!dtype)
    fail(source, proto, fmt::format("elements of type {} are not supported", onnx_type_name(proto.data_type())));
  TensorType type{*dtype, {}};
  std::int64_t elements = 1;
  for (const std::int64_t d : proto.dims()) {
    type.shape.push_back(d);
    if (d < 0) fail(source, proto, fmt::format("a dimension of {}", d));
    if (d != 0 && elements > kMaxElements / d) fail(source, proto, "more than 2^40 elements");
    elements *= d;
  }
  return type;
}

Tensor tensor_value(const onnx::TensorProto& proto, const TensorSource& source) {
  const TensorType type = tensor_type(proto, source);
  if (proto.has_segment()) fail(source, proto, "stored in segments, which is not supported");
  const std::int64_t bytes = type.bytes();
  const bool external = proto.data_location() == onnx::TensorProto::EXTERNAL;
  // A short file may claim a large shape: the data is looked at before anything of that size is allocated.
  if (!external && proto.has_raw_data() && static_cast<std::int64_t>(proto.raw_data().size()) != bytes)
    fail(source, proto,
         fmt::format("{} bytes of data, but {} needs {}", proto.raw_data().size(), to_string(type), bytes));
  if (!external && !proto.has_raw_data()) {
    const std::int64_t given = std::int64_t{proto.float_data_size()} + proto.int32_data_size() +
                               proto.int64_data_size() + proto.double_data_size() + proto.uint64_data_size();
    const std::int64_t wanted = four_bit(type.dtype) ? bytes : element_count(type.shape);
    if (given != wanted) fail(source, proto, fmt::format("{} values for {}", given, to_string(type)));
  }
  spend(proto, source, bytes);
  std::string raw;
  if (external) raw = external_data(proto, source, bytes);
  Tensor t(type);
  if (external) {
    unpack(raw, t);
  } else if (proto.has_raw_data()) {
    unpack(proto.raw_data(), t);
  } else {
    read_fields(proto, source, t);
  }
  if (type.dtype == DType::boolean)
    for (std::uint8_t& v : t.data<std::uint8_t>()) v = v != 0 ? 1 : 0;
  return t;
}

}  // namespace assay
