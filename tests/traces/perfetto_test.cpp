// SPDX-License-Identifier: Apache-2.0
// Files in Perfetto's format, made here with their truth beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "core/base/protobuf_wire.h"
#include "tests/traces/imported.h"
#include "traces/import/importer.h"

namespace lanescope::traces {
namespace {

constexpr int64_t kZero = 1'000'000'000'000;  // ns

std::string Packet(const WireWriter& packet) { return WireWriter().Nested(1, packet).bytes(); }

std::string Track(int64_t id, const std::string& name) {
  return Packet(WireWriter().Nested(60, WireWriter().Signed(1, id).Bytes(2, name)));
}

struct Note {
  std::string name;
  int64_t number = 0;
  std::string text = {};
};

// A slice as rocprofv3 writes it: begin and end one behind the other. Times are us.
std::string Slice(int64_t track, const std::string& category, const std::string& name, int64_t start,
                  int64_t end, const std::vector<Note>& notes) {
  WireWriter event;
  event.Signed(9, 1).Signed(11, track).Bytes(22, category).Bytes(23, name);
  for (const Note& note : notes) {
    WireWriter written;
    written.Bytes(10, note.name);
    if (note.text.empty()) written.Signed(3, note.number);
    if (!note.text.empty()) written.Bytes(6, note.text);
    event.Nested(4, written);
  }
  return Packet(WireWriter().Signed(8, kZero + 1000 * start).Nested(11, event)) +
         Packet(WireWriter()
                    .Signed(8, kZero + 1000 * end)
                    .Nested(11, WireWriter().Signed(9, 2).Signed(11, track)));
}

Imported ImportOfBytes(const std::string& bytes) {
  ScratchFile in("rocprof.pftrace");
  WriteFile(in.path(), bytes);
  EXPECT_EQ(FormatOf(in.path()), "Perfetto");
  return ImportOf(in.path());
}

// The call of thread 79 launches 100 blocks of 64 threads on stream 3 of the second agent that is a GPU, and
// 4 KiB go there from the host, and from there to the first. Tracks are described at the end.
std::string OfRocprof() {
  return Slice(3, "hip_api", "hipLaunchKernel", 0, 5, {{"corr_id", 7}, {"tid", 79}}) +
         Slice(1, "kernel_dispatch", "void gemm<4>(float*)", 20, 120,
               {{"corr_id", 7}, {"agent", 0, "Agent-5"}, {"workgroup_size", 64}, {"grid_size", 6400}}) +
         Slice(2, "memory_copy", "MEMORY_COPY_HOST_TO_DEVICE", 200, 210,
               {{"src_agent", 0, "Agent-0"}, {"dst_agent", 0, "Agent-5"}, {"copy_bytes", 4096}}) +
         Slice(4, "memory_copy", "MEMORY_COPY_DEVICE_TO_DEVICE", 220, 230,
               {{"src_agent", 0, "Agent-5"}, {"dst_agent", 0, "Agent-4"}, {"copy_bytes", 4096}}) +
         Track(1, "COMPUTE AGENT [5] STREAM [3] (GPU)") + Track(2, "COPY to AGENT [5] STREAM [3] (GPU)") +
         Track(4, "COPY to AGENT [4] STREAM [3] (GPU)") + Track(3, "THREAD 1 (79)");
}

TEST(PerfettoTest, KernelsCopiesAndCallsOfRocprof) {
  const auto [counts, run, summary] = ImportOfBytes(OfRocprof());
  ASSERT_EQ(run.launches.size(), 1u);
  const TraceLaunch& launch = run.launches[0];
  EXPECT_EQ(run.Text(launch.op), "gemm");
  EXPECT_EQ(launch.device, 1);
  EXPECT_EQ(launch.stream, 3);
  EXPECT_EQ(launch.end_ns - launch.start_ns, 100'000);
  ASSERT_EQ(launch.api, 0);
  EXPECT_EQ(run.Text(run.api_calls.at(0).name), "hipLaunchKernel");
  ASSERT_EQ(run.copies.size(), 2u);
  EXPECT_EQ(run.copies[0].bytes, 4096);
  EXPECT_EQ(run.copies[0].src, kHostDevice);
  EXPECT_EQ(run.copies[0].dst, 1);
  EXPECT_EQ(run.copies[1].src, 1);
  EXPECT_EQ(run.copies[1].dst, 0);
}

// Texts by number, defaults of the writer, and a clock in us that counts on from packet to packet; the tracks
// stand in a circle. Slices of any tool are ranges of their thread.
TEST(PerfettoTest, SlicesOfOtherToolsAreRanges) {
  const auto clock = [](int64_t id, int64_t time) { return WireWriter().Signed(1, id).Signed(2, time); };
  const auto event = [](int type) { return WireWriter().Signed(9, type); };
  const auto packet = [](int64_t us, const WireWriter& of) {
    return Packet(WireWriter().Signed(8, us).Signed(10, 2).Nested(11, of));
  };
  const std::string bytes =
      Packet(WireWriter()
                 .Signed(10, 2)
                 .Signed(13, 1)
                 .Nested(6, WireWriter()
                                .Nested(1, clock(6, kZero))
                                .Nested(1, clock(64, 5'000'000).Signed(3, 1).Signed(4, 1000)))
                 .Nested(59, WireWriter().Signed(58, 64).Nested(11, WireWriter().Signed(11, 20)))
                 .Nested(12, WireWriter().Nested(2, WireWriter().Signed(1, 1).Bytes(2, "outer")))) +
      Packet(WireWriter().Nested(60, WireWriter().Signed(1, 20).Signed(5, 21).Nested(
                                         4, WireWriter().Signed(1, 9).Signed(2, 10).Bytes(5, "worker")))) +
      Packet(WireWriter().Nested(60, WireWriter().Signed(1, 21).Signed(5, 20))) +
      packet(10, event(1).Signed(10, 1)) + packet(5, event(1).Bytes(23, "inner")) + packet(5, event(2)) +
      packet(5, event(2)) + packet(1, event(3).Bytes(23, "tick"));
  const auto [counts, run, summary] = ImportOfBytes(bytes);
  EXPECT_EQ(counts.left_out.at("instants"), 1);
  ASSERT_EQ(run.ranges.size(), 2u);
  EXPECT_EQ(run.Text(run.ranges[0].text), "outer");
  EXPECT_EQ(run.ranges[0].end_ns - run.ranges[0].start_ns, 15'000);
  EXPECT_EQ(run.Text(run.ranges[1].text), "inner");
  EXPECT_EQ(run.ranges[1].start_ns - run.ranges[0].start_ns, 5'000);
  EXPECT_EQ(run.ranges[0].global_tid & 0xffffff, 10);
  ASSERT_EQ(run.threads.size(), 1u);
  EXPECT_EQ(run.Text(run.threads[0].name), "worker");
}

// Ends without a begin, begins without an end, times that are none; cut off anywhere, and other bytes in any
// place: read, or refused in a line.
TEST(PerfettoTest, HostileFiles) {
  const auto end = Packet(WireWriter().Signed(8, 5).Nested(11, WireWriter().Signed(9, 2)));
  const auto begin = Packet(WireWriter().Signed(8, 7).Nested(11, WireWriter().Signed(9, 1).Bytes(23, "a")));
  const auto timeless =
      Packet(WireWriter().Signed(8, -1).Nested(11, WireWriter().Signed(9, 1).Bytes(23, "a")));
  EXPECT_EQ(ImportOfBytes(end + begin + timeless).counts.skipped, 3);
  ScratchFile in("rocprof.pftrace");
  WriteFile(in.path(), Track(1, "a"));
  EXPECT_EQ(CodeOfImport(in.path(), "holds no slices"), Code::kInvalidArgument);
  const std::string whole = OfRocprof();
  WriteFile(in.path(), whole.substr(0, whole.size() - 3));
  EXPECT_EQ(CodeOfImport(in.path(), "is damaged"), Code::kDataLoss);
  for (size_t at = 0; at < whole.size(); at += 11) {
    std::string changed = whole;
    changed[at] = static_cast<char>(0xff);
    WriteFile(in.path(), changed);
    ScratchFile out("out.db");
    try {
      ImportTraces({in.path()}, out.path());
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == Code::kDataLoss || error.code() == Code::kInvalidArgument);
    }
  }
}

}  // namespace
}  // namespace lanescope::traces
