// SPDX-License-Identifier: Apache-2.0
// The path of every record but the driver's part: a producer fills buffers of the pool from several threads,
// the decoder reads them, the codec carries them, the writer stores them. What was produced is stored or
// counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "core/record/recorder.h"
#include "profiler/activity_decoder.h"
#include "profiler/batch_codec.h"
#include "profiler/buffer_pool.h"
#include "tests/profiler/cupti_records.h"
#include "tests/profiler/stub_library.h"
#include "tests/traces/sample_run.h"
#include "traces/read/trace_reader.h"
#include "traces/store/sqlite.h"

namespace lanescope::profiler {
namespace {

TEST(CuptiStreamTest, EveryRecordIsStoredOrCounted) {
  constexpr int kThreads = 2;
  constexpr uint32_t kPerThread = 60000;
  traces::ScratchFile file;
  traces::TraceWriter writer(file.path());
  const int run = writer.BeginRun({});
  const auto now = static_cast<uint64_t>(NowNs());
  traces::ActivitySink* sink = writer.Capture(run);

  // Few buffers, so that some requests are refused.
  BufferPool pool(2, 3);
  std::atomic<int> producing{kThreads};
  std::atomic<int64_t> given{0}, dropped{0};
  std::vector<std::thread> producers;
  for (uint32_t t = 0; t < kThreads; ++t) {
    producers.emplace_back([&, t] {
      using F = KernelFields;
      MadeRecord record = KernelRecord("kernel", 0, 0, 0);
      uint8_t* buffer = nullptr;
      size_t used = 0;
      for (uint32_t i = 0; i < kPerThread; ++i) {
        if (buffer == nullptr && (buffer = pool.Lend()) == nullptr) {
          ++dropped;
          continue;
        }
        // Every thousandth has no times, as when the device's memory for them is full.
        const uint64_t start = i % 1000 == 999 ? 0 : now + 1000 + i;
        record.Set(F::start, start)
            .Set(F::end, start == 0 ? 0 : start + 5)
            .Set(F::correlation, 1 + t * kPerThread + i);
        std::memcpy(buffer + used, record.data(), record.size());
        used += record.size();
        ++given;
        if (used + record.size() > BufferPool::kBufferBytes) {
          pool.Return(buffer, used);
          buffer = nullptr;
          used = 0;
        }
      }
      if (buffer != nullptr) pool.Return(buffer, used);
      --producing;
      pool.Wake();
    });
  }
  ActivityDecoder decoder(StubLibrary(kNewestCupti));
  while (true) {
    const bool last = producing == 0;
    for (auto full = pool.Take(); full.data != nullptr; full = pool.Take()) {
      traces::ActivityBatch batch, received;
      decoder.Decode(full.data, full.bytes, &batch);
      pool.Recycle(full);
      ASSERT_TRUE(DecodeBatch(EncodeBatch(batch), &received));
      received.pid = 4711;
      sink->Consume(std::move(received));
    }
    if (last) break;
    pool.WaitForWork(10);
  }
  for (std::thread& producer : producers) producer.join();
  traces::ActivityBatch counts;
  counts.pid = 4711;
  counts.Count(traces::Loss::kDropped, dropped);
  sink->Consume(std::move(counts));
  writer.EndRun(run, {});
  writer.Close();

  EXPECT_EQ(decoder.records(), given);
  EXPECT_EQ(pool.refused(), dropped);
  traces::Database database(file.path(), traces::OpenMode::kReadOnly);
  const int64_t stored = database.QueryInteger("SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL");
  const int64_t lost = database.QueryInteger("SELECT IFNULL(SUM(\"count\"), 0) FROM LANESCOPE_DROPPED");
  EXPECT_EQ(stored + lost, int64_t{kThreads} * kPerThread);
  EXPECT_EQ(traces::TraceReader(file.path()).ReadRun(run).dropped, lost);
  EXPECT_EQ(database.QueryInteger(
                "SELECT COUNT(*) - COUNT(DISTINCT correlationId) FROM CUPTI_ACTIVITY_KIND_KERNEL"),
            0);
}

}  // namespace
}  // namespace lanescope::profiler
