// SPDX-License-Identifier: Apache-2.0
// Queue ops on host memory.
#include "exec/kernels/host_tensors.h"
#include "exec/kernels/op_kernel.h"
#include "exec/kernels/queue_attempt.h"
#include "exec/kernels/queue_handle.h"
#include "exec/kernels/queue_kernels.h"

namespace lanescope::exec {
namespace {

// One attempt at the queue of input 0.
class QueueKernel : public WaitingKernel {
 public:
  explicit QueueKernel(const Node& node) {
    if (node.IntAttr("timeout_ms", -1) != -1) Throw(Code::kInvalidArgument, "Timeout not supported yet.");
  }

  bool Advance(KernelContext& context, const std::function<void()>& resume) override {
    if (!attempt_.in_progress()) {
      title_ = QueueTitle(context, 0);
      const auto queue = QueueOf(context, 0);
      if (!attempt_.Begin(queue, resume, [&] { return Submit(context, queue.get()); })) return false;
    }
    QueueTuple tuple = attempt_.Take();
    for (int i = 0; i < context.num_outputs(); ++i) WriteOutput(context, i, tuple[static_cast<size_t>(i)]);
    return true;
  }
  void Cancel() override { attempt_.Cancel(); }
  std::string WaitsFor() const override { return title_; }

 protected:
  virtual TensorQueue::AttemptNumber Submit(KernelContext& context, TensorQueue* queue) = 0;
  auto WhenDone() {
    return [this](const Error* error) { attempt_.Finish(error); };
  }
  auto WhenTaken() {
    return [this](const Error* error, QueueTuple tuple) { attempt_.Finish(error, std::move(tuple)); };
  }
  static QueueTuple Components(KernelContext& context) {
    QueueTuple tuple;
    for (int i = 1; i < context.num_inputs(); ++i) tuple.push_back(CopyOf(context.input(i)));
    return tuple;
  }
  // As many as the node gives and expects.
  static void RequireComponents(KernelContext& context, const TensorQueue& queue) {
    const auto& types = queue.spec().types;
    bool same = types.size() == static_cast<size_t>(context.num_outputs());
    for (size_t i = 0; same && i < types.size(); ++i) {
      same = types[i] == context.output(static_cast<int>(i)).dtype;
    }
    if (!same) {
      Throw(Code::kInvalidArgument, "the components of {} '{}' are not those that are taken from it",
            TensorQueueKindName(queue.spec().kind), queue.name());
    }
  }

 private:
  QueueAttempt attempt_;
  std::string title_;
};

class EnqueueKernel final : public QueueKernel {
  using QueueKernel::QueueKernel;
  TensorQueue::AttemptNumber Submit(KernelContext& context, TensorQueue* queue) override {
    return queue->Enqueue(Components(context), WhenDone());
  }
};

class EnqueueManyKernel final : public QueueKernel {
  using QueueKernel::QueueKernel;
  TensorQueue::AttemptNumber Submit(KernelContext& context, TensorQueue* queue) override {
    return queue->EnqueueMany(Components(context), WhenDone());
  }
};

class DequeueKernel final : public QueueKernel {
  using QueueKernel::QueueKernel;
  TensorQueue::AttemptNumber Submit(KernelContext& context, TensorQueue* queue) override {
    RequireComponents(context, *queue);
    return queue->Dequeue(WhenTaken());
  }
};

class DequeueManyKernel final : public QueueKernel {
  using QueueKernel::QueueKernel;
  TensorQueue::AttemptNumber Submit(KernelContext& context, TensorQueue* queue) override {
    RequireComponents(context, *queue);
    return queue->DequeueMany(ScalarOf<int32_t>(context.input(1), "n"), WhenTaken());
  }
};

class DequeueUpToKernel final : public QueueKernel {
  using QueueKernel::QueueKernel;
  TensorQueue::AttemptNumber Submit(KernelContext& context, TensorQueue* queue) override {
    RequireComponents(context, *queue);
    return queue->DequeueUpTo(ScalarOf<int32_t>(context.input(1), "n"), WhenTaken());
  }
};

class CloseKernel final : public QueueKernel {
 public:
  explicit CloseKernel(const Node& node)
      : QueueKernel(node), cancel_(node.BoolAttr("cancel_pending_enqueues", false)) {}

 private:
  TensorQueue::AttemptNumber Submit(KernelContext&, TensorQueue* queue) override {
    return queue->Close(cancel_, WhenDone());
  }

  const bool cancel_;
};

void ComputeQueueSize(KernelContext& context) {
  ShapeOutput(context, 0, Shape{});
  *context.output().as<int32_t>() = static_cast<int32_t>(QueueOf(context, 0)->size());
}

void ComputeIsClosed(KernelContext& context) {
  ShapeOutput(context, 0, Shape{});
  *context.output().as<bool>() = QueueOf(context, 0)->state().is_closed;
}

}  // namespace

void RegisterQueueKernels(KernelRegistry& registry) {
  for (const std::string version : {"", "V2"}) {
    // The first user of the queue makes it.
    for (const char* queue : {"FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue"}) {
      registry.Register(queue + version, MakeFunctionKernel<DoNothing>);
    }
    registry.Register("QueueEnqueue" + version, MakeKernel<EnqueueKernel>);
    registry.Register("QueueEnqueueMany" + version, MakeKernel<EnqueueManyKernel>);
    registry.Register("QueueDequeue" + version, MakeKernel<DequeueKernel>);
    registry.Register("QueueDequeueMany" + version, MakeKernel<DequeueManyKernel>);
    registry.Register("QueueDequeueUpTo" + version, MakeKernel<DequeueUpToKernel>);
    registry.Register("QueueClose" + version, MakeKernel<CloseKernel>);
    registry.Register("QueueSize" + version, MakeFunctionKernel<ComputeQueueSize>);
    registry.Register("QueueIsClosed" + version, MakeFunctionKernel<ComputeIsClosed>);
  }
}

}  // namespace lanescope::exec
