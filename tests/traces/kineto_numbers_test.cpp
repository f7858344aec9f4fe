// SPDX-License-Identifier: Apache-2.0
// Numbers in traces of PyTorch's profiler: times, and what streams, threads and launches are called.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/file.h"
#include "tests/traces/imported.h"
#include "traces/import/kineto_events.h"
#include "traces/report/waits.h"

namespace lanescope::traces {
namespace {

std::string Event(const std::string& category, const std::string& name, const std::string& pid,
                  const std::string& tid, const std::string& start, const std::string& length,
                  const std::string& args = "") {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", "pid": )" + pid +
         R"(, "tid": )" + tid + R"(, "ts": )" + start + R"(, "dur": )" + length + R"(, "args": {)" + args +
         "}}";
}

Imported ImportOfEvents(const std::vector<std::string>& events, const std::string& beside = "") {
  std::string text = "{" + beside + "\"traceEvents\": [";
  for (const std::string& event : events) text += (text.ends_with("[") ? "" : ",\n") + event;
  ScratchFile in("numbers.json");
  WriteFile(in.path(), text + "]}");
  return ImportOf(in.path());
}

// us since 1970 with three decimals, of which a double keeps a quarter of a us.
TEST(KinetoNumbersTest, TimesSince1970KeepTheirNanoseconds) {
  const Imported imported = ImportOfEvents({Event("kernel", "a", "0", "7", "1714521600123466.001", "1.021"),
                                            Event("kernel", "b", "0", "7", "1714521600123467.054", "0.9995"),
                                            Event("kernel", "c", "0", "7", "\"1714521600123470.5\"", "2")});
  const auto& launches = imported.run.launches;
  EXPECT_EQ(launches.at(0).end_ns - launches.at(0).start_ns, 1021);
  EXPECT_EQ(launches.at(1).start_ns - launches.at(0).end_ns, 32);
  EXPECT_EQ(launches.at(1).end_ns - launches.at(1).start_ns, 1000);
  EXPECT_EQ(launches.at(2).start_ns - launches.at(0).start_ns, 4499);
  const Imported exponents =
      ImportOfEvents({Event("kernel", "a", "0", "7", "1.714521600123466001e+15", "1.021e0"),
                      Event("kernel", "b", "0", "7", "17145216001234.67054E2", "999.5e-3")});
  ASSERT_EQ(exponents.run.launches.size(), 2u);
  EXPECT_EQ(exponents.run.launches[0].end_ns - exponents.run.launches[0].start_ns, 1021);
  EXPECT_EQ(exponents.run.launches[1].start_ns - exponents.run.launches[0].end_ns, 32);
  EXPECT_EQ(exponents.run.launches[1].end_ns - exponents.run.launches[1].start_ns, 1000);
}

// Two kernels whose driver could not stamp them are left out; one of a trace that begins at 0 is not.
TEST(KinetoNumbersTest, ATimeOf0IsNone) {
  const auto kernel = [](const std::string& start, const std::string& length) {
    return Event("kernel", "k", "0", "7", start, length);
  };
  const std::string base = "\"baseTimeNanoseconds\": 1700000000000000000, ";
  for (const Imported& imported :
       {ImportOfEvents({kernel("1700000000000100", "150"), kernel("0", "0"), kernel("0", "5")}),
        ImportOfEvents(
            {kernel("100", "150"), kernel("-1700000000000000", "0"), kernel("-1700000000000000.0", "5")},
            base)}) {
    EXPECT_EQ(imported.counts.skipped, 2);
    EXPECT_EQ(imported.run.launches.size(), 1u);
    EXPECT_EQ(imported.summary.devices.at(0).window_ns, 150'000);
    EXPECT_THAT(imported.summary.notes,
                testing::Contains("2 records without a usable time or a name are left out"));
  }
  EXPECT_EQ(ImportOfEvents({kernel("0", "10"), kernel("20", "10")}).counts.kernels, 2);
}

// A call and an operator at 0 or before, where others are since 1970: 1.7e9 s before what they launched.
TEST(KinetoNumbersTest, ATimeOf0OfAHostIsNone) {
  const Imported imported =
      ImportOfEvents({Event("kernel", "k", "0", "7", "1700000000000100", "150", R"("correlation": 1)"),
                      Event("cuda_runtime", "cudaLaunchKernel", "9", "9", "0", "5", R"("correlation": 1)"),
                      Event("cpu_op", "aten::mm", "9", "9", "-1", "5")});
  EXPECT_EQ(imported.counts.skipped, 2);
  EXPECT_EQ(imported.counts.api_calls + imported.counts.ranges, 0);
  EXPECT_EQ(ImportOfEvents({Event("cpu_op", "aten::mm", "9", "9", "0", "0")}).counts.ranges, 1);
}

// As numbers, texts, and numbers with a point.
TEST(KinetoNumbersTest, NumbersOfTheFileMayBeTexts) {
  for (const std::string base : {"1700000000000000000", "\"1700000000000000000\"", "1700000000000000000.0"}) {
    const Imported imported = ImportOfEvents(
        {Event("kernel", "k", "0", "7", "-1700000000000000", "0"),
         Event("kernel", "k", "0", "7", "100", "150")},
        "\"baseTimeNanoseconds\": " + base + R"(, "distributedInfo": {"rank": "3", "world_size": "8"}, )");
    EXPECT_EQ(imported.counts.skipped, 1) << base;
    ASSERT_EQ(imported.run.ranks.size(), 1u);
    EXPECT_EQ(imported.run.ranks[0].rank, 3);
  }
}

// Handles of 64 bits, as numbers and as texts, have numbers of their own and keep their names.
TEST(KinetoNumbersTest, StreamsMayBeHandles) {
  const auto kernel = [](const std::string& stream, const std::string& start) {
    return Event("kernel", "k", "0", stream, start, "300", R"("device": 0, "stream": )" + stream);
  };
  const Imported imported = ImportOfEvents({kernel("94012345678912", "100"), kernel("94012345999616", "150"),
                                            kernel("18446744073709551615", "500"), kernel("7", "900"),
                                            kernel("\"94012345678912\"", "1300")});
  ASSERT_EQ(imported.run.launches.size(), 5u);
  std::map<int, std::string> names;
  for (const TraceStream& stream : imported.run.streams)
    names[stream.stream] = imported.run.Text(stream.name);
  EXPECT_EQ(imported.run.launches[0].stream, imported.run.launches[4].stream);
  EXPECT_EQ(names.at(imported.run.launches[0].stream), "stream 94012345678912");
  EXPECT_EQ(names.at(imported.run.launches[1].stream), "stream 94012345999616");
  EXPECT_EQ(names.at(imported.run.launches[2].stream), "stream 18446744073709551615");
  EXPECT_EQ(imported.run.launches[3].stream, 7);
  EXPECT_EQ(names.size(), 3u);
}

// As PyTorch 1.8 writes them: add is open on thread 301 while conv is on 300.
TEST(KinetoNumbersTest, ThreadsMayBeTextsAndHandles) {
  for (const std::string other : {"\"301\"", "139912345678912"}) {
    const Imported imported = ImportOfEvents(
        {Event("Operator", "conv", "300", "\"300\"", "1000", "1000"),
         Event("Operator", "add", "300", other, "1400", "200"),
         Event("Runtime", "cudaLaunchKernel", "300", "\"300\"", "1500", "5", R"("correlation": 1)"),
         Event("Runtime", "cudaLaunchKernel", "300", other, "1550", "5", R"("correlation": "2")"),
         Event("Kernel", "c", "0", "\"stream 7\"", "1600", "300", R"("device": 0, "correlation": 1)"),
         Event("Kernel", "a", "0", "\"stream 7\"", "1900", "50", R"("device": 0, "correlation": 2)")});
    const TraceRun& run = imported.run;
    EXPECT_EQ(run.Text(run.ranges.at(static_cast<size_t>(run.launches.at(0).range)).text), "conv");
    EXPECT_EQ(run.Text(run.ranges.at(static_cast<size_t>(run.launches.at(1).range)).text), "add");
    EXPECT_EQ(run.launches[0].stream, 7);
    EXPECT_EQ(run.ranges[0].global_tid & 0xffffff, 300);
    EXPECT_NE(run.ranges[1].global_tid, run.ranges[0].global_tid);
  }
}

// Two steps; the kernels of NCCL have correlation 0, and the second runs when the host is in no step any
// more.
TEST(KinetoNumbersTest, ACorrelationOf0IsNone) {
  std::vector<std::string> events;
  for (int step = 0; step < 2; ++step) {
    const int at = 1000 * step;
    const auto text = [at](int time) { return std::to_string(at + time); };
    const std::string correlation = std::to_string(step + 1);
    events.push_back(
        Event("user_annotation", "ProfilerStep#" + std::to_string(step), "9", "9", text(0), "500"));
    events.push_back(
        Event("cuda_runtime", "hipLaunchKernel", "9", "9", text(10), "4", "\"correlation\": " + correlation));
    events.push_back(Event("kernel", "gemm", "0", "0", text(100), "300", "\"correlation\": " + correlation));
    events.push_back(Event("cuda_runtime", "hipLaunchKernel", "9", "9", text(20), "4", "\"correlation\": 0"));
    events.push_back(Event("kernel", "ncclAllReduce", "0", "3", text(700), "100", "\"correlation\": 0"));
  }
  const TraceRun run = ImportOfEvents(events).run;
  ASSERT_EQ(run.steps.size(), 2u);
  for (const TraceLaunch& launch : run.launches)
    EXPECT_EQ(launch.step, launch.start_ns < 1'000'000 - 10'000 ? 0 : 1) << launch.start_ns;
}

// Both were handed from GPU 1 to GPU 0, one by each.
TEST(KinetoNumbersTest, CopiesBetweenDevicesSayTheirEnds) {
  const auto copy = [](const std::string& by) {
    return Event("gpu_memcpy", "Memcpy PtoP (Device -> Device)", by, "20", "1200", "50",
                 R"("fromDevice": 1, "toDevice": 0, "bytes": 1024, "inDevice": )" + by);
  };
  const Imported imported = ImportOfEvents({copy("1"), copy("0")});
  for (const TraceCopy& each : imported.run.copies) {
    EXPECT_EQ(each.src, 1);
    EXPECT_EQ(each.dst, 0);
    EXPECT_EQ(each.copy_class, CopyClass::kDeviceToDevice);
  }
  EXPECT_EQ(imported.run.copies.at(1).device, 0);
  ASSERT_EQ(imported.summary.traffic.size(), 1u);
  EXPECT_EQ(imported.summary.traffic[0].bytes, 2048);
}

TEST(KinetoNumbersTest, CopiesAsIntelCallsThem) {
  EXPECT_EQ(ParseCopyName("Memcpy M2D").kind, 1);
  EXPECT_EQ(ParseCopyName("zeCommandListAppendMemoryCopy(D2M)").kind, 2);
  EXPECT_EQ(ParseCopyName("Memcpy H2D (Pinned -> Device)").kind, 1);
  EXPECT_EQ(ParseCopyName("Memcpy D2D").kind, 8);
  EXPECT_EQ(ParseCopyName("M2H").kind, 9);
  EXPECT_EQ(ParseCopyName("Memcpy2DAsync").kind, 0);
}

// Ten nodes of 20 us one after the other and a branch of 200 us beside them, all on the stream of the launch.
TEST(KinetoNumbersTest, AStreamIsBusyOnceHoweverManyBranchesRun) {
  std::vector<std::string> events = {
      Event("cuda_runtime", "cudaGraphLaunch", "9", "9", "10", "50", "\"correlation\": 1")};
  const auto node = [&](int number, int start, int length) {
    events.push_back(Event(
        "kernel", "k", "0", "7", std::to_string(start), std::to_string(length),
        "\"stream\": 7, \"correlation\": 1, \"graph id\": 5, \"graph node id\": " + std::to_string(number)));
  };
  for (int i = 0; i < 10; ++i) node(100 + i, 100 + 24 * i, 20);
  node(200, 100, 200);
  const TraceRun run = ImportOfEvents(events).run;
  const Waits waits = FindWaits(run);
  ASSERT_EQ(waits.streams.size(), 1u);
  EXPECT_EQ(waits.streams[0].busy_ns, 232'000);
}

}  // namespace
}  // namespace lanescope::traces
