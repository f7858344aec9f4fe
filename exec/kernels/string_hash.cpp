// SPDX-License-Identifier: Apache-2.0
// Texts to numbers of buckets.
#include <farmhash.h>

#include "exec/kernels/string_kernels.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kHashGrain = 2048;

// FarmHash's fingerprint, which is the same on every machine, modulo the number of buckets.
class StringToHashBucketFastKernel : public Kernel {
 public:
  explicit StringToHashBucketFastKernel(const Node& node)
      : num_buckets_(static_cast<uint64_t>(node.IntAttr("num_buckets"))) {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    ShapeOutput(context, 0, x.shape);
    const std::string* texts = x.as<std::string>();
    int64_t* buckets = context.output().as<int64_t>();
    context.team().ParallelFor(x.NumElements(), kHashGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const uint64_t hash = util::Fingerprint64(texts[i].data(), texts[i].size());
        buckets[i] = static_cast<int64_t>(hash % num_buckets_);
      }
    });
  }

 private:
  uint64_t num_buckets_;
};

}  // namespace

void RegisterHashKernels(KernelRegistry& registry) {
  registry.Register("StringToHashBucketFast", MakeKernel<StringToHashBucketFastKernel>);
}

}  // namespace lanescope::exec
