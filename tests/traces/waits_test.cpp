// SPDX-License-Identifier: Apache-2.0
// Waits of devices, in made traces whose truth stands beside them.
#include "traces/report/waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "tests/traces/sample_run.h"
#include "tests/traces/shared_traces.h"
#include "traces/import/import.h"
#include "traces/read/collectives.h"
#include "traces/read/trace_reader.h"

namespace lanescope::traces {
namespace {

class MadeTrace {
 public:
  MadeTrace() { run_.texts = {"gemm", "ncclDevKernel_AllReduce", "cudaLaunchKernel"}; }
  // A kernel and the call that launched it.
  void Launched(int stream, int64_t call_start, int64_t call_end, int64_t start, int64_t end) {
    TraceApiCall call;
    call.start_ns = call_start;
    call.end_ns = call_end;
    call.global_tid = 7;
    call.name = 2;
    run_.api_calls.push_back(call);
    Kernel(0, stream, 0, start, end);
    run_.launches.back().api = static_cast<int>(run_.api_calls.size()) - 1;
  }
  void Kernel(int device, int stream, int name, int64_t start, int64_t end) {
    TraceLaunch launch;
    launch.device = device;
    launch.stream = stream;
    launch.name = name;
    launch.start_ns = start;
    launch.end_ns = end;
    run_.launches.push_back(launch);
  }
  // Says what the kernel before moves.
  void Moves(std::string kind, int64_t bytes, int64_t ranks) {
    run_.texts.push_back(std::move(kind));
    run_.collectives.push_back(
        {static_cast<int>(run_.launches.size()) - 1, static_cast<int>(run_.texts.size()) - 1, bytes, ranks});
  }
  const TraceRun& run() const { return run_; }

