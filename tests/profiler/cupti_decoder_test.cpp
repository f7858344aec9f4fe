#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "profiler/activity_decoder.h"
#include "tests/profiler/cupti_records.h"

namespace lanescope {
namespace {

constexpr char kName[] = "_Z9my_kernelPfi";

class CuptiDecoderTest : public testing::Test {
 protected:
  void SetUp() override {
    if (TestLibrary() == nullptr) GTEST_SKIP() << "no CUPTI library on this machine";
  }

  static ActivityBatch Decode(RecordBuffer buffer, int64_t offset = 0) {
    ActivityBatch batch;
    ActivityDecoder decoder(*TestLibrary(), offset);
    decoder.Decode(buffer.data(), buffer.size(), &batch);
    return batch;
  }
  static int64_t Lost(const ActivityBatch& batch, Loss loss) {
    return batch.losses[static_cast<size_t>(loss)];
  }
};

// One record of every kind.
RecordBuffer EveryKind() {
  RecordBuffer buffer;
  auto external = MakeRecord<CUpti_ActivityExternalCorrelation>(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  external.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
  external.externalId = MakeActivityTag(1, 2, 3);
  external.correlationId = 17;
  buffer.Add(external);
  buffer.Add(
      CallRecord(CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 110, 180, 4242, 17));
  buffer.Add(CallRecord(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, 100,
                        200, 4242, 17));
  buffer.Add(KernelRecord(kName, 300, 400, 17));

  auto copy = MakeRecord<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY);
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.bytes = 1 << 20;
  copy.start = 500;
  copy.end = 600;
  copy.deviceId = 1;
  copy.correlationId = 18;
  copy.copyCount = 1;
  buffer.Add(copy);

  auto peer = MakeRecord<CUpti_ActivityMemcpyPtoP4>(CUPTI_ACTIVITY_KIND_MEMCPY2);
  peer.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  peer.srcKind = peer.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  peer.bytes = 4096;
  peer.start = 610;
  peer.end = 620;
  peer.srcDeviceId = 1;
  peer.srcContextId = 2;
  peer.dstDeviceId = 3;
  peer.dstContextId = 4;
  peer.correlationId = 19;
  buffer.Add(peer);

  auto set = MakeRecord<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET);
  set.value = 0x3f;
  set.bytes = 512;
  set.start = 630;
  set.end = 640;
  set.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
  set.graphNodeId = 0x700000005;
  buffer.Add(set);

  auto sync = MakeRecord<CUpti_ActivitySynchronization2>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  sync.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
  sync.start = 650;
  sync.end = 660;
  sync.contextId = 2;
  sync.streamId = 7;
  sync.cudaEventId = 5;
  sync.cudaEventSyncId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  buffer.Add(sync);

  auto event = MakeRecord<CUpti_ActivityCudaEvent2>(CUPTI_ACTIVITY_KIND_CUDA_EVENT);
  event.eventId = 5;
  event.cudaEventSyncId = 55;
  buffer.Add(event);

  auto overhead = MakeRecord<CUpti_ActivityOverhead3>(CUPTI_ACTIVITY_KIND_OVERHEAD);
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL;
  overhead.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  overhead.objectId.pt.threadId = 4242;
  overhead.start = 670;
  overhead.end = 680;
  buffer.Add(overhead);

