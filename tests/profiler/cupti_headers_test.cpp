// SPDX-License-Identifier: Apache-2.0
// Notes about CUPTI, held against the headers that are at hand when this is compiled. And
// against the library, if there is one.
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_version.h>
#include <gtest/gtest.h>

#include <random>

#include "profiler/cuda_driver.h"
#include "profiler/cupti_library.h"
#include "tests/profiler/cupti_records.h"
#include "tests/profiler/stub_cupti.h"

namespace lanescope::profiler {
namespace {

// The records that this version delivers.
#if CUPTI_API_VERSION >= 130400
using Kernel = CUpti_ActivityKernel13;
using Memcpy = CUpti_ActivityMemcpy7;
using Memset = CUpti_ActivityMemset5;
#elif CUPTI_API_VERSION >= 130300
using Kernel = CUpti_ActivityKernel12;
#elif CUPTI_API_VERSION >= 130100
using Kernel = CUpti_ActivityKernel11;
#elif CUPTI_API_VERSION >= 130000
using Kernel = CUpti_ActivityKernel10;
#else
using Kernel = CUpti_ActivityKernel9;
#endif
#if CUPTI_API_VERSION < 130400
using Memset = CUpti_ActivityMemset4;
#if CUPTI_API_VERSION >= 26
using Memcpy = CUpti_ActivityMemcpy6;
#else
using Memcpy = CUpti_ActivityMemcpy5;
#endif
#endif
#if CUPTI_API_VERSION >= 130200
using Device = CUpti_ActivityDevice6;
using Link = CUpti_ActivityNvLink5;
using LinkFields = NvlinkFields13_2;
#else
using Device = CUpti_ActivityDevice5;
using Link = CUpti_ActivityNvLink4;
using LinkFields = NvlinkFields;
#endif
#if CUPTI_API_VERSION >= 130500
using Event = CUpti_ActivityCudaEvent3;
#elif CUPTI_API_VERSION >= 26
using Event = CUpti_ActivityCudaEvent2;
#else
using Event = CUpti_ActivityCudaEvent;
#endif
#if CUPTI_API_VERSION >= 26
using Sync = CUpti_ActivitySynchronization2;
#else
using Sync = CUpti_ActivitySynchronization;
#endif
#if CUPTI_API_VERSION >= 130100
using Context = CUpti_ActivityContext4;
#elif CUPTI_API_VERSION >= 23
using Context = CUpti_ActivityContext3;
#elif CUPTI_API_VERSION >= 22
using Context = CUpti_ActivityContext2;
#else
using Context = CUpti_ActivityContext;
#endif
#if CUPTI_API_VERSION >= 22
using Overhead = CUpti_ActivityOverhead3;
#elif CUPTI_API_VERSION >= 21
using Overhead = CUpti_ActivityOverhead2;
#else
using Overhead = CUpti_ActivityOverhead;
#endif
#if CUPTI_API_VERSION >= 21
using Graph = CUpti_ActivityGraphTrace2;
#else
using Graph = CUpti_ActivityGraphTrace;
#endif
using Peer = CUpti_ActivityMemcpyPtoP4;
using Call = CUpti_ActivityAPI;
using Tag = CUpti_ActivityExternalCorrelation;
using Stream = CUpti_ActivityStream;

constexpr bool IsKind(cupti::Kind kind, int number, size_t bytes) {
  return kind == number && KnownBytes(kind, CUPTI_API_VERSION) == bytes;
}
static_assert(IsKind(cupti::kMemcpy, CUPTI_ACTIVITY_KIND_MEMCPY, sizeof(Memcpy)));
static_assert(IsKind(cupti::kMemset, CUPTI_ACTIVITY_KIND_MEMSET, sizeof(Memset)));
static_assert(IsKind(cupti::kKernel, CUPTI_ACTIVITY_KIND_KERNEL, sizeof(Kernel)));
static_assert(IsKind(cupti::kDriver, CUPTI_ACTIVITY_KIND_DRIVER, sizeof(Call)));
static_assert(IsKind(cupti::kRuntime, CUPTI_ACTIVITY_KIND_RUNTIME, sizeof(Call)));
static_assert(IsKind(cupti::kDevice, CUPTI_ACTIVITY_KIND_DEVICE, sizeof(Device)));
static_assert(IsKind(cupti::kContext, CUPTI_ACTIVITY_KIND_CONTEXT, sizeof(Context)));
static_assert(IsKind(cupti::kConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(Kernel)));
static_assert(IsKind(cupti::kOverhead, CUPTI_ACTIVITY_KIND_OVERHEAD, sizeof(Overhead)));
static_assert(IsKind(cupti::kMemcpy2, CUPTI_ACTIVITY_KIND_MEMCPY2, sizeof(Peer)));
static_assert(IsKind(cupti::kCudaEvent, CUPTI_ACTIVITY_KIND_CUDA_EVENT, sizeof(Event)));
static_assert(IsKind(cupti::kStream, CUPTI_ACTIVITY_KIND_STREAM, sizeof(Stream)));
static_assert(IsKind(cupti::kSynchronization, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, sizeof(Sync)));
static_assert(IsKind(cupti::kExternalCorrelation, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, sizeof(Tag)));
static_assert(IsKind(cupti::kNvlink, CUPTI_ACTIVITY_KIND_NVLINK, sizeof(Link)));
static_assert(IsKind(cupti::kGraphTrace, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, sizeof(Graph)));

// AT: the field is the member. BEGINS: it begins with it.
#define AT(field, Record, member)                         \
  static_assert((field).at == offsetof(Record, member) && \
                (field).end() - (field).at == sizeof(Record::member))
#define BEGINS(field, Record, member) static_assert((field).at == offsetof(Record, member))

AT(KernelFields::cache_config, Kernel, cacheConfig);
AT(KernelFields::registers, Kernel, registersPerThread);
AT(KernelFields::start, Kernel, start);
AT(KernelFields::end, Kernel, end);
AT(KernelFields::device, Kernel, deviceId);
AT(KernelFields::context, Kernel, contextId);
AT(KernelFields::stream, Kernel, streamId);
BEGINS(KernelFields::grid, Kernel, gridX);
static_assert(KernelFields::grid.end() == offsetof(Kernel, blockX));
BEGINS(KernelFields::block, Kernel, blockX);
static_assert(KernelFields::block.end() == offsetof(Kernel, staticSharedMemory));
AT(KernelFields::static_shared, Kernel, staticSharedMemory);
AT(KernelFields::dynamic_shared, Kernel, dynamicSharedMemory);
AT(KernelFields::local_per_thread, Kernel, localMemoryPerThread);
AT(KernelFields::correlation, Kernel, correlationId);
AT(KernelFields::grid_id, Kernel, gridId);
AT(KernelFields::name, Kernel, name);
AT(KernelFields::launch_type, Kernel, launchType);
AT(KernelFields::carveout_requested, Kernel, isSharedMemoryCarveoutRequested);
AT(KernelFields::carveout, Kernel, sharedMemoryCarveoutRequested);
AT(KernelFields::shared_executed, Kernel, sharedMemoryExecuted);
AT(KernelFields::graph_node, Kernel, graphNodeId);
AT(KernelFields::shared_limit, Kernel, shmemLimitConfig);
AT(KernelFields::graph, Kernel, graphId);
BEGINS(KernelFields::cluster, Kernel, clusterX);
static_assert(KernelFields::cluster.end() == offsetof(Kernel, clusterSchedulingPolicy));
AT(KernelFields::cluster_policy, Kernel, clusterSchedulingPolicy);
AT(KernelFields::local_total, Kernel, localMemoryTotal_v2);
AT(KernelFields::max_cluster_size, Kernel, maxPotentialClusterSize);
AT(KernelFields::max_active_clusters, Kernel, maxActiveClusters);

AT(MemcpyFields::copy_kind, Memcpy, copyKind);
AT(MemcpyFields::src_kind, Memcpy, srcKind);
AT(MemcpyFields::dst_kind, Memcpy, dstKind);
AT(MemcpyFields::bytes, Memcpy, bytes);
AT(MemcpyFields::start, Memcpy, start);
AT(MemcpyFields::end, Memcpy, end);
AT(MemcpyFields::device, Memcpy, deviceId);
AT(MemcpyFields::context, Memcpy, contextId);
AT(MemcpyFields::stream, Memcpy, streamId);
AT(MemcpyFields::correlation, Memcpy, correlationId);
AT(MemcpyFields::graph_node, Memcpy, graphNodeId);
// These fields are read of both kinds of copies.
AT(MemcpyFields::copy_kind, Peer, copyKind);
AT(MemcpyFields::src_kind, Peer, srcKind);
AT(MemcpyFields::dst_kind, Peer, dstKind);
AT(MemcpyFields::bytes, Peer, bytes);
AT(MemcpyFields::start, Peer, start);
AT(MemcpyFields::end, Peer, end);
AT(MemcpyFields::device, Peer, deviceId);
AT(MemcpyFields::context, Peer, contextId);
AT(MemcpyFields::stream, Peer, streamId);
AT(PeerCopyFields::src_device, Peer, srcDeviceId);
AT(PeerCopyFields::src_context, Peer, srcContextId);
AT(PeerCopyFields::dst_device, Peer, dstDeviceId);
AT(PeerCopyFields::dst_context, Peer, dstContextId);
AT(PeerCopyFields::correlation, Peer, correlationId);
AT(PeerCopyFields::graph_node, Peer, graphNodeId);

AT(MemsetFields::value, Memset, value);
AT(MemsetFields::bytes, Memset, bytes);
AT(MemsetFields::start, Memset, start);
AT(MemsetFields::end, Memset, end);
AT(MemsetFields::device, Memset, deviceId);
AT(MemsetFields::context, Memset, contextId);
AT(MemsetFields::stream, Memset, streamId);
AT(MemsetFields::correlation, Memset, correlationId);
AT(MemsetFields::memory_kind, Memset, memoryKind);
AT(MemsetFields::graph_node, Memset, graphNodeId);

AT(CallFields::function, Call, cbid);
AT(CallFields::start, Call, start);
AT(CallFields::end, Call, end);
AT(CallFields::thread, Call, threadId);
AT(CallFields::correlation, Call, correlationId);
AT(CallFields::result, Call, returnValue);

AT(SyncFields::type, Sync, type);
AT(SyncFields::start, Sync, start);
AT(SyncFields::end, Sync, end);
AT(SyncFields::correlation, Sync, correlationId);
AT(SyncFields::context, Sync, contextId);
AT(SyncFields::stream, Sync, streamId);
AT(SyncFields::event, Sync, cudaEventId);

AT(CudaEventFields::correlation, Event, correlationId);
AT(CudaEventFields::context, Event, contextId);
AT(CudaEventFields::stream, Event, streamId);
AT(CudaEventFields::event, Event, eventId);

AT(OverheadFields::type, Overhead, overheadKind);
AT(OverheadFields::object, Overhead, objectKind);
BEGINS(OverheadFields::thread, Overhead, objectId.pt.threadId);
AT(OverheadFields::start, Overhead, start);
AT(OverheadFields::end, Overhead, end);

AT(ExternalCorrelationFields::kind, Tag, externalKind);
AT(ExternalCorrelationFields::id, Tag, externalId);
AT(ExternalCorrelationFields::correlation, Tag, correlationId);

AT(GraphTraceFields::correlation, Graph, correlationId);
AT(GraphTraceFields::start, Graph, start);
AT(GraphTraceFields::end, Graph, end);
AT(GraphTraceFields::device, Graph, deviceId);
AT(GraphTraceFields::graph, Graph, graphId);
AT(GraphTraceFields::context, Graph, contextId);
AT(GraphTraceFields::stream, Graph, streamId);

AT(NvlinkFields::version, Link, nvlinkVersion);
AT(NvlinkFields::type0, Link, typeDev0);
AT(NvlinkFields::type1, Link, typeDev1);
BEGINS(NvlinkFields::uuid0, Link, idDev0.uuidDev);
BEGINS(NvlinkFields::uuid1, Link, idDev1.uuidDev);
BEGINS(NvlinkFields::npu0, Link, idDev0.npu.index);
BEGINS(NvlinkFields::npu1, Link, idDev1.npu.index);
AT(NvlinkFields::flags, Link, flag);
AT(NvlinkFields::links, Link, physicalNvLinkCount);
AT(LinkFields::bandwidth, Link, bandwidth);
AT(LinkFields::through_switch, Link, nvswitchConnected);

AT(DeviceFields::memory_bandwidth, Device, globalMemoryBandwidth);
AT(DeviceFields::memory_bytes, Device, globalMemorySize);
AT(DeviceFields::constant_memory, Device, constantMemorySize);
AT(DeviceFields::l2_bytes, Device, l2CacheSize);
AT(DeviceFields::threads_per_warp, Device, numThreadsPerWarp);
AT(DeviceFields::clock_khz, Device, coreClockRate);
AT(DeviceFields::copy_engines, Device, numMemcpyEngines);
AT(DeviceFields::processors, Device, numMultiprocessors);
AT(DeviceFields::max_ipc, Device, maxIPC);
AT(DeviceFields::max_warps, Device, maxWarpsPerMultiprocessor);
AT(DeviceFields::max_blocks, Device, maxBlocksPerMultiprocessor);
AT(DeviceFields::max_shared_per_processor, Device, maxSharedMemoryPerMultiprocessor);
AT(DeviceFields::max_registers, Device, maxRegistersPerMultiprocessor);
AT(DeviceFields::max_registers_per_block, Device, maxRegistersPerBlock);
AT(DeviceFields::max_shared_per_block, Device, maxSharedMemoryPerBlock);
AT(DeviceFields::max_threads, Device, maxThreadsPerBlock);
BEGINS(DeviceFields::max_block, Device, maxBlockDimX);
static_assert(DeviceFields::max_block.end() == offsetof(Device, maxGridDimX));
BEGINS(DeviceFields::max_grid, Device, maxGridDimX);
static_assert(DeviceFields::max_grid.end() == offsetof(Device, computeCapabilityMajor));
AT(DeviceFields::compute_major, Device, computeCapabilityMajor);
AT(DeviceFields::compute_minor, Device, computeCapabilityMinor);
AT(DeviceFields::id, Device, id);
AT(DeviceFields::uuid, Device, uuid);
AT(DeviceFields::name, Device, name);
AT(DeviceFields::visible, Device, isCudaVisible);
AT(DeviceFields::mig, Device, isMigEnabled);
AT(DeviceFields::instance, Device, gpuInstanceId);
AT(DeviceFields::instance_uuid, Device, migUuid);
AT(DeviceFields::is_numa_node, Device, isNumaNode);
AT(DeviceFields::numa_node, Device, numaId);

AT(ContextFields::context, Context, contextId);
AT(ContextFields::device, Context, deviceId);
AT(ContextFields::null_stream, Context, nullStreamId);

AT(StreamFields::context, Stream, contextId);
AT(StreamFields::stream, Stream, streamId);
AT(StreamFields::priority, Stream, priority);
AT(StreamFields::flag, Stream, flag);

// Fields that came later; before, the records end in front of them.
#if CUPTI_API_VERSION >= 21
AT(OverheadFields::correlation, Overhead, correlationId);
#else
static_assert(OverheadFields::correlation.end() > sizeof(Overhead));
#endif
#if CUPTI_API_VERSION >= 22
AT(ContextFields::parent, Context, parentContextId);
AT(ContextFields::is_green, Context, isGreenContext);
#else
static_assert(ContextFields::parent.end() > sizeof(Context));
#endif
// Before, this is padding inside the record: the decoder looks at the size of the whole.
#if CUPTI_API_VERSION >= 23
AT(ContextFields::processors, Context, numMultiprocessors);
#else
static_assert(sizeof(Context) < KnownBytes(cupti::kContext, kCupti12_5));
#endif
#if CUPTI_API_VERSION >= 26
AT(MemcpyFields::copies, Memcpy, copyCount);
AT(SyncFields::event_sync, Sync, cudaEventSyncId);
AT(CudaEventFields::device, Event, deviceId);
AT(CudaEventFields::time, Event, deviceTimestamp);
AT(CudaEventFields::event_sync, Event, cudaEventSyncId);
#else
static_assert(MemcpyFields::copies.end() > sizeof(Memcpy));
static_assert(SyncFields::event_sync.end() > sizeof(Sync));
static_assert(CudaEventFields::device.end() > sizeof(Event));
#endif

static_assert(offsetof(cupti::ResourceData, description) == offsetof(CUpti_ResourceData, resourceDescriptor));
static_assert(offsetof(cupti::GraphData, node) == offsetof(CUpti_GraphData, node));
static_assert(offsetof(cupti::GraphData, original_node) == offsetof(CUpti_GraphData, originalNode));
#if CUPTI_API_VERSION >= 130000
static_assert(sizeof(cupti::SubscriberParams) <= sizeof(CUpti_SubscriberParams));
BEGINS(Field<uint64_t>{offsetof(cupti::SubscriberParams, other_bytes)}, CUpti_SubscriberParams,
       oldSubscriberSize);
#endif
#undef AT
#undef BEGINS

static_assert(int{cupti::kSuccess} == int{CUPTI_SUCCESS} &&
              int{cupti::kMaxLimitReached} == int{CUPTI_ERROR_MAX_LIMIT_REACHED});
static_assert(int{cupti::kNotInitialized} == int{CUPTI_ERROR_NOT_INITIALIZED});
static_assert(int{cupti::kMultipleSubscribers} == int{CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED});
static_assert(int{cupti::kDriverApi} == int{CUPTI_CB_DOMAIN_DRIVER_API} &&
              int{cupti::kRuntimeApi} == int{CUPTI_CB_DOMAIN_RUNTIME_API});
static_assert(int{cupti::kResource} == int{CUPTI_CB_DOMAIN_RESOURCE} &&
              cupti::kGraphNodeCloned == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
static_assert(cupti::kFlushForced == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED &&
              cupti::kNoValue == CUPTI_SYNCHRONIZATION_INVALID_VALUE);
static_assert(cupti::kZeroedBuffers == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER &&
              cupti::kSystemThreads == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
static_assert(cupti::kOurCorrelation == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 &&
              cupti::kObjectThread == CUPTI_ACTIVITY_OBJECT_THREAD);
static_assert(cupti::kSharedLimitOptIn == CUPTI_FUNC_SHMEM_LIMIT_OPTIN &&
              cupti::kEndIsGpu == CUPTI_DEV_TYPE_GPU);

class CuptiAtHandTest : public testing::Test {
 protected:
  // Versions from 13.2 on do nothing without a driver, or crash.
  void SetUp() override {
    if (CUPTI_API_VERSION >= 130200 && !HasCudaDriver()) GTEST_SKIP() << "CUPTI from 13.2 on needs a driver";
    static std::string reason;
    static const CuptiLibrary* loaded = CuptiLibrary::Load(&reason).release();
    if (loaded == nullptr) GTEST_SKIP() << reason;
    library_ = loaded;
  }
  const CuptiLibrary* library_ = nullptr;
};

// The iterator needs neither GPU nor driver.
TEST_F(CuptiAtHandTest, ItsRecordsAreThoseOfItsVersion) {
  for (const KnownSize& known : kKnownSizes) {
    EXPECT_TRUE(library_->CanRead(known.kind)) << known.kind;
    EXPECT_EQ(library_->RecordSize(known.kind), KnownBytes(known.kind, library_->version())) << known.kind;
  }
  EXPECT_EQ(library_->RecordSize(static_cast<cupti::Kind>(0)), 0u);
}

TEST_F(CuptiAtHandTest, CallsHaveTheirNumbers) {
  const auto name_of = [&](cupti::Domain domain, const CuptiCall& call) {
    const char* name = nullptr;
    EXPECT_EQ(library_->GetCallbackName(domain, call.number, &name), cupti::kSuccess) << call.name;
    return std::string(name == nullptr ? "" : name);
  };
  for (const CuptiCall& call : kChattyCalls) EXPECT_EQ(name_of(cupti::kRuntimeApi, call), call.name);
  for (const CuptiCall& call : kRuntimeLaunches) EXPECT_EQ(name_of(cupti::kRuntimeApi, call), call.name);
  for (const CuptiCall& call : kDriverLaunches) EXPECT_EQ(name_of(cupti::kDriverApi, call), call.name);
}

// The stub that the other tests run on walks through buffers as the library does, hostile ones too.
TEST_F(CuptiAtHandTest, TheStubWalksAsTheLibraryDoes) {
  const uint32_t version = library_->version();
  const RecordBuffer whole = EveryKind(version, nullptr, nullptr);
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint8_t> bytes = RecordBuffer(whole).bytes();
    const size_t size = random() % (bytes.size() + 1);
    bytes.resize(bytes.size() + 8);  // the library looks at whole kinds
    for (uint64_t i = random() % 4; i > 0; --i) bytes[random() % bytes.size()] ^= 1;
    void *real = nullptr, *stub = nullptr;
    bool more = true;
    while (more) {
      const cupti::Result theirs = library_->GetNextRecord(bytes.data(), size, &real);
      const cupti::Result ours = NextStubRecord(bytes.data(), size, &stub, [&](int32_t kind) {
        return library_->RecordSize(static_cast<cupti::Kind>(kind));
      });
      more = ours == cupti::kSuccess;
      ASSERT_EQ(theirs == cupti::kSuccess, more) << round;
      ASSERT_TRUE(!more || real == stub) << round;
    }
  }
}

}  // namespace
}  // namespace lanescope::profiler
