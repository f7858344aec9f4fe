// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/random_plan.h"

#include <atomic>

#include "core/graph/ops/sampling.h"
#include "exec/kernels/hash.h"
#include "exec/kernels/stateless_random.h"

namespace lanescope::exec {

NodeStream::NodeStream(const Node& node)
    : seed_(static_cast<uint64_t>(node.IntAttr("seed", 0))),
      seed2_(static_cast<uint64_t>(node.IntAttr("seed2", 0))),
      has_seeds_(seed_ != 0 || seed2_ != 0) {
  if (!has_seeds_) seed2_ = HashOf(node.name);
}

Philox NodeStream::Reserve(KernelContext& context, uint64_t blocks) const {
  Philox philox(has_seeds_ ? seed_ : context.session_seed(), seed2_);
  // Steps that run at the same time may launch the node at the same time.
  philox.Skip(std::atomic_ref(context.random_counter()).fetch_add(blocks, std::memory_order_relaxed));
  return philox;
}

RandomOp::RandomOp(const Node& node)
    : stream_(node),
      distribution_(node.op == "RandomUniform"          ? Distribution::kUniform
                    : node.op == "RandomStandardNormal" ? Distribution::kNormal
                                                        : Distribution::kTruncatedNormal) {}

RandomPlan RandomOp::Plan(KernelContext& context) const {
  ShapeOutput(context, 0, ReadShape(context.input(0)));
  const auto size = static_cast<uint64_t>(context.output().NumElements());
  return {distribution_, stream_.Reserve(context, size * kReservedBlocks)};
}

IntegerRange RangeOf(KernelContext& context, int first) {
  RequireScalar("minval", context.input(first));
  RequireScalar("maxval", context.input(first + 1));
  const int64_t low = ReadInt(context.input(first), "minval");
  const int64_t high = ReadInt(context.input(first + 1), "maxval");
  const bool empty = context.output().NumElements() == 0;
  if (!empty && low >= high) {
    Throw(Code::kInvalidArgument, "Need minval < maxval, got {} >= {}", low, high);
  }
  return {low, empty ? 0 : static_cast<uint64_t>(high) - static_cast<uint64_t>(low)};
}

RandomIntegersPlan RandomIntegersOp::Plan(KernelContext& context) const {
  ShapeOutput(context, 0, ReadShape(context.input(0)));
  const IntegerRange range = RangeOf(context, 1);
  const auto size = static_cast<uint64_t>(context.output().NumElements());
  return {stream_.Reserve(context, size * kReservedBlocks), range.low, range.size};
}

template <bool kStateless>
MultinomialPlan MultinomialOp<kStateless>::Plan(KernelContext& context) const {
  const Shape& logits = context.input(0).shape;
  const Shape shape = ops::DrawnShape(logits, NumbersOf(context.input(1)));
  const auto start = [&] {
    if (kStateless) return StreamOfSeed(context.input(2));
    const uint64_t in_fours = (static_cast<uint64_t>(shape[1]) + 3) / 4 * 4;
    return stream_.Reserve(context, static_cast<uint64_t>(shape[0]) * in_fours * 2 * kReservedBlocks);
  };
  MultinomialPlan plan{start(), shape[0], shape[1], logits[1]};
  ShapeOutput(context, 0, shape);
  return plan;
}

template class MultinomialOp<false>;
template class MultinomialOp<true>;

}  // namespace lanescope::exec
