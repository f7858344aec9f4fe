// SPDX-License-Identifier: Apache-2.0
// Random tensors that follow from a seed alone, number by number those of TensorFlow's CPU kernels.
#include "exec/kernels/stateless_random.h"

#include "exec/kernels/random_plan.h"

namespace lanescope::exec {
namespace {

uint64_t SeedAt(const TensorRef& seed, int64_t i) {
  return seed.dtype == DataType::kInt32 ? static_cast<uint64_t>(int64_t{seed.as<int32_t>()[i]})
                                        : static_cast<uint64_t>(seed.as<int64_t>()[i]);
}

// Key and upper half of the counter.
struct SeedKey {
  uint64_t key, counter;
};

// Any two numbers make a good key: they are the counter of a stream whose first block is that.
SeedKey KeyOf(const TensorRef& seed) {
  ops::CheckSeed(seed.shape);
  Philox mixer(0x02461e293ec8f720, SeedAt(seed, 1));
  mixer.Skip(SeedAt(seed, 0));
  const Philox::Block mix = mixer.Next();
  return {uint64_t{mix[1]} << 32 | mix[0], uint64_t{mix[3]} << 32 | mix[2]};
}

constexpr int32_t kPhilox = 1, kAutomatic = 3;

// The stream of inputs 1 to 3: key, counter and algorithm. The first two are read where the numbers are made.
StreamStart StreamOf(const TensorRef& key, const TensorRef& counter, const TensorRef& algorithm) {
  ops::CheckStream(key.shape, counter.shape, algorithm.shape);
  const int32_t which = *algorithm.as<int32_t>();
  if (which != kPhilox && which != kAutomatic) {
    Throw(Code::kUnimplemented, "random algorithm {}: only Philox (1) is known here", which);
  }
  return {key.as<uint64_t>(), counter.as<uint64_t>()};
}

// Inputs: shape and seed; or shape, key, counter and algorithm.
StreamStart StreamIn(KernelContext& context, bool has_key) {
  if (has_key) return StreamOf(context.input(1), context.input(2), context.input(3));
  return StreamOfSeed(context.input(1));
}

void KeyAndCounter(KernelContext& context) {
  const SeedKey start = KeyOf(context.input(0));
  ShapeOutput(context, 0, {1});
  ShapeOutput(context, 1, {2});
  context.output(0).as<uint64_t>()[0] = start.key;
  context.output(1).as<uint64_t>()[0] = 0;
  context.output(1).as<uint64_t>()[1] = start.counter;
}

void Algorithm(KernelContext& context, int output) {
  ShapeOutput(context, output, {});
  *context.output(output).as<int32_t>() = kPhilox;
}

void KeyCounterAndAlgorithm(KernelContext& context) {
  KeyAndCounter(context);
  Algorithm(context, 2);
}

void AlgorithmAlone(KernelContext& context) { Algorithm(context, 0); }

}  // namespace

Philox StreamOfSeed(const TensorRef& seed) {
  const SeedKey start = KeyOf(seed);
  return {start.key, start.counter};
}

StatelessOp::StatelessOp(const Node& node)
    : distribution_(node.op.starts_with("StatelessRandomUniform")  ? Distribution::kUniform
                    : node.op.starts_with("StatelessRandomNormal") ? Distribution::kNormal
                                                                   : Distribution::kTruncatedNormal),
      has_key_(node.op.ends_with("V2")) {}

RandomPlan StatelessOp::Plan(KernelContext& context) const {
  ShapeOutput(context, 0, ReadShape(context.input(0)));
  return {distribution_, StreamIn(context, has_key_)};
}

RandomIntegersPlan StatelessIntegersOp::Plan(KernelContext& context) const {
  ShapeOutput(context, 0, ReadShape(context.input(0)));
  const StreamStart start = StreamIn(context, has_key_);
  const IntegerRange range = RangeOf(context, has_key_ ? 4 : 2);
  return {start, range.low, range.size};
}

void RegisterStatelessRandomKernels(KernelRegistry& registry) {
  registry.Register("StatelessRandomGetKeyCounter", MakeFunctionKernel<KeyAndCounter>);
  registry.Register("StatelessRandomGetKeyCounterAlg", MakeFunctionKernel<KeyCounterAndAlgorithm>);
  registry.Register("StatelessRandomGetAlg", MakeFunctionKernel<AlgorithmAlone>);
}

}  // namespace lanescope::exec
