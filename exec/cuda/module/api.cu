// SPDX-License-Identifier: Apache-2.0
// The real CUDA calls. Device 0 is the first visible one.
#include <cstring>

#include "core/base/error.h"
#include "exec/cuda/module/module.cuh"

namespace lanescope::exec::cuda {
namespace {

struct RecordedGraph {
  cudaGraph_t graph = nullptr;  // kept: profilers look its nodes up
  cudaGraphExec_t executable = nullptr;
};

RecordedGraph* ToGraph(GraphHandle handle) { return reinterpret_cast<RecordedGraph*>(handle); }

int Attribute(cudaDeviceAttr attribute, int ordinal) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, attribute, ordinal) != cudaSuccess) cudaGetLastError();
  return value;
}

// The graph that is being captured on the stream.
cudaGraph_t CapturedGraph(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
#if CUDART_VERSION >= 13000
  Check(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr),
        "cudaStreamGetCaptureInfo");
#else
  Check(cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, &graph, nullptr, nullptr),
        "cudaStreamGetCaptureInfo");
#endif
  return status == cudaStreamCaptureStatusActive ? graph : nullptr;
}

class RuntimeApi : public Api {
 public:
  int DeviceCount() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
    cudaGetLastError();
    return 0;
  }

  GpuProperties Properties(int ordinal) override {
    cudaDeviceProp device;
    Check(cudaGetDeviceProperties(&device, ordinal), "cudaGetDeviceProperties");
    GpuProperties properties;
    properties.name.assign(device.name, strnlen(device.name, sizeof device.name));
    properties.memory_bytes = static_cast<int64_t>(device.totalGlobalMem);
    properties.compute_capability = 10 * device.major + device.minor;
    properties.multiprocessors = device.multiProcessorCount;
    properties.copy_engines = device.asyncEngineCount;
    properties.clock_khz = Attribute(cudaDevAttrClockRate, ordinal);
    properties.memory_clock_khz = Attribute(cudaDevAttrMemoryClockRate, ordinal);
    properties.memory_bus_bits = device.memoryBusWidth;
    properties.uuid.assign(device.uuid.bytes, sizeof device.uuid.bytes);
    return properties;
  }

  void MakeCurrent(int ordinal) override { Check(cudaSetDevice(ordinal), "cudaSetDevice"); }

  MemoryInfo Memory(int ordinal) override {
    MakeCurrent(ordinal);
    size_t free = 0, total = 0;
    Check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return {static_cast<int64_t>(free), static_cast<int64_t>(total)};
  }

  bool EnablePeerAccess(int from, int to) override {
    int possible = 0;
    Check(cudaDeviceCanAccessPeer(&possible, from, to), "cudaDeviceCanAccessPeer");
    if (possible == 0) return false;
    MakeCurrent(from);
    const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {
      cudaGetLastError();
      return true;
    }
    Check(status, "cudaDeviceEnablePeerAccess");
    return true;
  }

  void* Allocate(int64_t bytes) override {
    void* memory = nullptr;
    Check(cudaMalloc(&memory, static_cast<size_t>(bytes)), "cudaMalloc");
    return memory;
  }
  void Free(int ordinal, void* memory) noexcept override {
    cudaSetDevice(ordinal);
    cudaFree(memory);
  }
  void* AllocateHost(int64_t bytes) override {
    void* memory = nullptr;
    Check(cudaHostAlloc(&memory, static_cast<size_t>(bytes), cudaHostAllocPortable), "cudaHostAlloc");
    return memory;
  }
  void FreeHost(void* memory) noexcept override { cudaFreeHost(memory); }
  bool PinHost(void* memory, int64_t bytes) noexcept override {
    if (cudaHostRegister(memory, static_cast<size_t>(bytes), cudaHostRegisterPortable) == cudaSuccess)
      return true;
    cudaGetLastError();
    return false;
  }
  void UnpinHost(void* memory) noexcept override { cudaHostUnregister(memory); }

  std::vector<int> PartitionGroups(int ordinal) override { return SizesOfPartitionGroups(ordinal); }
  std::vector<Partition> CreatePartitions(int ordinal, const std::vector<int>& groups) override {
    return MakePartitions(ordinal, groups);
  }
  void DestroyPartition(PartitionHandle partition) noexcept override { DropPartition(partition); }

  StreamHandle CreateStream(PartitionHandle partition, int priority) override {
    cudaStream_t stream = nullptr;
    if (partition != nullptr) {
      stream = MakePartitionStream(partition, priority);
    } else {
      Check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority),
            "cudaStreamCreateWithPriority");
    }
    return reinterpret_cast<StreamHandle>(stream);
  }
  std::pair<int, int> StreamPriorities() override {
    int least = 0, greatest = 0;
    Check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    return {greatest, least};
  }
  void DestroyStream(StreamHandle stream) noexcept override { cudaStreamDestroy(cuda::ToCuda(stream)); }
  void Synchronize(StreamHandle stream) override {
    Check(cudaStreamSynchronize(cuda::ToCuda(stream)), "cudaStreamSynchronize");
  }
  bool IsEmpty(StreamHandle stream) override {
    const cudaError_t status = cudaStreamQuery(cuda::ToCuda(stream));
    if (status == cudaErrorNotReady) {
      cudaGetLastError();  // it is kept as if it were an error
      return false;
    }
    Check(status, "cudaStreamQuery");
    return true;
  }

  EventHandle CreateEvent(bool timed) override {
    cudaEvent_t event = nullptr;
    Check(cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming),
          "cudaEventCreateWithFlags");
    return reinterpret_cast<EventHandle>(event);
  }
  void DestroyEvent(EventHandle event) noexcept override { cudaEventDestroy(cuda::ToCuda(event)); }
  void Record(EventHandle event, StreamHandle stream) override {
    Check(cudaEventRecord(cuda::ToCuda(event), cuda::ToCuda(stream)), "cudaEventRecord");
  }
  void RecordInGraph(EventHandle event, StreamHandle stream) override {
    Check(cudaEventRecordWithFlags(cuda::ToCuda(event), cuda::ToCuda(stream), cudaEventRecordExternal),
          "cudaEventRecordWithFlags");
  }
  void Wait(StreamHandle stream, EventHandle event) override {
    Check(cudaStreamWaitEvent(cuda::ToCuda(stream), cuda::ToCuda(event), 0), "cudaStreamWaitEvent");
  }
  void SynchronizeEvent(EventHandle event) override {
    Check(cudaEventSynchronize(cuda::ToCuda(event)), "cudaEventSynchronize");
  }
  bool IsReached(EventHandle event) override {
    const cudaError_t status = cudaEventQuery(cuda::ToCuda(event));
    if (status == cudaErrorNotReady) {
      cudaGetLastError();  // it is kept as if it were an error
      return false;
    }
    Check(status, "cudaEventQuery");
    return true;
  }
  int64_t ElapsedNs(EventHandle start, EventHandle end) override {
    float ms = 0;
    Check(cudaEventElapsedTime(&ms, cuda::ToCuda(start), cuda::ToCuda(end)), "cudaEventElapsedTime");
    return static_cast<int64_t>(1e6 * static_cast<double>(ms));
  }

  void Copy(StreamHandle stream, void* to, int to_ordinal, const void* from, int from_ordinal,
            int64_t bytes) override {
    const auto size = static_cast<size_t>(bytes);
    if (to_ordinal == kHostMemory || from_ordinal == kHostMemory || to_ordinal == from_ordinal) {
      const cudaMemcpyKind kind = from_ordinal == kHostMemory ? cudaMemcpyHostToDevice
                                  : to_ordinal == kHostMemory ? cudaMemcpyDeviceToHost
                                                              : cudaMemcpyDeviceToDevice;
      Check(cudaMemcpyAsync(to, from, size, kind, cuda::ToCuda(stream)), "cudaMemcpyAsync");
    } else {
      Check(cudaMemcpyPeerAsync(to, to_ordinal, from, from_ordinal, size, cuda::ToCuda(stream)),
            "cudaMemcpyPeerAsync");
    }
  }

  void BeginCapture(StreamHandle stream) override {
    Check(cudaStreamBeginCapture(cuda::ToCuda(stream), cudaStreamCaptureModeThreadLocal),
          "cudaStreamBeginCapture");
  }
  std::vector<GraphNode> CapturedNodes(StreamHandle stream) override {
    const cudaGraph_t graph = CapturedGraph(cuda::ToCuda(stream));
    size_t count = 0;
    if (graph == nullptr) return {};
    Check(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
    std::vector<cudaGraphNode_t> nodes(count);
    if (count > 0) Check(cudaGraphGetNodes(graph, nodes.data(), &count), "cudaGraphGetNodes");
    return {nodes.begin(), nodes.begin() + static_cast<ptrdiff_t>(count)};
  }
  GraphHandle EndCapture(StreamHandle stream) override {
    auto recorded = std::make_unique<RecordedGraph>();
    Check(cudaStreamEndCapture(cuda::ToCuda(stream), &recorded->graph), "cudaStreamEndCapture");
    const cudaError_t status = cudaGraphInstantiate(&recorded->executable, recorded->graph, 0);
    if (status != cudaSuccess) cudaGraphDestroy(recorded->graph);
    Check(status, "cudaGraphInstantiate");
    return reinterpret_cast<GraphHandle>(recorded.release());
  }
  void AbandonCapture(StreamHandle stream) noexcept override {
    cudaGraph_t graph = nullptr;
    if (cudaStreamEndCapture(cuda::ToCuda(stream), &graph) == cudaSuccess && graph != nullptr)
      cudaGraphDestroy(graph);
    cudaGetLastError();
  }
  void LaunchGraph(GraphHandle graph, StreamHandle stream) override {
    Check(cudaGraphLaunch(ToGraph(graph)->executable, cuda::ToCuda(stream)), "cudaGraphLaunch");
  }
  void DestroyGraph(GraphHandle graph) noexcept override {
    const std::unique_ptr<RecordedGraph> recorded(ToGraph(graph));
    cudaGraphExecDestroy(recorded->executable);
    cudaGraphDestroy(recorded->graph);
  }

  KernelHandle LoadKernel(const std::string& binary, const char* name) override {
    return LoadMadeKernel(binary, name);
  }
  void UnloadKernel(KernelHandle kernel) noexcept override { UnloadMadeKernel(kernel); }
  void LaunchKernel(KernelHandle kernel, StreamHandle stream, int64_t blocks, int threads,
                    void* argument) override {
    LaunchMadeKernel(kernel, cuda::ToCuda(stream), blocks, threads, argument);
  }

  std::unique_ptr<StreamContext> MakeLaunch(const LaunchSpec& spec) override {
    return MakeStreamLaunch(spec);
  }
  std::unique_ptr<DeviceLoad> MakeLoad(WorkClass work_class, const LaunchSpec& spec) override {
    return MakeDeviceLoad(work_class, spec);
  }
};

}  // namespace

std::unique_ptr<Api> MakeApi() { return std::make_unique<RuntimeApi>(); }

}  // namespace lanescope::exec::cuda
