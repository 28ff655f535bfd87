#include "hwmodels/functional/host.h"

#include <fmt/format.h>

#include <cstring>

#include "core/base/error.h"
#include "core/ops/attributes_json.h"
#include "core/ops/op.h"

namespace assay {
namespace {

std::int64_t tensor_bytes(const Buffer& b) {
  if (bits(b.type) < 8)
    throw InputError(b.name, fmt::format("{} tensors are not supported by the functional machine", name(b.type)));
  const std::int64_t bytes = TensorType{b.type, b.shape}.bytes();
  if (bytes > b.bytes) throw InputError(b.name, fmt::format("the buffer has {} bytes, its tensor {}", b.bytes, bytes));
  return bytes;
}

}  // namespace

Tensor read_tensor(const Buffer& buffer, const std::byte* memory) {
  const std::int64_t bytes = tensor_bytes(buffer);
  Tensor t(TensorType{buffer.type, buffer.shape});
  if (bytes > 0) std::memcpy(t.bytes().data(), memory + buffer.address, static_cast<std::size_t>(bytes));
  return t;
}

void write_tensor(const Buffer& buffer, std::byte* memory, const Tensor& value) {
  const std::int64_t bytes = tensor_bytes(buffer);
  if (value.dtype() != buffer.type || value.size() != element_count(buffer.shape))
    throw InputError(buffer.name, fmt::format("expected {}, found {}", to_string(TensorType{buffer.type, buffer.shape}),
                                              to_string(value.type())));
  if (bytes > 0) std::memcpy(memory + buffer.address, value.bytes().data(), static_cast<std::size_t>(bytes));
}

std::vector<HostTraffic> run_host(const Program& program, const HostCommand& command, Memories& memories) {
  const OpDef* op = operations().find(command.op);
  if (op == nullptr) {
    Diagnostic d;
    d.path = "host";
    d.message = "unknown operation '" + command.op + "'";
    d.suggestion = nearest_name(command.op, operations().names()).value_or("");
    throw InputError(std::move(d));
  }
  const ParsedAttributes parsed = attributes_from_json(command.attributes);
  std::vector<HostTraffic> traffic;
  EvalContext context;
  context.op.node_name = command.op;
  context.op.op = command.op;
  context.op.version = parsed.version;
  context.op.attributes = &parsed.attributes;
  context.op.output_count = command.out.size();
  for (const BufferId id : command.in) {
    if (!id.valid()) {
      context.op.inputs.emplace_back();
      context.op.values.emplace_back();
      continue;
    }
    const Buffer& b = program.buffer(id);
    auto t = std::make_shared<const Tensor>(read_tensor(b, memories.of(b.memory, 0)));
    traffic.push_back({id, t->type().bytes(), 0});
    context.op.inputs.emplace_back(t->type());
    context.op.values.push_back(std::move(t));
  }
  for (std::size_t i = 0; i < command.out.size(); ++i)
    if (!command.out[i].valid()) context.op.unwanted.push_back(i);
  context.op.outputs = infer_node(context.op);
  for (const TensorType& type : context.op.outputs) context.out.emplace_back(type);
  op->evaluate(context);
  if (context.out.size() < command.out.size())
    throw InputError("host", fmt::format("'{}' has {} outputs, the command wants {}", command.op, context.out.size(),
                                         command.out.size()));
  for (std::size_t i = 0; i < command.out.size(); ++i) {
    if (!command.out[i].valid()) continue;
    const Buffer& b = program.buffer(command.out[i]);
    write_tensor(b, memories.of(b.memory, 0), context.out[i]);
    traffic.push_back({command.out[i], 0, context.out[i].type().bytes()});
  }
  return traffic;
}

}  // namespace assay
