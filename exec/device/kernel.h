// SPDX-License-Identifier: Apache-2.0
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
#include "exec/resources/resource.h"

namespace lanescope::exec {

class ResourceManager;

// Memory of a tensor whose size nobody knows before it is written. Kept from step to step. Thread-compatible.
class GrowingMemory {
 public:
  // Room for so many elements; what was there is lost.
  void Reserve(DataType dtype, int64_t elements);
  void* data() const { return data_; }
  int64_t capacity_bytes() const { return capacity_bytes_; }

 private:
  struct FreeAligned {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte[], FreeAligned> bytes_;
  std::unique_ptr<std::string[]> strings_;
  void* data_ = nullptr;
  int64_t capacity_bytes_ = 0;
};

// A tensor as a kernel sees it: exact shape, memory of the device. For strings `data` points to std::string
// objects.
struct TensorRef {
  DataType dtype = DataType::kInvalid;
  Shape shape;
  void* data = nullptr;
  int64_t capacity_bytes =
      0;  // of the memory behind data; strings: capacity in elements * sizeof(std::string)
  GrowingMemory* growing = nullptr;  // where data lies if its size was not planned

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

  // From now on loops that the calling thread begins end with Cancelled, before their next block, while
  // `stopped` holds. Between loops only; null: never.
  static void StopOn(const std::atomic<bool>* stopped) { stopped_ = stopped; }
  static const std::atomic<bool>* stopped() { return stopped_; }
  // Throws Cancelled when the work of the calling thread has to end. For blocks that take long, between their
  // own pieces.
  static void CheckNotStopped() {
    if (stopped_ != nullptr && stopped_->load(std::memory_order_relaxed)) ThrowStopped();
  }

 private:
  [[noreturn]] static void ThrowStopped();

  // A team may serve several steps, each of which has threads of its own and ends by itself.
  static inline thread_local const std::atomic<bool>* stopped_ = nullptr;
};

// A kernel's view of an asynchronous stream of commands; each backend derives its own
// (exec/cuda/launch.cuh).
class StreamContext {
 public:
  virtual ~StreamContext() = default;
  // Whether the next launch is of a step whose time is recorded: one in which nothing is tried out. Said by
  // who launches, before each launch.
  void SetRecorded(bool recorded) { recorded_ = recorded; }
  bool recorded() const { return recorded_; }

 private:
  bool recorded_ = false;
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
  // Throws ResourceExhausted when the memory planned for the output is too small. May move the output's
  // memory.
  void SetOutputShape(int i, const Shape& shape);
  // The variable behind a reference or handle input.
  Variable& variable(int input) const { return *variables_[static_cast<size_t>(input)]; }
  // The table behind a handle input or, for input -1, of this node itself. `create` makes it at first use.
  virtual Resource& FindOrCreateResource(int input,
                                         const std::function<std::unique_ptr<Resource>()>& create) = 0;
  // The node whose handle or reference this input is, if it is one of a resource.
  virtual const Node& handle_node(int input) const;
  // The resources that the session's steps share by name.
  ResourceManager& resources() const { return *resources_; }
  WorkerTeam& team() const { return *team_; }
  // The stream of a device that runs commands asynchronously; kernels for host memory have none.
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
  ResourceManager* resources_ = nullptr;
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

// A kernel whose launch may have to wait for what other steps do, as that of a dequeue. It holds no thread
// meanwhile: whoever runs it asks it to go on when it can. One launch at a time.
class WaitingKernel : public Kernel {
 public:
  // Goes as far as it can. True: the launch is complete, its outputs are written. False: it waits; `resume`
  // is called once when it can go on, from any thread, maybe before this returns, and Advance is then to be
  // called again. Throws what the wait ended with. `resume` does not throw, and must stay callable until it
  // is called.
  virtual bool Advance(KernelContext& context, const std::function<void()>& resume) = 0;
  // From any thread: a wait ends soon, with Cancelled and with nothing taken.
  virtual void Cancel() = 0;
  // Whose change it waits for: "queue 'examples'". Between two calls of Advance.
  virtual std::string WaitsFor() const = 0;

  // Blocks until the launch is complete; for who runs nothing else meanwhile.
  void Compute(KernelContext& context) final;
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
