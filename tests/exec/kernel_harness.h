// SPDX-License-Identifier: Apache-2.0
// Runs one kernel on host tensors: the node, its inputs and what is known of its outputs go in, tensors come
// out. Single-threaded use; TestTeam runs blocks on as many threads as asked, in an order that no kernel may
// rely on.
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/graph/tensor.h"
#include "exec/device/kernel.h"

namespace lanescope::exec::test {

// Calls blocks last to first (one worker) or dealt out to threads from both ends.
class TestTeam final : public WorkerTeam {
 public:
  explicit TestTeam(int workers) : workers_(workers) {}

  void ParallelFor(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& fn) override {
    if (n <= 0) return;
    const int64_t step = std::max<int64_t>(1, grain);
    const int64_t blocks = (n + step - 1) / step;
    std::mutex mutex;
    std::exception_ptr failure;
    const auto run = [&](int worker) {
      try {
        for (int64_t k = worker; k < blocks; k += workers_) {
          const int64_t block = worker % 2 == 0 ? blocks - 1 - k : ForwardBlock(k, blocks, worker);
          fn(block * step, std::min(n, (block + 1) * step));
        }
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    };
    std::vector<std::thread> threads;
    for (int worker = 1; worker < workers_; ++worker) threads.emplace_back(run, worker);
    run(0);
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
  }

 private:
  // This worker's set of blocks as of a descending walk, visited in ascending order.
  int64_t ForwardBlock(int64_t k, int64_t blocks, int worker) const {
    const int64_t count = (blocks - 1 - worker) / workers_;
    const int64_t turned = worker + (count - (k - worker) / workers_) * workers_;
    return blocks - 1 - turned;
  }

  int workers_;
};

// The plan of one output: an exact shape is handed to the kernel, a bounded one only sizes its
// memory.
struct OutputPlan {
  DataType dtype;
  Shape shape;
};

inline TensorRef RefTo(Tensor& tensor) {
  TensorRef ref;
  ref.dtype = tensor.dtype();
  ref.shape = tensor.shape();
  ref.data = tensor.raw_data();
  const size_t element =
      tensor.dtype() == DataType::kString ? sizeof(std::string) : ElementSize(tensor.dtype());
  ref.capacity_bytes = tensor.NumElements() * static_cast<int64_t>(element);
  return ref;
}

class TestContext final : public KernelContext {
 public:
  // Variables by input number; those inputs carry no tensor. `in_place` shares the memory of input 0 with
  // output 0.
  TestContext(std::vector<Tensor> inputs, const std::vector<OutputPlan>& outputs, WorkerTeam& team,
              const std::map<int, Variable*>& variables = {}, bool in_place = false)
      : input_tensors_(std::move(inputs)) {
    team_ = &team;
    variables_.assign(input_tensors_.size(), nullptr);
    for (const auto& [input, variable] : variables) variables_[static_cast<size_t>(input)] = variable;
    for (size_t i = 0; i < input_tensors_.size(); ++i) {
      Tensor& tensor = input_tensors_[i];
      inputs_.push_back(variables_[i] != nullptr ? variables_[i]->tensor
                        : tensor.valid()         ? RefTo(tensor)
                                                 : TensorRef{});
    }
    for (const OutputPlan& plan : outputs) {
      output_tensors_.push_back(in_place && output_tensors_.empty() ? input_tensors_[0]
                                                                    : Tensor(plan.dtype, plan.shape.Bound()));
      TensorRef ref = RefTo(output_tensors_.back());
      ref.dtype = plan.dtype;
      if (!plan.shape.IsExact()) ref.shape = Shape::Unknown();
      outputs_.push_back(ref);
    }
  }

  Resource& FindOrCreateResource(int input,
                                 const std::function<std::unique_ptr<Resource>()>& create) override {
    std::unique_ptr<Resource>& slot = resources_[input];
    if (!slot) slot = create();
    return *slot;
  }
  uint64_t& random_counter() override { return random_counter_; }

  // The output with the shape that the kernel gave it.
  Tensor Result(int i = 0) {
    const TensorRef& ref = outputs_[static_cast<size_t>(i)];
    const Tensor& memory = output_tensors_[static_cast<size_t>(i)];
    if (ref.shape == memory.shape()) return memory;
    Tensor result(ref.dtype, ref.shape);
    if (ref.dtype == DataType::kString) {
      std::copy_n(memory.data<std::string>(), result.NumElements(), result.data<std::string>());
    } else if (result.ByteSize() > 0) {
      std::memcpy(result.raw_data(), memory.raw_data(), static_cast<size_t>(result.ByteSize()));
    }
    return result;
  }

 private:
  std::vector<Tensor> input_tensors_;
  std::vector<Tensor> output_tensors_;
  std::map<int, std::unique_ptr<Resource>> resources_;
  uint64_t random_counter_ = 0;
};

inline Node MakeNode(std::string op, AttrMap attrs = {}) {
  Node node;
  node.name = "test_" + op;
  node.op = std::move(op);
  node.attrs = std::move(attrs);
  return node;
}

inline AttrValue StringAttr(std::string_view value) { return AttrValue(std::string(value)); }
inline AttrValue IntAttr(int64_t value) { return AttrValue(value); }
inline AttrValue IntsAttr(std::vector<int64_t> values) { return AttrValue(std::move(values)); }

// All outputs of one launch.
inline std::vector<Tensor> RunKernel(const Node& node, std::vector<Tensor> inputs,
                                     const std::vector<OutputPlan>& outputs, int workers = 1,
                                     bool in_place = false) {
  const std::unique_ptr<Kernel> kernel = KernelRegistry::Host().Create(node);
  TestTeam team(workers);
  TestContext context(std::move(inputs), outputs, team, {}, in_place);
  kernel->Compute(context);
  std::vector<Tensor> results;
  for (int i = 0; i < context.num_outputs(); ++i) results.push_back(context.Result(i));
  return results;
}

// A run with outputs from the op's own inference function.
inline std::vector<OutputPlan> InferOutputs(const Node& node, const std::vector<Tensor>& inputs) {
  std::vector<TensorInfo> known;
  for (const Tensor& tensor : inputs) {
    TensorInfo& info = known.emplace_back();
    info.dtype = tensor.dtype();
    info.shape = tensor.shape();
    info.value = std::make_shared<const Tensor>(tensor);
  }
  std::vector<TensorInfo> inferred;
  for (DataType dtype : OutputTypes(node)) inferred.emplace_back().dtype = RemoveRef(dtype);
  InferenceContext context(node, known, inferred);
  const OpDef* def = OpRegistry::Global().Find(node.op);
  if (def != nullptr && def->infer) def->infer(context);
  std::vector<OutputPlan> plans;
  for (const TensorInfo& info : inferred) plans.push_back({info.dtype, info.shape});
  return plans;
}

}  // namespace lanescope::exec::test
