#include "core/ops/build_nest.h"
#include "core/ops/eval.h"
#include "core/ops/onnx_types.h"

namespace assay {
namespace {

NestProgram nests(const OpContext& c) {
  const DType to = c.outputs[0].dtype;
  Nest nest = nest_over(c.outputs[0].shape);
  const std::size_t rank = c.outputs[0].shape.size();
  nest.ins.push_back(identity_access(input_slot(0), rank));
  nest.out = identity_access(output_slot(0), rank);
  nest.accumulator = to;
  BodyWriter w(c.type(0).dtype);
  nest.body = w.done(w.in(0, c.type(0).dtype), to);
  return single(std::move(nest));
}

}  // namespace

void register_cast(OpRegistry& r) {
  OpDef cast;
  cast.name = "Cast";
  cast.kind = OpKind::nest;
  cast.infer = [](const OpContext& c) {
    if (!c.attributes->has("to")) c.reject("attribute 'to' is missing");
    return std::vector<TensorType>{{onnx_dtype(c, c.attributes->integer("to", 0)), c.shape(0)}};
  };
  cast.evaluate = [](EvalContext& c) { c.out[0] = c.in(0).cast(c.op.outputs[0].dtype); };
  cast.nests = nests;
  OpDef like = cast;
  like.name = "CastLike";
  like.min_inputs = like.max_inputs = 2;
  like.infer = [](const OpContext& c) { return std::vector<TensorType>{{c.type(1).dtype, c.shape(0)}}; };
  r.add(std::move(cast));
  r.add(std::move(like));
}

}  // namespace assay
