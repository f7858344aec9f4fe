// SPDX-License-Identifier: Apache-2.0
// The path of captured records, at a rate that no GPU reaches for long: a producer fills buffers as the
// driver does, they are decoded, sent over the socket, checked, and written into a trace.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "core/record/recorder.h"
#include "profiler/activity_decoder.h"
#include "profiler/batch_codec.h"
#include "profiler/buffer_pool.h"
#include "profiler/capture_server.h"
#include "tests/profiler/cupti_records.h"
#include "tests/profiler/stub_library.h"
#include "traces/record/trace_writer.h"
#include "traces/store/sqlite.h"

namespace lanescope {
namespace {

constexpr int64_t kRecordsPerMillisecond = 1000;
constexpr int64_t kMilliseconds = 10000;
constexpr size_t kBatchBytes = size_t{4} << 20;

// Kernel records, paced; a record for which no buffer is free is dropped and counted, as the driver does it.
class Producer {
 public:
  explicit Producer(profiler::BufferPool* pool) : pool_(pool) {}
  void Run() {
    const int64_t begin = NowNs();
    using F = profiler::KernelFields;
    profiler::MadeRecord record = profiler::KernelRecord("_Z6kernelPfi", 0, 0, 0);
    for (int64_t ms = 0; ms < kMilliseconds; ++ms) {
      while (NowNs() < begin + ms * 1000000) std::this_thread::sleep_for(std::chrono::microseconds(200));
      for (int64_t i = 0; i < kRecordsPerMillisecond; ++i) {
        const auto start = static_cast<uint64_t>(begin + ms * 1000000 + i * 1000);
        record.Set(F::start, start)
            .Set(F::end, start + 500)
            .Set(F::correlation, static_cast<uint32_t>(++produced_));
        Put(record.data(), record.size());
      }
    }
    if (buffer_ != nullptr) pool_->Return(buffer_, used_);
    seconds_ = static_cast<double>(NowNs() - begin) / 1e9;
  }
  int64_t produced() const { return produced_; }
  int64_t dropped() const { return dropped_; }
  double seconds() const { return seconds_; }

 private:
  void Put(const void* record, size_t bytes) {
    if (buffer_ == nullptr && (buffer_ = pool_->Lend()) == nullptr) {
      ++dropped_;
      return;
    }
    std::memcpy(buffer_ + used_, record, bytes);
    used_ += bytes;
    if (used_ + bytes <= profiler::BufferPool::kBufferBytes) return;
    pool_->Return(buffer_, used_);
    buffer_ = nullptr;
    used_ = 0;
  }
  profiler::BufferPool* pool_;
  uint8_t* buffer_ = nullptr;
  size_t used_ = 0;
  int64_t produced_ = 0, dropped_ = 0;
  double seconds_ = 0;
};

// Hands buffers over as the injection library does.
void HandOver(profiler::BufferPool* pool, const std::atomic<bool>& done, profiler::CaptureClient* client) {
  profiler::ActivityDecoder decoder(profiler::StubLibrary(profiler::kNewestCupti));
  traces::ActivityBatch batch;
  const auto send = [&] {
    client->Send(profiler::FrameKind::kBatch, profiler::EncodeBatch(batch), 60000);
    batch = traces::ActivityBatch();
  };
  while (true) {
    const bool last = done.load();
    for (auto full = pool->Take(); full.data != nullptr; full = pool->Take()) {
      decoder.Decode(full.data, full.bytes, &batch);
      pool->Recycle(full);
      pool->Replenish();
      if (traces::NumBytes(batch) >= kBatchBytes) send();
    }
    if (last) break;
    pool->WaitForWork(10);
  }
  send();
}

void BM_MillionRecordsPerSecond(benchmark::State& state) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("lanescope_bench_" + std::to_string(getpid()) + ".db"))
          .string();
  for (auto iteration : state) {
    std::filesystem::remove(path);
    traces::TraceWriter writer(path);
    const int run = writer.BeginRun({});
    traces::ActivitySink* sink = writer.Capture(run);
    profiler::CaptureServer server(sink);
    profiler::CaptureClient client;
    client.Connect(server.socket_path());
    profiler::BufferPool pool;
    Producer producer(&pool);
    std::atomic<bool> done{false};
    std::thread reader([&] { HandOver(&pool, done, &client); });
    producer.Run();
    done = true;
    pool.Wake();
    reader.join();
    traces::ActivityBatch counts;
    counts.Count(traces::Loss::kDropped, producer.dropped());
    client.Send(profiler::FrameKind::kBatch, profiler::EncodeBatch(counts), 60000);
    client.Send(profiler::FrameKind::kBye, "");
    client.Close();
    server.Finish();
    writer.EndRun(run, {});
    writer.Close();
    traces::Database database(path, traces::OpenMode::kReadOnly);
    const auto stored = database.QueryInteger("SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL");
    const auto counted = database.QueryInteger("SELECT IFNULL(SUM(\"count\"), 0) FROM LANESCOPE_DROPPED");
    state.counters["produced"] = static_cast<double>(producer.produced());
    state.counters["produced_per_second"] = static_cast<double>(producer.produced()) / producer.seconds();
    state.counters["stored"] = static_cast<double>(stored);
    state.counters["counted_as_lost"] = static_cast<double>(counted);
    state.counters["unaccounted"] = static_cast<double>(producer.produced() - stored - counted);
  }
  std::filesystem::remove(path);
}
BENCHMARK(BM_MillionRecordsPerSecond)->Iterations(1)->UseRealTime()->Unit(benchmark::kSecond);

// Decoding alone.
void BM_Decode(benchmark::State& state) {
  profiler::RecordBuffer buffer;
  for (uint32_t i = 1; i <= 10000; ++i) buffer.Add(profiler::KernelRecord("_Z6kernelPfi", i, i + 1, i));
  profiler::ActivityDecoder decoder(profiler::StubLibrary(profiler::kNewestCupti));
  for (auto iteration : state) {
    traces::ActivityBatch batch;
    decoder.Decode(buffer.data(), buffer.size(), &batch);
    benchmark::DoNotOptimize(batch.kernels.data());
  }
  state.SetItemsProcessed(state.iterations() * 10000);
}
BENCHMARK(BM_Decode);

}  // namespace
}  // namespace lanescope
