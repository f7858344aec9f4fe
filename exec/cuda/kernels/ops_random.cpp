// Random tensors: the streams of the host's kernels.
#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/random.h"
#include "exec/kernels/hash.h"

namespace lanescope::exec::cuda {
namespace {

// Launches depend on the node's counter, which the host keeps.
class RandomKernel : public UnrecordedKernel {
 public:
  explicit RandomKernel(const Node& node)
      : seed_(static_cast<uint64_t>(node.IntAttr("seed", 0))),
        seed2_(static_cast<uint64_t>(node.IntAttr("seed2", 0))) {
    has_seeds_ = seed_ != 0 || seed2_ != 0;
    if (!has_seeds_) seed2_ = HashOf(node.name);
  }

 protected:
  // A generator at the stream's place, which moves on by what `elements` numbers reserve.
  Philox Reserve(KernelContext& context, int64_t elements) const {
    Philox philox(has_seeds_ ? seed_ : context.session_seed(), seed2_);
    philox.Skip(context.random_counter());
    context.random_counter() += static_cast<uint64_t>(elements) * kReservedBlocks;
    return philox;
  }

 private:
  uint64_t seed_;
  uint64_t seed2_;
  bool has_seeds_ = false;
};

template <Distribution distribution>
class RandomRealKernel final : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  void Compute(KernelContext& context) override {
    ShapeOutput(context, 0, ReadShape(context.input(0)));
    const TensorRef& out = context.output();
    const Philox start = Reserve(context, out.NumElements());
    DispatchReal("a random op", out.dtype, [&]<typename T>(T) {
      RunRandom<T>(LaunchOf(context), distribution, start, out.NumElements(), out.as<T>());
    });
  }
};

class RandomIntegersKernel final : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  void Compute(KernelContext& context) override {
    ShapeOutput(context, 0, ReadShape(context.input(0)));
    const int64_t low = ReadInt(context.input(1), "minval");
    const int64_t high = ReadInt(context.input(2), "maxval");
    const TensorRef& out = context.output();
    if (out.NumElements() == 0) return;
    if (low >= high) Throw(Code::kInvalidArgument, "Need minval < maxval, got {} >= {}", low, high);
    const Philox start = Reserve(context, out.NumElements());
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    DispatchIndex("RandomUniformInt", out.dtype, [&]<typename T>(T) {
      RunRandomIntegers<T>(LaunchOf(context), start, low, range, out.NumElements(), out.as<T>());
    });
  }
};

}  // namespace

void RegisterRandomOps(KernelRegistry& registry) {
  registry.Register("RandomUniform", MakeKernel<RandomRealKernel<Distribution::kUniform>>);
  registry.Register("RandomStandardNormal", MakeKernel<RandomRealKernel<Distribution::kNormal>>);
  registry.Register("TruncatedNormal", MakeKernel<RandomRealKernel<Distribution::kTruncatedNormal>>);
  registry.Register("RandomUniformInt", MakeKernel<RandomIntegersKernel>);
}

}  // namespace lanescope::exec::cuda
