// SPDX-License-Identifier: Apache-2.0
// Files of PyTorch's ExecutionTraceObserver, alone and beside the profiler's trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/traces/imported.h"
#include "traces/import/importer.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

std::string Tensor(int storage) {
  return "[" + std::to_string(100 + storage) + ", " + std::to_string(storage) + R"(, 0, 8, 4, "cuda:0"])";
}

// A node as newer files have it.
std::string Node(int id, int parent, int number, const std::string& name, const std::string& reads,
                 const std::string& writes) {
  return R"({"id": )" + std::to_string(id) + R"(, "name": ")" + name + R"(", "ctrl_deps": )" +
         std::to_string(parent) + R"(, "inputs": {"values": [)" + reads +
         R"(], "shapes": [[2, 4]], "types": ["Tensor"]}, "outputs": {"values": [)" + writes +
         R"(], "shapes": [], "types": []}, "attrs": [{"name": "rf_id", "type": "uint64", "value": )" +
         std::to_string(number) + R"(}, {"name": "tid", "type": "uint64", "value": 1}]})";
}

std::string File(const std::vector<std::string>& nodes, const std::string& pid = "77") {
  std::string text = R"({"schema": "1.1.1-chakra.0.0.4", "pid": )" + pid + R"(, "nodes": [)";
  for (const std::string& node : nodes) text += (text.ends_with("[") ? "" : ",") + node;
  return text + "]}";
}

// linear runs addmm, which writes storage 1; relu reads that in a list, and writes it in its place. Nodes
// stand in the order in which they ended.
const std::vector<std::string>& Network() {
  static const std::vector<std::string> kNodes = {
      Node(1, 1, 0, "[pytorch|profiler|execution_trace|process]", "", ""),
      Node(4, 3, 12, "aten::addmm", Tensor(9), Tensor(1)),
      Node(3, 1, 11, "aten::linear", Tensor(9), Tensor(1)),
      Node(5, 1, 13, "aten::relu", "[" + Tensor(1) + ", 3]", Tensor(1)),
      Node(6, 1, 14, "aten::sum", Tensor(1), Tensor(2))};
  return kNodes;
}

std::vector<std::pair<std::string, std::string>> UsesIn(const std::string& path) {
  Database database(path, OpenMode::kReadOnly);
  Statement rows(
      database,
      "SELECT r.value, w.value FROM LANESCOPE_TENSOR_USE u JOIN NVTX_EVENTS a ON a.eventId = u.eventId "
      "JOIN NVTX_EVENTS b ON b.eventId = u.writerId JOIN StringIds r ON r.id = a.textId "
      "JOIN StringIds w ON w.id = b.textId ORDER BY u.eventId, u.writerId");
  std::vector<std::pair<std::string, std::string>> uses;
  while (rows.Step()) uses.emplace_back(rows.Text(0), rows.Text(1));
  return uses;
}

// Each operator without others in it takes 1 us; whoever reads a tensor waits for who wrote it last.
TEST(ExecutionTraceTest, AloneItIsLaidOutInOrder) {
  ScratchFile in("et.json");
  WriteFile(in.path(), File(Network()));
  ASSERT_EQ(FormatOf(in.path()), "execution trace");
  ScratchFile out("out.db");
  const ImportCounts counts = ImportTraces({in.path()}, out.path());
  EXPECT_EQ(counts.ranges, 4);
  EXPECT_EQ(counts.operators, 4);
  EXPECT_EQ(counts.laid_out, 1);
  const TraceRun run = TraceReader(out.path()).ReadRun(1);
  EXPECT_EQ(OriginOfTimes(run.info), "laid out, not measured");
  ASSERT_EQ(run.ranges.size(), 4u);
  const std::vector<std::pair<std::string, int64_t>> expected = {
      {"aten::linear", 0}, {"aten::addmm", 0}, {"aten::relu", 1000}, {"aten::sum", 2000}};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(run.Text(run.ranges[i].text), expected[i].first);
    EXPECT_EQ(run.ranges[i].start_ns, expected[i].second);
    EXPECT_EQ(run.ranges[i].end_ns, expected[i].second + 1000);
  }
  EXPECT_THAT(UsesIn(out.path()), testing::ElementsAre(testing::Pair("aten::relu", "aten::linear"),
                                                       testing::Pair("aten::sum", "aten::relu")));
  EXPECT_THAT(Summarize(out.path(), 1).notes, testing::Contains(testing::HasSubstr("not when or how long")));
}