 private:
  TraceRun run_;
};

// Busy 10-100, 120-200, 260-300 on stream 7 and 320-400 on stream 8; launched at 0, 20, 210 and 290.
// Idle 100-120: launched already, after what was on the same stream. 200-260: the call 210-230, else the
// host. 300-320: launched already, on another stream than what had ended.
TEST(WaitsTest, IdleTimeIsSplitByWhatEndedIt) {
  MadeTrace trace;
  trace.Launched(7, 0, 10, 10, 100);
  trace.Launched(7, 20, 30, 120, 200);
  trace.Launched(7, 210, 230, 260, 300);
  trace.Launched(8, 290, 310, 320, 400);
  const Waits waits = FindWaits(trace.run());
  ASSERT_EQ(waits.devices.size(), 1u);
  const DeviceWaits& device = waits.devices[0];
  EXPECT_EQ(device.window_ns, 390);
  EXPECT_EQ(device.compute_ns, 290);
  EXPECT_EQ(device.idle_ns, 100);
  EXPECT_EQ(device.queued_ns, 20);
  EXPECT_EQ(device.for_streams_ns, 20);
  EXPECT_EQ(device.in_calls_ns, 20);
  EXPECT_EQ(device.host_ns, 40);
  EXPECT_EQ(device.edges_ns, 0);
  EXPECT_EQ(waits.verdict, "host-bound: GPU:0 waits for 60% of its idle time for the host");
  ASSERT_EQ(waits.streams.size(), 2u);
  const StreamWaits& stream = waits.streams[0];
  EXPECT_EQ(stream.operations, 3);
  EXPECT_EQ(stream.busy_ns, 210);
  EXPECT_EQ(stream.host_ns, 60);
  EXPECT_EQ(stream.kernel_ns, 20);
  EXPECT_EQ(stream.other_ns, 0);
  EXPECT_EQ(stream.mean_delay_ns, (0 + 90 + 30) / 3);
  EXPECT_EQ(stream.max_delay_ns, 90);
  EXPECT_EQ(stream.max_queue, 1);
}

// A gap of a stream above 30 us whose operation was launched before it is neither the host's nor the
// kernel's.
TEST(WaitsTest, AGapOfAStreamThatNobodyExplains) {
  MadeTrace trace;
  trace.Launched(7, 0, 10, 10, 100);
  trace.Launched(7, 20, 30, 100'100, 100'200);
  EXPECT_EQ(FindWaits(trace.run()).streams.at(0).other_ns, 100'000);
}

// AllReduce 100-400 and 1000-1200 on GPU 0, 250-400 and 1050-1200 on GPU 1: transfers of 150 each; GPU 0
// waits for 150 and 50 for GPU 1, which comes last to both.
TEST(WaitsTest, WaitingInCollectivesIsNoTransfer) {
  MadeTrace trace;
  trace.Kernel(0, 1, 1, 100, 400);
  trace.Kernel(0, 1, 1, 1000, 1200);
  trace.Kernel(1, 1, 1, 250, 400);
  trace.Kernel(1, 1, 1, 1050, 1200);
  const Waits waits = FindWaits(trace.run());
  ASSERT_EQ(waits.devices.size(), 2u);
  EXPECT_EQ(waits.devices[0].transfer_ns, 300);
  EXPECT_EQ(waits.devices[0].waiting_ns, 200);
  EXPECT_EQ(waits.devices[0].last, 0);
  EXPECT_EQ(waits.devices[1].transfer_ns, 300);
  EXPECT_EQ(waits.devices[1].waiting_ns, 0);
  EXPECT_EQ(waits.devices[1].last, 2);
  ASSERT_EQ(waits.stragglers.size(), 1u);
  EXPECT_EQ(waits.stragglers[0].label, "GPU:1");
  EXPECT_EQ(waits.stragglers[0].collectives, 2);
  EXPECT_EQ(waits.stragglers[0].others_waited_ns, 200);
  EXPECT_THAT(WaitsText(waits, 0),
              testing::HasSubstr("GPU:1 came last to 2 of 2 collectives; the others waited 200 ns in all\n"));
}

// AllReduce 100-400 on GPU 0, which waits for 150 of that for GPU 1; a kernel runs beside the first 50. So it
// does nothing for 100, and is not idle otherwise: all of it is for the other rank.
TEST(WaitsTest, WaitingForARankWhereNothingElseRuns) {
  MadeTrace trace;
  trace.Kernel(0, 1, 1, 100, 400);
  trace.Kernel(0, 2, 0, 100, 150);
  trace.Kernel(1, 1, 1, 250, 400);
  const Waits waits = FindWaits(trace.run());
  EXPECT_EQ(waits.devices.at(0).waiting_ns, 150);
  EXPECT_EQ(waits.devices[0].for_ranks_ns, 100);
  EXPECT_EQ(waits.devices.at(1).for_ranks_ns, 0);
  EXPECT_EQ(
      waits.verdict,
      "rank-bound: GPU:0 waits for 100% of the time in which it does nothing for other ranks, most often "
      "for GPU:1");
}

// Stream 8 has a gap of 100 us and begins 1 us after stream 7 has ended, which was busy until then; launched
// long before. The second time it is a collective of stream 7.
TEST(WaitsTest, AGapOfAStreamThatWaitsForAnother) {
  for (const int name : {0, 1}) {
    MadeTrace trace;
    trace.Launched(8, 0, 1'000, 10'000, 20'000);
    trace.Launched(8, 1'000, 2'000, 120'000, 130'000);
    trace.Kernel(0, 7, name, 30'000, 119'000);
    const Waits waits = FindWaits(trace.run());
    const auto stream = std::ranges::find(waits.streams, 8, &StreamWaits::stream);
    ASSERT_NE(stream, waits.streams.end());
    EXPECT_EQ(stream->other_ns, 100'000);
    EXPECT_EQ(stream->for_streams_ns, name == 0 ? 100'000 : 0);
    EXPECT_EQ(stream->for_ranks_ns, name == 0 ? 0 : 100'000);
  }
}

// Collectives that one GPU has more often than another belong together where they end together.
TEST(WaitsTest, CollectivesThatDoNotMatchAreLeftAlone) {
  MadeTrace trace;
  trace.Kernel(0, 1, 1, 100'000, 400'000);
  trace.Kernel(0, 1, 1, 500'000, 600'000);
  trace.Kernel(1, 1, 1, 250'000, 400'000);
  const Waits waits = FindWaits(trace.run());
  EXPECT_EQ(waits.devices.at(0).collectives, 1);
  EXPECT_EQ(waits.devices[0].waiting_ns, 150'000);
  MadeTrace apart;
  apart.Kernel(0, 1, 1, 100'000, 400'000);
  apart.Kernel(0, 1, 1, 500'000, 600'000);
  apart.Kernel(1, 1, 1, 1'250'000, 1'400'000);
  EXPECT_EQ(FindWaits(apart.run()).devices.at(0).collectives, 0);
}

// nccl-tests (doc/PERFORMANCE.md): what a byte of the message is worth on the bus, of n ranks.
TEST(BusBandwidthTest, FactorsOfNcclTests) {
  EXPECT_EQ(BusFactor("AllReduce", 8), 2.0 * 7 / 8);
  EXPECT_EQ(BusFactor("AllGather", 8), 7.0 / 8);
  EXPECT_EQ(BusFactor("ReduceScatter", 4), 3.0 / 4);
  EXPECT_EQ(BusFactor("AllToAll", 2), 1.0 / 2);
  EXPECT_EQ(BusFactor("Broadcast", 8), 1);
  EXPECT_EQ(BusFactor("AllReduce", 1), 0);
  EXPECT_FALSE(BusFactor("AllReduce", 0));
  EXPECT_FALSE(BusFactor("Barrier", 8));
}

TEST(BusBandwidthTest, KindsAsProfilersCallThem) {
  EXPECT_EQ(CollectiveKind("allreduce_coalesced"), "AllReduce");
  EXPECT_EQ(CollectiveKind("_allgather_base"), "AllGather");
  EXPECT_EQ(CollectiveKind("_reduce_scatter_base"), "ReduceScatter");
  EXPECT_EQ(CollectiveKind("all_to_allv"), "AllToAll");
  EXPECT_EQ(CollectiveKind("send"), "Send");
  EXPECT_EQ(CollectiveKind("wait"), "wait");
}

// Two all-reduces of 3,000 bytes on 2 ranks, transfers of 150 ns each: 20 bytes a ns, on the bus 2 * 1/2 as
// much. A third on GPU 0 alone, of 4 ranks, 300 bytes in 100 ns: 3 bytes a ns at least, on the bus 4.5.
TEST(BusBandwidthTest, OfAllRanksAndOfSome) {
  MadeTrace trace;
  for (const auto& [device, start, end] : {std::tuple(0, 100, 400), std::tuple(0, 1000, 1200),
                                           std::tuple(1, 250, 400), std::tuple(1, 1050, 1200)}) {
    trace.Kernel(device, 1, 1, start, end);
    trace.Moves("allreduce", 3000, 2);
  }
  std::vector<CollectiveRow> rows = FindWaits(trace.run()).collectives;
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].count, 2);
  EXPECT_EQ(rows[0].ns, 300);
  EXPECT_FALSE(rows[0].waits);
  EXPECT_DOUBLE_EQ(rows[0].algorithm_bandwidth, 20e9);
  EXPECT_DOUBLE_EQ(rows[0].bus_bandwidth, 20e9);
  MadeTrace alone;
  alone.Kernel(0, 1, 1, 100, 200);
  alone.Moves("allreduce", 300, 4);
  const Waits waits = FindWaits(alone.run());
  ASSERT_EQ(waits.collectives.size(), 1u);
  EXPECT_TRUE(waits.collectives[0].waits);
  EXPECT_DOUBLE_EQ(waits.collectives[0].bus_bandwidth, 4.5e9);
  EXPECT_THAT(WaitsText(waits, 0), testing::HasSubstr(">= 4.5 GB/s"));
}

// The figures of HolisticTraceAnalysis 0.5.0: get_temporal_breakdown, get_idle_time_breakdown and
// get_queue_length_summary.
TEST(WaitsTest, AsHolisticTraceAnalysisHasThem) {
  const std::string file = SharedTrace("kineto", "worker0_step_12.1694128201545.pt.trace.json");
  if (file.empty()) GTEST_SKIP() << "no shared traces here";
  ScratchFile out("out.db");
  ImportTraces({file}, out.path());
  TraceRun run = TraceReader(out.path()).ReadRun(1);
  run.steps.clear();  // over the whole trace
  const Waits waits = FindWaits(run);
  ASSERT_EQ(waits.devices.size(), 1u);
  EXPECT_EQ(waits.devices[0].idle_ns, 6'419'000);
  EXPECT_EQ(waits.devices[0].window_ns, 13'009'000);
  struct Expected {
    int stream;
    int64_t host_us, kernel_us, other_us, max_queue;
  };
  for (const Expected& expected :
       {Expected{7, 11448, 123, 0, 25}, {22, 145, 0, 0, 1}, {24, 5906, 18, 0, 1}, {84, 4740, 3, 0, 1}}) {
    const auto stream = std::ranges::find(waits.streams, expected.stream, &StreamWaits::stream);
    ASSERT_NE(stream, waits.streams.end()) << expected.stream;
    EXPECT_EQ(stream->host_ns, expected.host_us * 1000) << expected.stream;
    EXPECT_EQ(stream->kernel_ns, expected.kernel_us * 1000) << expected.stream;
    EXPECT_EQ(stream->other_ns, expected.other_us * 1000) << expected.stream;
    EXPECT_EQ(stream->max_queue, expected.max_queue) << expected.stream;
  }
}

// Rank 1 begins with 64 kernels whose calls were made before the trace began. HolisticTraceAnalysis gives the
// 93 us between those to the host (17,449 and 115 us); launched long ago, they are the kernels' own here.
TEST(WaitsTest, GapsBeforeKernelsWithoutACallAreNotTheHosts) {
  const std::string file = SharedTrace("kineto", "worker1_step_12.1694128201556.pt.trace.json");
  if (file.empty()) GTEST_SKIP() << "no shared traces here";
  ScratchFile out("out.db");
  ImportTraces({file}, out.path());
  TraceRun run = TraceReader(out.path()).ReadRun(1);
  run.steps.clear();
  const Waits waits = FindWaits(run);
  const auto stream = std::ranges::find(waits.streams, 7, &StreamWaits::stream);
  ASSERT_NE(stream, waits.streams.end());
  EXPECT_EQ(stream->operations - stream->launched, 64);
  EXPECT_EQ(stream->host_ns, 17'449'000 - 93'000);
  EXPECT_EQ(stream->kernel_ns, 115'000 + 93'000);
}

}  // namespace
}  // namespace lanescope::traces
