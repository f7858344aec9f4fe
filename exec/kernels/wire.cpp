// SPDX-License-Identifier: Apache-2.0
// Tensors with 8 bits an element for messages between tasks (core/graph/ops/wire.h).
#include "core/graph/ops/wire.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "exec/functors/scaled_int8.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kGrain = 8192;

// NaN where any element is none or infinite: it would not survive beside the others, and is seen so.
float LargestOf(const float* values, int64_t count, WorkerTeam& team) {
  std::vector<float> largest(static_cast<size_t>((count + kGrain - 1) / kGrain));
  team.ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
    float most = 0;
    bool finite = true;
    for (int64_t i = begin; i < end; ++i) {
      const float magnitude = std::fabs(values[i]);
      finite &= magnitude <= std::numeric_limits<float>::max();
      most = std::max(most, magnitude);
    }
    largest[static_cast<size_t>(begin / kGrain)] = finite ? most : std::numeric_limits<float>::quiet_NaN();
  });
  float most = 0;
  for (const float block : largest) {
    if (std::isnan(block)) return block;
    most = std::max(most, block);
  }
  return most;
}

void Pack(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const int64_t count = x.NumElements();
  ShapeOutput(context, 0, Shape{count + ops::kScaleBytes});
  auto* packed = context.output().as<int8_t>();
  const auto* values = x.as<float>();
  const float largest = LargestOf(values, count, context.team());
  std::memcpy(packed, &largest, sizeof largest);
  context.team().ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      packed[ops::kScaleBytes + i] = functors::FloatToScaled(values[i], largest);
  });
}

class UnpackKernel final : public Kernel {
 public:
  explicit UnpackKernel(const Node& node) : shape_(node.GetShapeAttr("shape")) {
    if (!shape_.IsExact())
      Throw(Code::kInvalidArgument, "a tensor of shape {} cannot be unpacked", shape_.ToString());
  }

  void Compute(KernelContext& context) override {
    const int64_t count = shape_.NumElements();
    if (context.input(0).NumElements() != count + ops::kScaleBytes) {
      Throw(Code::kInvalidArgument, "{} packed bytes are no tensor of shape {}",
            context.input(0).NumElements(), shape_.ToString());
    }
    ShapeOutput(context, 0, shape_);
    const auto* packed = context.input(0).as<int8_t>();
    auto* y = context.output().as<float>();
    float largest = 0;
    std::memcpy(&largest, packed, sizeof largest);
    context.team().ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        y[i] = functors::ScaledToFloat(packed[ops::kScaleBytes + i], largest);
    });
  }

 private:
  const Shape shape_;
};

}  // namespace

void RegisterWireKernels(KernelRegistry& registry) {
  registry.Register("PackScaledInt8", MakeFunctionKernel<Pack>);
  registry.Register("UnpackScaledInt8", MakeKernel<UnpackKernel>);
}

}  // namespace lanescope::exec
