#include "tests/exec/cuda/stub_kernel.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "core/error.h"
#include "core/op.h"
#include "tests/exec/cuda/stub_state.h"

namespace lanescope::exec::test {
namespace {

// A launch that is run later: operands as they were when it was issued.
class LaterContext : public KernelContext {
 public:
  LaterContext(KernelContext* original, const StubCuda& stub)
      : KernelContext(*original), original_(original) {
    for (TensorRef& input : inputs_) Snapshot(&input, stub);
  }
  Resource& FindOrCreateResource(int input,
                                 const std::function<std::unique_ptr<Resource>()>& create) override {
    return original_->FindOrCreateResource(input, create);
  }
  uint64_t& random_counter() override { return original_->random_counter(); }

 private:
  // Host memory is read when the launch is issued, as CUDA kernels read it.
  void Snapshot(TensorRef* input, const StubCuda& stub) {
    if (input->data == nullptr || !input->shape.IsExact() || stub.IsDeviceMemory(input->data)) return;
    const int64_t bytes = input->NumElements() * static_cast<int64_t>(ElementSize(input->dtype));
    kept_.emplace_back(static_cast<size_t>(std::max<int64_t>(1, bytes)));
    if (bytes > 0) std::memcpy(kept_.back().data(), input->data, static_cast<size_t>(bytes));
    input->data = kept_.back().data();
  }

  KernelContext* original_;
  std::deque<std::vector<char>> kept_;
};

class StubLaunch : public StreamContext {
 public:
  StubLaunch(StubCuda* stub, const cuda::LaunchSpec& spec) : stub_(stub), spec_(spec) {}
  StubCuda& stub() const { return *stub_; }
  const cuda::LaunchSpec& spec() const { return spec_; }

 private:
  StubCuda* stub_;
  cuda::LaunchSpec spec_;
};

class StubKernel : public Kernel {
 public:
  explicit StubKernel(const Node& node) : op_(node.op), kernel_(KernelRegistry::Host().Create(node)) {}

  void Compute(KernelContext& context) override {
    auto& launch = static_cast<StubLaunch&>(context.stream_context());
    LANESCOPE_CHECK(current_gpu == launch.spec().ordinal);
    auto later = std::make_shared<LaterContext>(&context, launch.stub());
    if (MustRunNow(context, launch.stub())) {
      // As a CUDA kernel that needs a size from the device: what it ran is complete when it returns.
      launch.stub().Synchronize(launch.spec().stream);
      launch.stub().Enqueue(launch.spec().stream, [this, &context] { kernel_->Compute(context); });
      launch.stub().Synchronize(launch.spec().stream);
      return;
    }
    launch.stub().Enqueue(launch.spec().stream, [this, later] { kernel_->Compute(*later); });
    if (op_ == "Assign" || op_ == "AssignVariableOp") context.variable(0).initialized = true;
  }
  bool replayable() const override {
    return op_.find("Random") == std::string::npos && op_.find("Truncated") == std::string::npos;
  }

 private:
  static bool MustRunNow(KernelContext& context, const StubCuda& stub) {
    for (int k = 0; k < context.num_outputs(); ++k) {
      const TensorRef& output = context.output(k);
      if (!output.shape.IsExact()) return true;
      if (output.data != nullptr && !stub.IsDeviceMemory(output.data)) return true;
    }
    return false;
  }

  std::string op_;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace

void RegisterStubKernels(KernelRegistry* registry) {
  for (const std::string_view op : OpRegistry::Global().Names()) {
    if (!KernelRegistry::Host().Has(op)) continue;
    registry->Register(std::string(op), [](const Node& node) -> std::unique_ptr<Kernel> {
      return std::make_unique<StubKernel>(node);
    });
  }
}

std::unique_ptr<StreamContext> StubCuda::MakeLaunch(const cuda::LaunchSpec& spec) {
  return std::make_unique<StubLaunch>(this, spec);
}

std::unique_ptr<cuda::Load> StubCuda::MakeLoad(cuda::LoadKind kind, const cuda::LaunchSpec& spec) {
  class StubLoad : public cuda::Load {
   public:
    StubLoad(StubCuda* stub, cuda::LoadKind kind, cuda::StreamHandle stream)
        : stub_(stub), kind_(kind), stream_(stream) {}
    double flops() const override { return kind_ == cuda::LoadKind::kProduct ? 1e6 : 0; }
    double bytes() const override { return 1e6; }
    void Enqueue() override {
      stub_->Enqueue(stream_, [] {});
    }

   private:
    StubCuda* stub_;
    cuda::LoadKind kind_;
    cuda::StreamHandle stream_;
  };
  return std::make_unique<StubLoad>(this, kind, spec.stream);
}

}  // namespace lanescope::exec::test
