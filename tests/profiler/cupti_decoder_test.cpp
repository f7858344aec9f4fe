// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "profiler/activity_decoder.h"
#include "tests/profiler/cupti_records.h"
#include "tests/profiler/stub_library.h"

namespace lanescope::profiler {
namespace {

constexpr char kName[] = "_Z9my_kernelPfi";

traces::ActivityBatch Decode(RecordBuffer buffer, uint32_t version = kNewestCupti, int64_t offset = 0) {
  traces::ActivityBatch batch;
  ActivityDecoder decoder(StubLibrary(version), offset);
  decoder.Decode(buffer.data(), buffer.size(), &batch);
  return batch;
}
int64_t Lost(const traces::ActivityBatch& batch, traces::Loss loss) {
  return batch.losses[static_cast<size_t>(loss)];
}

class CuptiVersionTest : public testing::TestWithParam<uint32_t> {
 protected:
  static bool From(uint32_t version) { return GetParam() >= version; }
  static RecordBuffer Every() { return EveryKind(GetParam(), kName, "NVIDIA Example"); }
};
INSTANTIATE_TEST_SUITE_P(Cupti, CuptiVersionTest, testing::ValuesIn(kCuptiVersions),
                         [](const auto& version) { return std::to_string(version.param); });

TEST_P(CuptiVersionTest, EveryKindOfRecordBecomesItsRow) {
  const traces::ActivityBatch batch = Decode(Every(), GetParam());
  for (const int64_t count : batch.losses) EXPECT_EQ(count, 0);

  ASSERT_EQ(batch.tags.size(), 1u);
  EXPECT_EQ(batch.tags[0].correlation, 17u);
  EXPECT_EQ(traces::TagSchedule(batch.tags[0].tag), 1u);
  EXPECT_EQ(traces::TagStep(batch.tags[0].tag), 2u);
  EXPECT_EQ(traces::TagCommand(batch.tags[0].tag), 3u);

  ASSERT_EQ(batch.calls.size(), 2u);
  EXPECT_EQ(batch.calls[0].kind, traces::ApiKind::kDriver);
  EXPECT_EQ(batch.texts[batch.calls[0].name], "cuLaunchKernel");
  EXPECT_EQ(batch.calls[1].kind, traces::ApiKind::kRuntime);
  EXPECT_EQ(batch.texts[batch.calls[1].name], "cudaLaunchKernel");
  EXPECT_EQ(batch.calls[1].thread, 4242u);
  EXPECT_EQ(batch.calls[1].launches, 1u);

  ASSERT_EQ(batch.kernels.size(), 1u);
  const traces::KernelRow& kernel = batch.kernels[0];
  EXPECT_EQ(batch.texts[kernel.name], kName);
  EXPECT_EQ(kernel.start, 300);
  EXPECT_EQ(kernel.end, 400);
  EXPECT_EQ(kernel.device, 1u);
  EXPECT_EQ(kernel.stream, 7u);
  EXPECT_EQ(kernel.correlation, 17u);
  EXPECT_EQ(kernel.grid[2], 30);
  EXPECT_EQ(kernel.block[0], 32);
  EXPECT_EQ(kernel.registers, 40);
  EXPECT_EQ(kernel.dynamic_shared, 2048);
  EXPECT_EQ(kernel.local_memory_total, 5000000000u);
  EXPECT_EQ(kernel.grid_id, 99);
  EXPECT_EQ(kernel.launch_type, 1);   // regular is 0 in CUPTI
  EXPECT_EQ(kernel.cache_config, 2);  // executed, not requested
  EXPECT_EQ(kernel.shared_percent, 0xff);
  EXPECT_EQ(kernel.cluster[0], 2u);
  EXPECT_EQ(kernel.max_active_clusters, 66u);

  ASSERT_EQ(batch.copies.size(), 2u);
  EXPECT_EQ(batch.copies[0].copy_kind, 1);
  EXPECT_EQ(batch.copies[0].src_kind, 1);  // pinned is 2 in CUPTI
  EXPECT_EQ(batch.copies[0].dst_kind, 2);  // device is 3 in CUPTI
  EXPECT_EQ(batch.copies[0].src_device, traces::kNoId);
  EXPECT_EQ(batch.copies[0].copies, From(kCupti12_8) ? 4u : 1u);
  EXPECT_EQ(batch.copies[1].copy_kind, 10);
  EXPECT_EQ(batch.copies[1].src_device, 1u);
  EXPECT_EQ(batch.copies[1].dst_device, 3u);
  EXPECT_EQ(batch.copies[1].bytes, 4096u);
  EXPECT_EQ(batch.copies[1].correlation, 19u);
  EXPECT_EQ(batch.copies[1].graph_node, 0x700000006u);

  ASSERT_EQ(batch.memsets.size(), 1u);
  EXPECT_EQ(batch.memsets[0].memory_kind, 4u);
  EXPECT_EQ(batch.memsets[0].graph_node, 0x700000005u);
  ASSERT_EQ(batch.syncs.size(), 1u);
  EXPECT_EQ(batch.syncs[0].type, 2u);
  EXPECT_EQ(batch.syncs[0].event, 5u);
  EXPECT_EQ(batch.syncs[0].event_sync, From(kCupti12_8) ? 77u : 0u);
  ASSERT_EQ(batch.events.size(), 1u);
  EXPECT_EQ(batch.events[0].event, 5u);
  EXPECT_EQ(batch.events[0].event_sync, From(kCupti12_8) ? 55u : 0u);
  ASSERT_EQ(batch.overheads.size(), 1u);
  EXPECT_EQ(batch.overheads[0].type, 8u);
  EXPECT_EQ(batch.overheads[0].thread, 4242u);
  EXPECT_EQ(batch.overheads[0].correlation, From(kCupti12_3) ? 20u : 0u);
  ASSERT_EQ(batch.graphs.size(), 1u);
  EXPECT_EQ(batch.graphs[0].graph, 9u);

  ASSERT_EQ(batch.gpus.size(), 2u);
  EXPECT_EQ(batch.texts[batch.gpus[0].name], "NVIDIA Example");
  EXPECT_EQ(batch.texts[batch.gpus[0].uuid], "GPU-00112233-4455-6677-8899-aabbccddeeff");
  // An instance of the same card.
  EXPECT_EQ(batch.texts[batch.gpus[1].uuid], "MIG-00010203-0405-0607-0809-0a0b0c0d0e0f");
  EXPECT_EQ(batch.gpus[0].memory_bandwidth, 4800000000000u);
  EXPECT_EQ(batch.gpus[0].clock_hz, 1980000000u);
  EXPECT_EQ(batch.gpus[0].max_grid[2], 9u);
  EXPECT_EQ(batch.gpus[0].numa_node, 6u);
  ASSERT_EQ(batch.contexts.size(), 1u);
  EXPECT_EQ(batch.contexts[0].is_green, From(kCupti12_4) ? 1u : 0u);
  EXPECT_EQ(batch.contexts[0].processors, From(kCupti12_5) ? 64u : 0u);
  ASSERT_EQ(batch.streams.size(), 1u);
  EXPECT_EQ(batch.streams[0].priority, -5);
  ASSERT_EQ(batch.nvlinks.size(), 1u);
  EXPECT_EQ(batch.texts[batch.nvlinks[0].device1], "npu 3");
  EXPECT_EQ(batch.nvlinks[0].links, 18u);
  EXPECT_EQ(batch.nvlinks[0].bandwidth, 25000000000u);
  EXPECT_EQ(batch.nvlinks[0].through_switch, 1u);
}

// Where all calls are recorded, those that a trace never has are left out.
TEST_P(CuptiVersionTest, CallsThatNoTraceHasAreLeftOut) {
  RecordBuffer buffer;
  constexpr uint32_t kGetDevice = 17, kDeviceGetOfDriver = 3, kMalloc = 20;
  buffer.Add(CallRecord(cupti::kRuntime, kGetDevice, 1, 2, 3, 4, GetParam()));
  buffer.Add(CallRecord(cupti::kDriver, kDeviceGetOfDriver, 1, 2, 3, 5, GetParam()));
  buffer.Add(CallRecord(cupti::kRuntime, kMalloc, 1, 2, 3, 6, GetParam()));
  const traces::ActivityBatch batch = Decode(buffer, GetParam());
  ASSERT_EQ(batch.calls.size(), 1u);
  EXPECT_EQ(batch.calls[0].correlation, 6u);
  EXPECT_EQ(batch.texts[batch.calls[0].name], "function 20");
}

TEST(CuptiDecoderTest, TheClocksOffsetIsTakenOff) {
  RecordBuffer buffer;
  buffer.Add(KernelRecord(kName, 1000300, 1000400, 1));
  const traces::ActivityBatch batch = Decode(buffer, kNewestCupti, 1000000);
  ASSERT_EQ(batch.kernels.size(), 1u);
  EXPECT_EQ(batch.kernels[0].start, 300);
  // A time of zero says that there is none, whatever the clock.
  RecordBuffer without;
  without.Add(KernelRecord(kName, 0, 0, 1));
  EXPECT_EQ(Decode(without, kNewestCupti, 1000000).kernels[0].start, 0);
}

TEST(CuptiDecoderTest, EnumerationsThatNobodyKnowsBecomeUnknown) {
  RecordBuffer buffer;
  buffer.Add(MadeRecord(cupti::kMemcpy)
                 .Set(MemcpyFields::copy_kind, 200)
                 .Set(MemcpyFields::src_kind, 0)
                 .Set(MemcpyFields::dst_kind, 99));
  buffer.Add(KernelRecord(kName, 1, 2, 3).Set(KernelFields::launch_type, 3));  // a command list
  buffer.Add(MadeRecord(cupti::kOverhead).Set(OverheadFields::type, static_cast<uint32_t>(-77)));
  const traces::ActivityBatch batch = Decode(buffer);
  ASSERT_EQ(batch.copies.size(), 1u);
  EXPECT_EQ(batch.copies[0].copy_kind, 0);
  EXPECT_EQ(batch.copies[0].src_kind, 7);
  EXPECT_EQ(batch.copies[0].dst_kind, 7);
  EXPECT_EQ(batch.kernels[0].launch_type, 0);
  EXPECT_EQ(batch.overheads[0].type, 1u);
}

// Cut at every byte: the whole records before the cut, and one malformed record where something is left over.
TEST_P(CuptiVersionTest, TruncatedBuffersYieldTheirWholeRecords) {
  RecordBuffer whole = Every();
  size_t last_rows = 0;
  for (size_t size = 0; size <= whole.size(); ++size) {
    // Memory of exactly this size, so that a sanitizer sees every byte beyond it.
    std::vector<uint8_t> bytes(whole.bytes().begin(), whole.bytes().begin() + static_cast<ptrdiff_t>(size));
    bytes.shrink_to_fit();
    traces::ActivityBatch batch;
    ActivityDecoder decoder(StubLibrary(GetParam()));
    decoder.Decode(bytes.data(), bytes.size(), &batch);
    const size_t rows = traces::NumRows(batch);
    ASSERT_GE(rows, last_rows) << size;
    ASSERT_LE(rows, last_rows + 1) << size;
    ASSERT_LE(Lost(batch, traces::Loss::kMalformed), 1) << size;
    const bool at_end_of_a_record = rows > last_rows;
    ASSERT_TRUE(!at_end_of_a_record || Lost(batch, traces::Loss::kMalformed) == 0) << size;
    last_rows = rows;
  }
  EXPECT_EQ(last_rows, 16u);
}

// One that says that a record goes on where the buffer has ended.
TEST(CuptiDecoderTest, ARecordBeyondItsBufferIsCountedAndNotRead) {
  cupti::Functions functions = StubFunctionsOf<kNewestCupti>();
  functions.GetNextRecord = [](uint8_t* buffer, size_t, void** record) {
    if (*record != nullptr) return cupti::kMaxLimitReached;
    *record = buffer;
    return cupti::kSuccess;
  };
  std::string reason;
  const auto library = CuptiLibrary::Adopt(functions, "libstub.so", &reason);
  ASSERT_NE(library, nullptr) << reason;  // nothing to measure: the sizes of the version
  const MadeRecord record = KernelRecord(kName, 1, 2, 3);
  std::vector<uint8_t> bytes(record.data(), record.data() + record.size() - 1);
  traces::ActivityBatch batch;
  ActivityDecoder(*library).Decode(bytes.data(), bytes.size(), &batch);
  EXPECT_EQ(traces::NumRows(batch), 0u);
  EXPECT_EQ(Lost(batch, traces::Loss::kMalformed), 1);
}

TEST(CuptiDecoderTest, ARecordOfNoKindEndsItsBufferAndIsCounted) {
  for (const int32_t kind : {0, 6, 60, 1000, -1, INT32_MAX}) {
    RecordBuffer buffer;
    buffer.Add(KernelRecord(kName, 1, 2, 3));
    MadeRecord bad = KernelRecord(kName, 4, 5, 6);
    std::memcpy(bad.data(), &kind, sizeof(kind));
    buffer.Add(bad).Add(KernelRecord(kName, 7, 8, 9));
    const traces::ActivityBatch batch = Decode(buffer);
    EXPECT_EQ(batch.kernels.size(), 1u) << kind;
    EXPECT_EQ(Lost(batch, traces::Loss::kMalformed), 1) << kind;
  }
}

TEST(CuptiDecoderTest, KindsThatNobodyAskedForAreSkipped) {
  RecordBuffer buffer;
  const int32_t marker = 12;
  buffer.bytes().resize(StubRecordBytes(marker, kNewestCupti));
  std::memcpy(buffer.data(), &marker, sizeof(marker));
  buffer.Add(KernelRecord(kName, 1, 2, 3));
  const traces::ActivityBatch batch = Decode(buffer);
  EXPECT_EQ(batch.kernels.size(), 1u);
  EXPECT_EQ(traces::NumRows(batch), 1u);
  for (const int64_t count : batch.losses) EXPECT_EQ(count, 0);
}

TEST(CuptiDecoderTest, NamesAtBadAddressesAreCountedAndDoNotCrash) {
  RecordBuffer buffer;
  buffer.Add(KernelRecord(reinterpret_cast<const char*>(1), 1, 2, 3));
  buffer.Add(KernelRecord(reinterpret_cast<const char*>(0xdeadbeefdeadbeef), 1, 2, 4));
  buffer.Add(KernelRecord(nullptr, 1, 2, 5));
  buffer.Add(KernelRecord(kName, 1, 2, 6));
  const traces::ActivityBatch batch = Decode(buffer);
  ASSERT_EQ(batch.kernels.size(), 4u);
  EXPECT_EQ(Lost(batch, traces::Loss::kUnreadableNames), 2);
  EXPECT_EQ(batch.texts[batch.kernels[0].name], "(unreadable)");
  EXPECT_EQ(batch.texts[batch.kernels[2].name], "");
  EXPECT_EQ(batch.texts[batch.kernels[3].name], kName);
}

// A name is one text of its buffer, and is read again in the next one.
TEST(CuptiDecoderTest, NamesAreReadOnceABuffer) {
  std::string name = "first";
  name.resize(40);
  traces::ActivityBatch batch;
  ActivityDecoder decoder(StubLibrary(kNewestCupti));
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

TEST_P(CuptiVersionTest, RandomBytesAreSafe) {
  std::mt19937_64 random(20251120);
  const RecordBuffer whole = Every();
  ActivityDecoder decoder(StubLibrary(GetParam()));
  for (int round = 0; round < 500; ++round) {
    std::vector<uint8_t> bytes = RecordBuffer(whole).bytes();
    bytes.resize(random() % (bytes.size() + 1));
    for (int i = 0; i < 8 && !bytes.empty(); ++i)
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    traces::ActivityBatch batch;
    decoder.Decode(bytes.data(), bytes.size(), &batch);
    traces::ForEachTable(batch, [&](const auto& rows) {
      for (const auto& row : rows) {
        traces::ForEachText(row, [&](traces::TextId text) { ASSERT_LT(text, batch.texts.size()); });
      }
    });
  }
}

}  // namespace
}  // namespace lanescope::profiler