// Older files have what a node says beside its name.
TEST(ExecutionTraceTest, OlderNodes) {
  ScratchFile in("et.json");
  WriteFile(in.path(),
            File({R"({"name": "aten::mm", "id": 5, "rf_id": 2, "parent": 1, "tid": 1, "inputs": [)" +
                  Tensor(1) + R"(], "input_shapes": [[8]], "input_types": ["Tensor"],
                             "outputs": [)" +
                  Tensor(2) + R"(], "output_shapes": [[8]], "output_types": []})"}));
  const Imported imported = ImportOf(in.path());
  ASSERT_EQ(imported.run.operators.size(), 1u);
  EXPECT_EQ(imported.run.Text(imported.run.operators[0].shapes), "[[8]]");
}

// The profiler's trace has the times, in a folder with it or named with it. An operator of another name is
// none of its own, and a trace of another process is left out.
TEST(ExecutionTraceTest, BesideTheProfilersTraceItSaysWhatThatLacks) {
  ScratchFile folder("pair");
  std::filesystem::create_directories(folder.path());
  const auto op = [](const std::string& name, int number, int start) {
    return R"({"ph": "X", "cat": "cpu_op", "name": ")" + name + R"(", "pid": 77, "tid": 77, "ts": )" +
           std::to_string(start) + R"(, "dur": 50, "args": {"Record function id": 0, "External id": )" +
           std::to_string(number) + "}}";
  };
  WriteFile(folder.path() + "/kineto.json",
            R"({"schemaVersion": 1, "traceEvents": [)" + op("aten::linear", 11, 100) + "," +
                op("aten::relu", 13, 200) + "," + op("aten::mul", 14, 300) + "]}");
  WriteFile(folder.path() + "/et.json", File(Network()));
  WriteFile(folder.path() + "/other.json", File(Network(), "78"));
  ScratchFile out("out.db");
  const ImportCounts counts = ImportTraces({folder.path()}, out.path());
  EXPECT_EQ(counts.ranges, 3);
  EXPECT_EQ(counts.operators, 2);
  EXPECT_THAT(counts.other_files, testing::ElementsAre("other.json"));
  EXPECT_THAT(UsesIn(out.path()), testing::ElementsAre(testing::Pair("aten::relu", "aten::linear")));
  const TraceRun run = TraceReader(out.path()).ReadRun(1);
  EXPECT_EQ(run.ranges.at(1).start_ns, 100'000);
  EXPECT_THAT(Summarize(out.path(), 1).notes,
              testing::Contains("2 operators have shapes, types and who wrote their tensors from et.json"));
  std::filesystem::remove_all(folder.path());
}

// Parents in a circle, of no one, and numbers that are none: read, or refused in a line.
TEST(ExecutionTraceTest, HostileFiles) {
  ScratchFile in("et.json");
  WriteFile(in.path(),
            File({Node(2, 3, 1, "a", Tensor(1), Tensor(1)), Node(3, 2, 2, "b", Tensor(1), Tensor(1)),
                  Node(3, 3, 2, "c", "[[[1]]]", R"([1, "a"])"), Node(4, 999, -5, "d", "", "")}));
  EXPECT_EQ(ImportOf(in.path()).counts.ranges, 4);
  WriteFile(in.path(), File({}));
  EXPECT_EQ(CodeOfImport(in.path(), "holds no operators"), Code::kInvalidArgument);
  WriteFile(in.path(), File(Network()).substr(0, 700));
  EXPECT_EQ(CodeOfImport(in.path(), "is no JSON, or damaged: parse error at line"), Code::kDataLoss);
  WriteFile(in.path(), R"({"schema": 1, "nodes": [3, "a", {"id": 1}, {"name": "a", "inputs": 3}]})");
  EXPECT_EQ(ImportOf(in.path()).counts.skipped, 1);
}

}  // namespace
}  // namespace lanescope::traces
