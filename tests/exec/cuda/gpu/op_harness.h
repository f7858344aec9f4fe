// SPDX-License-Identifier: Apache-2.0
// Runs one node on GPU 0 and on the host with the same inputs, and compares. Arguments live where
// TensorFlow's table puts them. The double-precision reference of a float node is the host's kernel for
// doubles.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/place/kernel_table.h"
#include "exec/cuda/api.h"
#include "exec/cuda/cuda_module.h"
#include "tests/exec/kernel_harness.h"
#include "tests/exec/reference_math.h"

namespace lanescope::exec::test {

// The first GPU with a stream, or the reason why there is none. One for all tests of a program.
class GpuBackend {
 public:
  static GpuBackend& Get() {
    static GpuBackend gpu;
    return gpu;
  }
  bool present() const { return stream_ != nullptr; }
  const std::string& reason() const { return reason_; }
  cuda::Api& api() { return module_->api(); }
  const KernelRegistry& kernels() { return module_->kernels(); }
  StreamContext& launch() { return *launch_; }
  StreamHandle stream() const { return stream_; }
  void Synchronize() { api().Synchronize(stream_); }
  // A stream that keeps nothing of earlier launches.
  void RenewLaunch(bool allow_tf32 = false, bool any_algorithm = false) {
    api().MakeCurrent(0);
    launch_ = nullptr;
    if (stream_ != nullptr) api().DestroyStream(stream_);
    stream_ = api().CreateStream(nullptr);
    cuda::LaunchSpec spec;
    spec.stream = stream_;
    spec.multiprocessors = api().Properties(0).multiprocessors;
    spec.allow_tf32 = allow_tf32;
    spec.any_algorithm = any_algorithm;
    spec.gpu = api().Properties(0).name;
    spec.allocate = [this](int64_t bytes) { return api().Allocate(bytes); };
    spec.release = [this](void* memory) { api().Free(0, memory); };
    launch_ = api().MakeLaunch(spec);
  }

  void* Upload(const Tensor& tensor, int64_t room) {
    void* memory = api().Allocate(std::max<int64_t>(256, room));
    if (tensor.ByteSize() > 0) {
      api().Copy(stream_, memory, 0, tensor.raw_data(), kHostMemory, tensor.ByteSize());
      Synchronize();
    }
    return memory;
  }
  void Download(Tensor& tensor, const void* memory) {
    if (tensor.ByteSize() == 0) return;
    api().Copy(stream_, tensor.raw_data(), kHostMemory, memory, 0, tensor.ByteSize());
    Synchronize();
  }
  void Free(void* memory) { api().Free(0, memory); }

 private:
  GpuBackend() {
    module_ = cuda::LoadCudaModule(&reason_);
    if (module_ == nullptr) return;
    if (api().DeviceCount() == 0) {
      reason_ = "no GPU is visible";
      return;
    }
    RenewLaunch();
  }

