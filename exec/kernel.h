// How an op's arithmetic runs on a device of host memory: kernels, their registry and what a kernel sees of
// its launch.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "core/graph/graph.h"
#include "core/graph/op.h"

namespace lanescope::exec {

// A tensor as a kernel sees it: exact shape, memory of the device. For strings `data` points to std::string
// objects.
struct TensorRef {
  DataType dtype = DataType::kInvalid;
  Shape shape;
  void* data = nullptr;
  int64_t capacity_bytes =
      0;  // of the memory behind data; strings: capacity in elements * sizeof(std::string)

  int64_t NumElements() const { return shape.NumElements(); }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

// A variable of the session. Reads of an uninitialised one throw FailedPrecondition before the kernel is
// called.
struct Variable {
  TensorRef tensor;
  bool initialized = false;
};

// State that lives in a session beside variables (lookup tables).
class Resource {
 public:
  virtual ~Resource() = default;
};

// Splits loops over a device's workers. Block borders depend on (n, grain) alone, never on the number of
// workers, so that results are bitwise the same.
class WorkerTeam {
 public:
  virtual ~WorkerTeam() = default;
  // Calls fn(begin, end) for consecutive blocks of `grain` items that cover [0, n). Blocks may run at the
  // same time; returns when all have. An exception of any block is thrown to the caller.
  // From any thread.
  virtual void ParallelFor(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& fn) = 0;
  // A command runs on one of the workers until Leave: its thread then is no helper of others' loops.
  virtual void Enter() {}
  virtual void Leave() {}

  // From now on work ends with Cancelled, before its next block, while `stopped` holds. Between loops only;
  // null: never.
  void StopOn(const std::atomic<bool>* stopped) { stopped_ = stopped; }
  // Throws Cancelled when work has to end. For blocks that take long, between their own pieces.
  void CheckNotStopped() const {
    if (stopped_ != nullptr && stopped_->load(std::memory_order_relaxed)) ThrowStopped();
  }

 private:
  [[noreturn]] static void ThrowStopped();

  const std::atomic<bool>* stopped_ = nullptr;
};

// What a kernel sees of an asynchronous stream of commands; each backend derives its own
// (exec/cuda/launch.cuh).
class StreamContext {
 public:
  virtual ~StreamContext() = default;
};

// The session's seed where nobody gives one, so that a run can be repeated.
inline constexpr uint64_t kDefaultSessionSeed = 0x6C616E6573636F70;

// One launch. Valid during Compute only.
class KernelContext {
 public:
  virtual ~KernelContext() = default;

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  const TensorRef& input(int i) const { return inputs_[static_cast<size_t>(i)]; }
  // Outputs whose shape was known when the schedule was compiled have it already; others have shape Unknown
  // until SetOutputShape.
  TensorRef& output(int i = 0) { return outputs_[static_cast<size_t>(i)]; }
  // Throws ResourceExhausted when the memory planned for the output is too small.
  void SetOutputShape(int i, const Shape& shape);
  // The variable behind a reference or handle input.
  Variable& variable(int input) const { return *variables_[static_cast<size_t>(input)]; }
  // The table behind a handle input or, for input -1, of this node itself. `create` makes it at first use.
  virtual Resource& FindOrCreateResource(int input,
                                         const std::function<std::unique_ptr<Resource>()>& create) = 0;
  WorkerTeam& team() const { return *team_; }
  // Of a device that runs commands asynchronously; kernels for host memory have none.
  StreamContext& stream_context() const { return *stream_context_; }
  // Graph-level state of random ops: a counter per node that survives from step to step, reset with the
  // session.
  virtual uint64_t& random_counter() = 0;
  // First key of random ops without seeds of their own.
  uint64_t session_seed() const { return session_seed_; }

 protected:
  std::vector<TensorRef> inputs_;
  std::vector<TensorRef> outputs_;
  std::vector<Variable*> variables_;
  WorkerTeam* team_ = nullptr;
  StreamContext* stream_context_ = nullptr;
  uint64_t session_seed_ = kDefaultSessionSeed;
};

// The arithmetic of one node; attributes are read once, at construction. Compute is called by one thread at a
// time.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void Compute(KernelContext& context) = 0;
  // For devices with streams: whether what Compute enqueues may be recorded once and replayed with the same
  // operands. False where it depends on anything but their addresses, shapes and device memory, or waits for
  // the device.
  virtual bool replayable() const { return true; }
};

// Makes the kernel of a node. Throws Unimplemented for a dtype that it lacks, InvalidArgument for a bad
// attribute.
using KernelFactory = std::unique_ptr<Kernel> (*)(const Node& node);

// The kernels of one kind of memory, by op. Built once; immutable afterwards.
class KernelRegistry {
 public:
  static const KernelRegistry& Host();
  void Register(std::string op, KernelFactory factory);
  bool Has(std::string_view op) const;
  std::vector<std::string_view> Names() const;  // sorted
  // Throws Unimplemented when the op has no kernel here.
  std::unique_ptr<Kernel> Create(const Node& node) const;

 private:
  std::unordered_map<std::string, KernelFactory> factories_;
};

// Each file of exec/kernels registers its ops; called by KernelRegistry::Host().
void RegisterMathKernels(KernelRegistry& registry);       // element-wise, comparisons, casts, select, AddN
void RegisterReductionKernels(KernelRegistry& registry);  // Sum, Mean, Max, ArgMax, L2Loss, cumulative
void RegisterLinearKernels(KernelRegistry& registry);  // MatMul, BatchMatMul, convolution and its gradients
void RegisterNnKernels(
    KernelRegistry& registry);  // pooling, LRN, bias, softmax, cross entropy, activations' gradients
void RegisterArrayKernels(
    KernelRegistry& registry);  // reshape, concat, split, slice, gather, transpose, tile, pad, fill ...
void RegisterSparseKernels(
    KernelRegistry& registry);  // Unique, segment sums, scatter, dynamic stitch/partition
void RegisterStateKernels(KernelRegistry& registry);   // variables, assignments, optimizers
void RegisterRandomKernels(KernelRegistry& registry);  // Philox streams
void RegisterStringKernels(KernelRegistry& registry);  // AsString, lookup tables

}  // namespace lanescope::exec
