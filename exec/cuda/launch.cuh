// SPDX-License-Identifier: Apache-2.0
// A launch as a CUDA kernel sees it beside KernelContext, and how kernels are registered. Everything in
// exec/cuda/kernels codes against this file.
//
// The rules of Kernel::Compute for a CUDA device:
// * It enqueues its work on Launch::stream() and returns; it does not wait for the device unless it must.
// * Tensors in device memory arrive as device pointers. Arguments that TensorFlow's table keeps in host
//   memory (core/place/kernels.tsv: shapes, axes, int32 tensors) arrive as host pointers, complete and ready
//   to be read when Compute is called. Outputs in host memory must be complete when Compute returns. A launch
//   all of whose operands are in host memory never gets here: the host kernel serves it.
// * Every output's memory is planned, by its shape or its bound. An output of bounded shape (Unique) gets its
//   shape by SetOutputShape before Compute returns; a kernel that must ask the device for it copies the size
//   to Staging() and calls Synchronize().
// * The current device is the launch's device. Kernels are launched by one thread at a time per stream.
// * Device memory is never allocated in Compute but by Scratch().
// * A launch is recorded into a CUDA graph after it has run once, and replayed with the same pointers, shapes
//   and parameters, unless Kernel::replayable() says no: false for what reads a host counter (random streams)
//   or waits for the device. Launches with operands in host memory that are no constants, or of bounded
//   shape, are never recorded, whatever the kernel says.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <string>
#include <typeindex>
#include <unordered_map>

#include "exec/device/kernel.h"

struct cublasContext;  // cublasHandle_t is a pointer to it; only files with products include <cublas_v2.h>

namespace lanescope::exec::cuda {

// One per compute stream; used by the thread that drives it.
class Launch : public StreamContext {
 public:
  // The launch that Compute is called for.
  static Launch& Of(const KernelContext& context) { return static_cast<Launch&>(context.stream_context()); }

  cudaStream_t stream() const { return stream_; }
  int ordinal() const { return ordinal_; }                  // of the physical GPU
  int multiprocessors() const { return multiprocessors_; }  // that the stream's device may use
  // Whether float32 products may round their factors to TF32 (off unless the run says --tf32).
  bool allow_tf32() const { return allow_tf32_; }
  // Whether sums may come in orders that change from run to run (off unless the run says --any-algorithm).
  bool any_algorithm() const { return any_algorithm_; }
  // Measurements of this stream hold for this: the GPU's name, its compute capability and how many
  // multiprocessors the stream may use.
  std::string gpu() const { return gpu_ + ", " + std::to_string(multiprocessors_) + " multiprocessors"; }

  // The handle of this stream, with a workspace of its own and the math mode set; made at the first product.
  cublasContext* cublas();

  // At least `bytes` of device memory, 256-byte aligned, for this launch alone: the next launch of the stream
  // gets the same memory. Its content is undefined. Throws ResourceExhausted past the device's limit.
  void* Scratch(int64_t bytes);
  // Device memory as Scratch gives it, until what this returns is gone, which waits for the stream. Never
  // while the stream is captured.
  std::shared_ptr<void> Borrow(int64_t bytes);
  // Pinned host memory of this command, 256-byte aligned. It keeps its content from launch to launch, and
  // replayed copies read it again; no other command gets it.
  void* Staging(const KernelContext& context, int64_t bytes);
  // Returns when the device has done all that was enqueued on the stream.
  void Synchronize();

  // The stream's object of type T, made by T() at first use: library handles and what else lives as long as
  // the stream.
  template <typename T>
  T& Keep() {
    std::shared_ptr<void>& kept = kept_[std::type_index(typeid(T))];
    if (kept == nullptr) kept = std::make_shared<T>();
    return *static_cast<T*>(kept.get());
  }

 protected:
  Launch() = default;
  virtual void* GrowScratch(int64_t bytes) = 0;
  virtual void* FindStaging(const void* command, int64_t bytes) = 0;
  // Device memory that lives as long as the stream.
  virtual void* AllocateForStream(int64_t bytes) = 0;
  virtual void Release(void* memory) = 0;

  cudaStream_t stream_ = nullptr;
  int ordinal_ = 0;
  int multiprocessors_ = 1;
  bool allow_tf32_ = false;
  bool any_algorithm_ = false;
  std::string gpu_;

 private:
  std::unordered_map<std::type_index, std::shared_ptr<void>> kept_;
};

// Throw lanescope::Error for anything but success: ResourceExhausted for a lack of memory, Internal
// otherwise, with the library's name for the error and what was called. Node and device are added by the
// executor.
void Check(cudaError_t status, const char* what);
void CheckCublas(int status, const char* what);  // a cublasStatus_t
// After <<<>>>: the error of the launch, if it had one.
inline void CheckLaunch(const char* kernel) { Check(cudaGetLastError(), kernel); }

// The kernels for CUDA devices, by op: the same Kernel and KernelFactory as on the host. Defined in
// exec/cuda/kernels/registry.cu, which calls one function per family.
void RegisterCudaKernels(KernelRegistry& registry);

}  // namespace lanescope::exec::cuda