  cuda::CudaModule* module_ = nullptr;
  std::string reason_;
  StreamHandle stream_ = nullptr;
  std::unique_ptr<StreamContext> launch_;
};

// A node with its inputs. Those numbered in `variables` are variables that hold the given value.
struct OpCase {
  Node node;
  std::vector<Tensor> inputs;
  std::set<int> variables;
};

// Outputs, then the values of the variables after the launch.
using OpResult = std::vector<Tensor>;

inline std::vector<OutputPlan> PlansOf(const OpCase& c) {
  std::vector<OutputPlan> plans = InferOutputs(c.node, c.inputs);
  const std::vector<DataType> types = OutputTypes(c.node);
  for (size_t i = 0; i < plans.size(); ++i) {
    if (IsRefType(types[i])) plans[i].shape = Shape{0};  // the variable itself
  }
  return plans;
}

inline bool IsReference(const OpCase& c, size_t output) { return IsRefType(OutputTypes(c.node)[output]); }

class GpuContext final : public KernelContext {
 public:
  explicit GpuContext(const OpCase& c) : case_(c) {
    stream_context_ = &GpuBackend::Get().launch();
    team_ = &one_worker_;  // for ops that the host's kernels serve
    const KernelTable& table = KernelTable::Global();
    const std::vector<bool> host_inputs = table.HostInputs(c.node, "GPU");
    host_outputs_ = table.HostOutputs(c.node, "GPU");
    variable_slots_.resize(c.inputs.size());
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      host_tensors_.push_back(Clone(c.inputs[i]));
      TensorRef ref = RefTo(host_tensors_.back());
      const bool variable = c.variables.contains(static_cast<int>(i));
      if (variable || !host_inputs[i]) ref.data = OnDevice(host_tensors_.back(), ref.capacity_bytes);
      variables_.push_back(nullptr);
      if (variable) {
        variable_slots_[i].tensor = ref;
        variable_slots_[i].initialized = true;
        variables_.back() = &variable_slots_[i];
      }
      inputs_.push_back(ref);
    }
    for (const OutputPlan& plan : PlansOf(c)) {
      const size_t at = outputs_.size();
      host_tensors_.push_back(Tensor(plan.dtype, plan.shape.Bound()));
      TensorRef ref = RefTo(host_tensors_.back());
      if (!host_outputs_[at]) ref.data = OnDevice(host_tensors_.back(), ref.capacity_bytes);
      if (!plan.shape.IsExact()) ref.shape = Shape::Unknown();
      outputs_.push_back(ref);
    }
  }
  ~GpuContext() override {
    for (void* memory : allocated_) GpuBackend::Get().Free(memory);
  }

  Resource& FindOrCreateResource(int, const std::function<std::unique_ptr<Resource>()>&) override {
    Throw(Code::kUnimplemented, "no op with a resource runs here");
  }
  uint64_t& random_counter() override { return random_counter_; }

  OpResult Results() {
    GpuBackend::Get().Synchronize();
    OpResult results;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (!IsReference(case_, i)) results.push_back(Read(outputs_[i], host_outputs_[i]));
    }
    for (const int i : case_.variables)
      results.push_back(Read(variables_[static_cast<size_t>(i)]->tensor, false));
    return results;
  }

 private:
  static Tensor Clone(const Tensor& tensor) {
    Tensor copy(tensor.dtype(), tensor.shape());
    if (copy.ByteSize() > 0)
      std::memcpy(copy.raw_data(), tensor.raw_data(), static_cast<size_t>(copy.ByteSize()));
    return copy;
  }
  void* OnDevice(const Tensor& tensor, int64_t room) {
    allocated_.push_back(GpuBackend::Get().Upload(tensor, room));
    return allocated_.back();
  }
  static Tensor Read(const TensorRef& ref, bool host) {
    Tensor tensor(ref.dtype, ref.shape);
    if (!host) {
      GpuBackend::Get().Download(tensor, ref.data);
    } else if (tensor.ByteSize() > 0) {
      std::memcpy(tensor.raw_data(), ref.data, static_cast<size_t>(tensor.ByteSize()));
    }
    return tensor;
  }

  const OpCase& case_;
  TestTeam one_worker_{1};
  std::vector<Tensor> host_tensors_;
  std::vector<bool> host_outputs_;
  std::vector<Variable> variable_slots_;
  std::vector<void*> allocated_;
  uint64_t random_counter_ = 0;
};

inline OpResult RunOnGpu(const OpCase& c) {
  const std::unique_ptr<Kernel> kernel = GpuBackend::Get().kernels().Create(c.node);
  GpuContext context(c);
  kernel->Compute(context);
  return context.Results();
}

