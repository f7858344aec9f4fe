// SPDX-License-Identifier: Apache-2.0
// PyTorch's memory snapshots: what a device holds, when it holds most, and who asked for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "tests/traces/imported.h"

namespace lanescope::traces {
namespace {

using testing::HasSubstr;

// Python's pickle, protocol 4, of a value each.
std::string Little(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}
std::string Text(const std::string& text) {
  return std::string("\x8c") + static_cast<char>(text.size()) + text + "\x94";
}
std::string Number(int64_t value) { return "\x8a\x08" + Little(static_cast<uint64_t>(value), 8); }
std::string List(const std::vector<std::string>& elements) {
  std::string text = "]\x94(";
  for (const std::string& element : elements) text += element;
  return text + "e";
}
std::string Dictionary(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string text = "}\x94(";
  for (const auto& [key, value] : entries) text += Text(key) + value;
  return text + "u";
}
std::string File(const std::string& value) {
  const std::string body = value + ".";
  return "\x80\x04\x95" + Little(body.size(), 8) + body;
}

std::string Frames(const std::string& file, int line) {
  const auto frame = [](const std::string& path, int number, const std::string& name) {
    return Dictionary({{"filename", Text(path)}, {"line", Number(number)}, {"name", Text(name)}});
  };
  return List({frame("??", 0, "empty"), frame("/usr/lib/torch/nn/functional.py", 9, "linear"),
               frame(file, line, "forward")});
}
std::string Entry(const std::string& action, int64_t address, int64_t bytes, int64_t time_us, int line) {
  return Dictionary({{"action", Text(action)},
                     {"addr", Number(address)},
                     {"size", Number(bytes)},
                     {"time_us", Number(time_us)},
                     {"frames", Frames("/home/me/model.py", line)}});
}
std::string Snapshot(const std::vector<std::string>& entries) {
  const std::string kept = Dictionary({{"address", Number(4096)},
                                       {"size", Number(1000)},
                                       {"state", Text("active_allocated")},
                                       {"frames", Frames("/home/me/train.py", 3)}});
  return Dictionary({{"segments", List({Dictionary({{"device", Number(0)}, {"blocks", List({kept})}})})},
                     {"device_traces", List({List(entries)})}});
}

// 1,000 bytes are kept from before the history. 5,000 and 3,000 more make the peak after 20 us; 5,000 go, and
// the address is used again.
TEST(MemorySnapshotTest, WhatHoldsThePeak) {
  ScratchFile in("snapshot.pickle"), out("out.db");
  WriteFile(in.path(), File(Snapshot({Entry("alloc", 8192, 5000, 1'000'000, 7),
                                      Entry("alloc", 16384, 3000, 1'000'020, 8),
                                      Entry("free_requested", 8192, 5000, 1'000'030, 7),
                                      Entry("free_completed", 8192, 5000, 1'000'040, 7),
                                      Entry("alloc", 8192, 100, 1'000'050, 9)})));
  ASSERT_EQ(FormatOf(in.path()), "memory snapshot");
  EXPECT_EQ(ImportTraces({in.path()}, out.path()).memory, 4);
  const TraceRun run = TraceReader(out.path()).ReadRun(1);
  std::vector<std::pair<int64_t, int64_t>> points;
  for (const TraceMemoryPoint& point : run.memory) points.emplace_back(point.time_ns, point.bytes);
  EXPECT_THAT(points, testing::ElementsAre(std::pair(0, 6000), std::pair(20'000, 9000),
                                           std::pair(40'000, 4000), std::pair(50'000, 4100)));
  EXPECT_THAT(Summarize(out.path(), 1).notes,
              testing::Contains(testing::AllOf(
                  HasSubstr("GPU:0 holds 8.789 KiB at most, 20 us after the first record"),
                  HasSubstr("4.883 KiB of model.py(7): forward, 2.93 KiB of model.py(8): forward, 1000 B of "
                            "train.py(3): forward"))));
}

// Nothing of the file is run, whatever it asks for; what ends early or says nothing is refused in one line.
TEST(MemorySnapshotTest, HostileFilesAreRefused) {
  ScratchFile in("snapshot.pickle");
  const auto refused = [&](const std::string& bytes, Code code, const std::string& text) {
    WriteFile(in.path(), bytes);
    EXPECT_EQ(CodeOfImport(in.path(), text), code) << text;
  };
  refused(
      "\x80\x02"
      "cposix\nsystem\n(U\x02ls\x85R.",
      Code::kInvalidArgument, "opcode 99");
  refused(File("e"), Code::kDataLoss, "a mark is missing");
  refused(File("]]K\x01s"), Code::kDataLoss, "an element of what holds none");
  refused(File("h\x05"), Code::kDataLoss, "beyond the last");
  refused(File("(K\x01"
               "e"),
          Code::kDataLoss, "its stack is empty");
  refused(File(Dictionary({})), Code::kInvalidArgument, "no memory snapshot");
  refused(File(Snapshot({})), Code::kInvalidArgument, "no history");
  const std::string whole = File(Snapshot({Entry("alloc", 1, 2, 3, 4)}));
  for (size_t size = 2; size < whole.size(); size += 13)
    refused(whole.substr(0, size), Code::kDataLoss, "ends early");
}

}  // namespace
}  // namespace lanescope::traces