  auto graph = MakeRecord<CUpti_ActivityGraphTrace2>(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  graph.start = 690;
  graph.end = 700;
  graph.graphId = 9;
  buffer.Add(graph);

  auto device = MakeRecord<CUpti_ActivityDevice5>(CUPTI_ACTIVITY_KIND_DEVICE);
  device.id = 1;
  device.name = "NVIDIA Example";
  device.isCudaVisible = 1;
  device.globalMemoryBandwidth = 4800000000;  // kB/s
  device.globalMemorySize = uint64_t{141} << 30;
  device.coreClockRate = 1980000;  // kHz
  device.numMultiprocessors = 132;
  device.computeCapabilityMajor = 9;
  for (int i = 0; i < 16; ++i) device.uuid.bytes[i] = static_cast<char>(i * 17);
  buffer.Add(device);
  device.isMigEnabled = 1;
  device.gpuInstanceId = 3;
  for (int i = 0; i < 16; ++i) device.migUuid.bytes[i] = static_cast<char>(i);
  buffer.Add(device);

  auto context = MakeRecord<CUpti_ActivityContext3>(CUPTI_ACTIVITY_KIND_CONTEXT);
  context.contextId = 2;
  context.deviceId = 1;
  context.isGreenContext = 1;
  context.numMultiprocessors = 64;
  context.parentContextId = 1;
  buffer.Add(context);

  auto stream = MakeRecord<CUpti_ActivityStream>(CUPTI_ACTIVITY_KIND_STREAM);
  stream.contextId = 2;
  stream.streamId = 7;
  stream.priority = static_cast<uint32_t>(-5);
  stream.flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING;
  buffer.Add(stream);

  auto link = MakeRecord<CUpti_ActivityNvLink4>(CUPTI_ACTIVITY_KIND_NVLINK);
  link.typeDev0 = CUPTI_DEV_TYPE_GPU;
  link.typeDev1 = CUPTI_DEV_TYPE_NPU;
  link.idDev1.npu.index = 3;
  link.physicalNvLinkCount = 18;
  link.bandwidth = 25000000;  // kB/s
  link.nvswitchConnected = 1;
  buffer.Add(link);
  return buffer;
}

TEST_F(CuptiDecoderTest, EveryKindOfRecordBecomesItsRow) {
  const ActivityBatch batch = Decode(EveryKind());
  for (const int64_t count : batch.losses) EXPECT_EQ(count, 0);

  ASSERT_EQ(batch.tags.size(), 1u);
  EXPECT_EQ(batch.tags[0].correlation, 17u);
  EXPECT_EQ(TagSchedule(batch.tags[0].tag), 1u);
  EXPECT_EQ(TagStep(batch.tags[0].tag), 2u);
  EXPECT_EQ(TagCommand(batch.tags[0].tag), 3u);

  ASSERT_EQ(batch.calls.size(), 2u);
  EXPECT_EQ(batch.calls[0].kind, ApiKind::kDriver);
  EXPECT_EQ(batch.texts[batch.calls[0].name], "cuLaunchKernel");
  EXPECT_EQ(batch.calls[1].kind, ApiKind::kRuntime);
  EXPECT_EQ(batch.texts[batch.calls[1].name], "cudaLaunchKernel");
  EXPECT_EQ(batch.calls[1].thread, 4242u);
  EXPECT_EQ(batch.calls[1].launches, 1u);

  ASSERT_EQ(batch.kernels.size(), 1u);
  const KernelRow& kernel = batch.kernels[0];
  EXPECT_EQ(batch.texts[kernel.name], kName);
  EXPECT_EQ(kernel.start, 300);
  EXPECT_EQ(kernel.end, 400);
  EXPECT_EQ(kernel.device, 1u);
  EXPECT_EQ(kernel.stream, 7u);
  EXPECT_EQ(kernel.grid[2], 30);
  EXPECT_EQ(kernel.block[0], 32);
  EXPECT_EQ(kernel.registers, 40);
  EXPECT_EQ(kernel.local_memory_total, 5000000000u);
  EXPECT_EQ(kernel.launch_type, 1);   // regular is 0 in CUPTI
  EXPECT_EQ(kernel.cache_config, 2);  // executed, not requested
  EXPECT_EQ(kernel.shared_percent, 0xff);
  EXPECT_EQ(kernel.max_active_clusters, 66u);

  ASSERT_EQ(batch.copies.size(), 2u);
  EXPECT_EQ(batch.copies[0].copy_kind, 1);
  EXPECT_EQ(batch.copies[0].src_kind, 1);  // pinned is 2 in CUPTI
  EXPECT_EQ(batch.copies[0].dst_kind, 2);  // device is 3 in CUPTI
  EXPECT_EQ(batch.copies[0].src_device, kNoId);
  EXPECT_EQ(batch.copies[1].copy_kind, 10);
  EXPECT_EQ(batch.copies[1].src_device, 1u);
  EXPECT_EQ(batch.copies[1].dst_device, 3u);
  EXPECT_EQ(batch.copies[1].bytes, 4096u);

  ASSERT_EQ(batch.memsets.size(), 1u);
  EXPECT_EQ(batch.memsets[0].memory_kind, 4u);
  EXPECT_EQ(batch.memsets[0].graph_node, 0x700000005u);
  ASSERT_EQ(batch.syncs.size(), 1u);
  EXPECT_EQ(batch.syncs[0].type, 2u);
  EXPECT_EQ(batch.syncs[0].event_sync, 0u);
  ASSERT_EQ(batch.events.size(), 1u);
  EXPECT_EQ(batch.events[0].event_sync, 55u);
  ASSERT_EQ(batch.overheads.size(), 1u);
  EXPECT_EQ(batch.overheads[0].type, 8u);
  EXPECT_EQ(batch.overheads[0].thread, 4242u);
  ASSERT_EQ(batch.graphs.size(), 1u);
  EXPECT_EQ(batch.graphs[0].graph, 9u);

  ASSERT_EQ(batch.gpus.size(), 2u);
  EXPECT_EQ(batch.texts[batch.gpus[0].name], "NVIDIA Example");
  EXPECT_EQ(batch.texts[batch.gpus[0].uuid], "GPU-00112233-4455-6677-8899-aabbccddeeff");
  // An instance of the same card.
  EXPECT_EQ(batch.texts[batch.gpus[1].uuid], "MIG-00010203-0405-0607-0809-0a0b0c0d0e0f");
  EXPECT_EQ(batch.gpus[0].memory_bandwidth, 4800000000000u);
  EXPECT_EQ(batch.gpus[0].clock_hz, 1980000000u);
  ASSERT_EQ(batch.contexts.size(), 1u);
  EXPECT_EQ(batch.contexts[0].is_green, 1u);
  EXPECT_EQ(batch.contexts[0].processors, 64u);
  ASSERT_EQ(batch.streams.size(), 1u);
  EXPECT_EQ(batch.streams[0].priority, -5);
  ASSERT_EQ(batch.nvlinks.size(), 1u);
  EXPECT_EQ(batch.texts[batch.nvlinks[0].device1], "npu 3");
  EXPECT_EQ(batch.nvlinks[0].bandwidth, 25000000000u);
}

// The record sizes that the specification lists.
TEST_F(CuptiDecoderTest, TheLibraryHasTheRecordsOfTheHeaders) {
  EXPECT_EQ(TestLibrary()->RecordSize(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 216u);
  EXPECT_EQ(TestLibrary()->RecordSize(CUPTI_ACTIVITY_KIND_MEMCPY), 96u);
  EXPECT_EQ(TestLibrary()->RecordSize(CUPTI_ACTIVITY_KIND_MEMCPY2), 96u);
  EXPECT_EQ(TestLibrary()->RecordSize(CUPTI_ACTIVITY_KIND_MEMSET), 88u);
  EXPECT_EQ(TestLibrary()->RecordSize(CUPTI_ACTIVITY_KIND_RUNTIME), 40u);
  EXPECT_EQ(TestLibrary()->RecordSize(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION), 24u);
  EXPECT_EQ(TestLibrary()->RecordSize(CUPTI_ACTIVITY_KIND_INVALID), 0u);
}

TEST_F(CuptiDecoderTest, TheClocksOffsetIsTakenOff) {
  RecordBuffer buffer;
  buffer.Add(KernelRecord(kName, 1000300, 1000400, 1));
  const ActivityBatch batch = Decode(buffer, 1000000);
  ASSERT_EQ(batch.kernels.size(), 1u);
  EXPECT_EQ(batch.kernels[0].start, 300);
  // A time of zero says that there is none, whatever the clock.
  RecordBuffer without;
  without.Add(KernelRecord(kName, 0, 0, 1));
  EXPECT_EQ(Decode(without, 1000000).kernels[0].start, 0);
}

TEST_F(CuptiDecoderTest, EnumerationsThatNobodyKnowsBecomeUnknown) {
  auto copy = MakeRecord<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY);
  copy.copyKind = 200;
  copy.srcKind = 0;
  copy.dstKind = 99;
  auto kernel = KernelRecord(kName, 1, 2, 3);
  kernel.launchType = CUPTI_ACTIVITY_LAUNCH_TYPE_CBL_COMMANDLIST;
  auto overhead = MakeRecord<CUpti_ActivityOverhead3>(CUPTI_ACTIVITY_KIND_OVERHEAD);
  const int32_t hostile = -77;
  std::memcpy(static_cast<void*>(&overhead.overheadKind), &hostile, sizeof(hostile));
  RecordBuffer buffer;
  buffer.Add(copy).Add(kernel).Add(overhead);
  const ActivityBatch batch = Decode(buffer);
  ASSERT_EQ(batch.copies.size(), 1u);
  EXPECT_EQ(batch.copies[0].copy_kind, 0);
  EXPECT_EQ(batch.copies[0].src_kind, 7);
  EXPECT_EQ(batch.copies[0].dst_kind, 7);
  EXPECT_EQ(batch.kernels[0].launch_type, 0);
  EXPECT_EQ(batch.overheads[0].type, 1u);
}

// Cut at every byte: the whole records before the cut, and one malformed record where something is left over.
TEST_F(CuptiDecoderTest, TruncatedBuffersYieldTheirWholeRecords) {
  RecordBuffer whole = EveryKind();
  size_t last_rows = 0;
  for (size_t size = 0; size <= whole.size(); ++size) {
    // Memory of exactly this size, so that a sanitizer sees every byte beyond it.
    std::vector<uint8_t> bytes(whole.bytes().begin(), whole.bytes().begin() + static_cast<ptrdiff_t>(size));
    bytes.shrink_to_fit();
    ActivityBatch batch;
    ActivityDecoder decoder(*TestLibrary());
    decoder.Decode(bytes.data(), bytes.size(), &batch);
    const size_t rows = NumRows(batch);
    EXPECT_GE(rows, last_rows) << size;
    EXPECT_LE(rows, last_rows + 1) << size;
    EXPECT_LE(Lost(batch, Loss::kMalformed), 1) << size;
    const bool at_end_of_a_record = rows > last_rows;
    EXPECT_TRUE(!at_end_of_a_record || Lost(batch, Loss::kMalformed) == 0) << size;
    last_rows = rows;
  }
  EXPECT_EQ(last_rows, 16u);
}

TEST_F(CuptiDecoderTest, ARecordOfNoKindEndsItsBufferAndIsCounted) {
  for (const int32_t kind : {0, 6, 60, 1000, -1, INT32_MAX}) {
    RecordBuffer buffer;
    buffer.Add(KernelRecord(kName, 1, 2, 3));
    auto bad = KernelRecord(kName, 4, 5, 6);
    std::memcpy(static_cast<void*>(&bad), &kind, sizeof(kind));
    buffer.Add(bad).Add(KernelRecord(kName, 7, 8, 9));
    const ActivityBatch batch = Decode(buffer);
    EXPECT_EQ(batch.kernels.size(), 1u) << kind;
    EXPECT_EQ(Lost(batch, Loss::kMalformed), 1) << kind;
  }
}

TEST_F(CuptiDecoderTest, KindsThatNobodyAskedForAreSkipped) {
  RecordBuffer buffer;
  buffer.Add(MakeRecord<CUpti_ActivityMarker2>(CUPTI_ACTIVITY_KIND_MARKER)).Add(KernelRecord(kName, 1, 2, 3));
  const ActivityBatch batch = Decode(buffer);
  EXPECT_EQ(batch.kernels.size(), 1u);
  EXPECT_EQ(NumRows(batch), 1u);
  for (const int64_t count : batch.losses) EXPECT_EQ(count, 0);
}

TEST_F(CuptiDecoderTest, NamesAtBadAddressesAreCountedAndDoNotCrash) {
  RecordBuffer buffer;
  buffer.Add(KernelRecord(reinterpret_cast<const char*>(1), 1, 2, 3));
  buffer.Add(KernelRecord(reinterpret_cast<const char*>(0xdeadbeefdeadbeef), 1, 2, 4));
  buffer.Add(KernelRecord(nullptr, 1, 2, 5));
  buffer.Add(KernelRecord(kName, 1, 2, 6));
  const ActivityBatch batch = Decode(buffer);
  ASSERT_EQ(batch.kernels.size(), 4u);
  EXPECT_EQ(Lost(batch, Loss::kUnreadableNames), 2);
  EXPECT_EQ(batch.texts[batch.kernels[0].name], "(unreadable)");
  EXPECT_EQ(batch.texts[batch.kernels[2].name], "");
  EXPECT_EQ(batch.texts[batch.kernels[3].name], kName);
}

// The same name is one text of its buffer, and is read again in the next one.
TEST_F(CuptiDecoderTest, NamesAreReadOnceABuffer) {
  std::string name = "first";
  name.resize(40);
  ActivityBatch batch;
  ActivityDecoder decoder(*TestLibrary());
  RecordBuffer buffer;
  buffer.Add(KernelRecord(name.data(), 1, 2, 3)).Add(KernelRecord(name.data(), 3, 4, 5));
  decoder.Decode(buffer.data(), buffer.size(), &batch);
  EXPECT_EQ(batch.texts.size(), 2u);
  std::memcpy(name.data(), "other", 6);
  decoder.Decode(buffer.data(), buffer.size(), &batch);
  ASSERT_EQ(batch.kernels.size(), 4u);
  EXPECT_EQ(batch.texts[batch.kernels[0].name], "first");
  EXPECT_EQ(batch.texts[batch.kernels[3].name], "other");
}

TEST_F(CuptiDecoderTest, RandomBytesAreSafe) {
  std::mt19937_64 random(20251120);
  RecordBuffer whole = EveryKind();
  ActivityDecoder decoder(*TestLibrary());
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint8_t> bytes = whole.bytes();
    bytes.resize(random() % (bytes.size() + 1));
    for (int i = 0; i < 8 && !bytes.empty(); ++i)
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    ActivityBatch batch;
    decoder.Decode(bytes.data(), bytes.size(), &batch);
    ForEachTable(batch, [&](const auto& rows) {
      for (const auto& row : rows) {
        ForEachText(row, [&](TextId text) { ASSERT_LT(text, batch.texts.size()); });
      }
    });
  }
}

}  // namespace
}  // namespace lanescope