inline OpResult RunOnHost(const OpCase& c) {
  std::vector<Tensor> memory;
  std::vector<Variable> slots(c.inputs.size());
  std::map<int, Variable*> variables;
  for (const int i : c.variables) {
    const auto at = static_cast<size_t>(i);
    memory.push_back(Tensor(c.inputs[at].dtype(), c.inputs[at].shape()));
    if (memory.back().ByteSize() > 0) {
      std::memcpy(memory.back().raw_data(), c.inputs[at].raw_data(),
                  static_cast<size_t>(memory.back().ByteSize()));
    }
    slots[at].tensor = RefTo(memory.back());
    slots[at].initialized = true;
    variables[i] = &slots[at];
  }
  TestTeam team(1);
  TestContext context(c.inputs, PlansOf(c), team, variables);
  KernelRegistry::Host().Create(c.node)->Compute(context);
  OpResult results;
  for (int i = 0; i < context.num_outputs(); ++i) {
    if (!IsReference(c, static_cast<size_t>(i))) results.push_back(context.Result(i));
  }
  for (Tensor& value : memory) results.push_back(value);
  return results;
}

// The node for doubles.
inline OpCase InDoubles(const OpCase& c) {
  OpCase wide = c;
  for (auto& [name, value] : wide.node.attrs) {
    if (const auto* type = std::get_if<DataType>(&value); type != nullptr && *type == DataType::kFloat) {
      value = DataType::kDouble;
    }
  }
  for (Tensor& input : wide.inputs) {
    if (input.dtype() != DataType::kFloat) continue;
    Tensor doubles(DataType::kDouble, input.shape());
    for (int64_t i = 0; i < input.NumElements(); ++i) doubles.data<double>()[i] = input.data<float>()[i];
    input = doubles;
  }
  return wide;
}

using Closeness = void (*)(const Tensor& actual, const std::vector<double>& expected, double tolerance,
                           const std::string& what);

inline void ExpectCloseResults(const OpResult& actual, const OpResult& expected, double tolerance,
                               const std::string& what, Closeness expect_close = ExpectClose) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].shape(), expected[i].shape()) << what << " result " << i;
    const bool floating = actual[i].dtype() == DataType::kFloat || actual[i].dtype() == DataType::kDouble;
    const Closeness expect = floating ? expect_close : static_cast<Closeness>(ExpectClose);
    expect(actual[i], Values(expected[i]), floating ? tolerance : 0, what + " result " + std::to_string(i));
  }
}

inline bool HasFloat(const OpCase& c) {
  for (const auto& [name, value] : c.node.attrs) {
    const auto* type = std::get_if<DataType>(&value);
    if (type != nullptr && *type == DataType::kFloat) return true;
  }
  return false;
}

// The GPU's results against the host's and, for floats, against those for doubles; twice on the GPU gives the
// same bytes. `in_doubles`: whether the host has the op for doubles.
inline void CheckOp(const OpCase& c, double tolerance = 1e-5, bool in_doubles = true,
                    Closeness expect_close = ExpectClose) {
  std::string what = c.node.op;
  for (const Tensor& input : c.inputs) what += " " + DataTypeName(input.dtype()) + input.shape().ToString();
  ASSERT_NE(KernelTable::Global().Find(c.node, "GPU"), nullptr) << what << " is not for GPUs";
  ASSERT_NE(OpRegistry::Global().Find(c.node.op), nullptr) << what << " has no definition";
  const OpResult actual = RunOnGpu(c);
  ExpectCloseResults(actual, RunOnHost(c), tolerance, what, expect_close);
  if (HasFloat(c) && in_doubles)
    ExpectCloseResults(actual, RunOnHost(InDoubles(c)), tolerance, what + " in doubles", expect_close);
  const OpResult again = RunOnGpu(c);
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_TRUE(SameBytes(actual[i], again[i])) << what << " changes";
}

#define LANESCOPE_NEEDS_GPU()                                \
  if (!::lanescope::exec::test::GpuBackend::Get().present()) \
  GTEST_SKIP() << ::lanescope::exec::test::GpuBackend::Get().reason()

}  // namespace lanescope::exec::test
