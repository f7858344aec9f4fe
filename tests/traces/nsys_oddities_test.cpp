// SPDX-License-Identifier: Apache-2.0
// Unusual exports of Nsight Systems: graphs traced as a whole, times since 1970, tables
// and columns of other shapes, defaults where nothing was known.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "core/base/error.h"
#include "core/runs/run_diff.h"
#include "tests/traces/nsys_export.h"
#include "tests/traces/sample_run.h"
#include "traces/read/trace_reader.h"
#include "traces/read/trace_view.h"
#include "traces/report/summary.h"

namespace lanescope::traces {
namespace {

std::map<std::string, RangeRow> RangesOf(const std::string& path) {
  SummaryOptions options;
  options.ranges = true;
  std::map<std::string, RangeRow> rows;
  for (const RangeRow& row : Summarize(path, 1, options).ranges) rows[row.name] = row;
  return rows;
}

std::map<std::pair<std::string, std::string>, int64_t> BytesByRoute(const std::string& path) {
  std::map<std::pair<std::string, std::string>, int64_t> bytes;
  for (const TrafficRow& row : Summarize(path, 1).traffic) bytes[{row.src, row.dst}] = row.bytes;
  return bytes;
}

// nsys's default: a launch of a graph is one row, and its kernels have none. Graph 5 runs 100-900 and
// 1000-1900 on GPU 0; the first launch, at 60, lies in the range "decode", the second, at 950, in none.
TEST(NsysOdditiesTest, GraphsTracedAsAWholeAreActivities) {
  ScratchFile file;
  const std::string pid = std::to_string(kPid1), thread = std::to_string(kPid1 | 101);
  {
    NsysExport out(file.path(), ExportVersions()[4]);
    out.Execute(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, "
        "streamId "
        "INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER, graphExecId INTEGER)");
    for (const auto& [times, id] : {std::pair("100, 900", "1"), std::pair("1000, 1900", "2")}) {
      out.Execute(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES ({}, 0, 7, {}, {}, 5, 6)",
                              times, id, pid));
    }
    const std::string launch = out.Text("cudaGraphLaunch_v10000");
    for (const auto& [start, end, id] : {std::tuple("60", "70", "1"), std::tuple("950", "960", "2")}) {
      out.Call(
          {{"start", start}, {"end", end}, {"globalTid", thread}, {"correlationId", id}, {"nameId", launch}});
    }
    out.Range(
        {{"start", "50"}, {"end", "80"}, {"eventType", "59"}, {"globalTid", thread}, {"text", "'decode'"}});
  }
  const Summary summary = Summarize(file.path(), 1);
  ASSERT_EQ(summary.gpu_activities.size(), 1u);
  EXPECT_EQ(summary.gpu_activities[0].name, "[CUDA graph 5]");
  EXPECT_EQ(summary.gpu_activities[0].type, "graph");
  EXPECT_EQ(summary.gpu_activities[0].total_ns, 800 + 900);
  EXPECT_EQ(summary.gpu_activities[0].calls, 2);
  ASSERT_EQ(summary.devices.size(), 1u);
  EXPECT_EQ(summary.devices[0].compute_ns, 1700);
  EXPECT_EQ(summary.devices[0].idle_ns, 100);
  EXPECT_EQ(summary.bound->name, "compute");
  ASSERT_EQ(summary.notes.size(), 1u);
  EXPECT_NE(summary.notes[0].find("2 launches of CUDA graphs"), std::string::npos) << summary.notes[0];
  EXPECT_EQ(RangesOf(file.path())["decode"].kernel_ns, 800);
  EXPECT_EQ(RangesOf(file.path())["(outside all ranges)"].kernel_ns, 900);
  const RunProfile profile = ProfileRun(ViewOfRun(TraceReader(file.path()).ReadRun(1)));
  EXPECT_EQ(DiffRuns(profile, profile).parts_a.compute_ns, 1700);
}

// `nsys export --ts-normalize=true` counts from 1970.
TEST(NsysOdditiesTest, TimesCanCountFrom1970) {
  ScratchFile file;
  {
    NsysExport out(file.path(), ExportVersions()[4]);
    const std::string name = out.Text("gemm");
    for (const auto& [start, end] : {std::pair("1750000000000000000", "1750000000000000400"),
                                     std::pair("1750000000000000700", "1750000000000001000")}) {
      out.Kernel({{"start", start}, {"end", end}, {"shortName", name}, {"demangledName", name}});
    }
  }
  const Summary summary = Summarize(file.path(), 1);
  EXPECT_EQ(summary.invalid_rows, 0);
  ASSERT_EQ(summary.devices.size(), 1u);
  EXPECT_EQ(summary.devices[0].window_ns, 1000);
  EXPECT_EQ(summary.devices[0].compute_ns, 700);
  EXPECT_EQ(TraceReader(file.path()).ReadRun(1).launches.size(), 2u);
}

TEST(NsysOdditiesTest, TablesWithoutRowNumbers) {
  ScratchFile file;
  Database(file.path(), OpenMode::kCreate)
      .Execute(
          "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES (1, "
          "'k');"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER PRIMARY KEY, end INTEGER, deviceId "
          "INTEGER, "
          "shortName INTEGER) WITHOUT ROWID; INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 40, 1, 1), "
          "(50, "
          "60, 1, 1)");
  const Summary summary = Summarize(file.path(), 1);
  ASSERT_EQ(summary.gpu_activities.size(), 1u);
  EXPECT_EQ(summary.gpu_activities[0].total_ns, 50);
  EXPECT_EQ(TraceReader(file.path()).ReadRun(1).launches.size(), 2u);
}

// Times and a name or a size are enough; what has no device is on GPU 0.
TEST(NsysOdditiesTest, ColumnsThatAreNotThere) {
  ScratchFile file;
  Database(file.path(), OpenMode::kCreate)
      .Execute(
          "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES (1, "
          "'k');"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, shortName INTEGER);"
          "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 40, 1);"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, bytes INTEGER, copyKind "
          "INTEGER);"
          "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (50, 60, 7, 1)");
  const Summary summary = Summarize(file.path(), 1);
  ASSERT_EQ(summary.devices.size(), 1u);
  EXPECT_EQ(summary.devices[0].device, "GPU:0");
  EXPECT_EQ(summary.devices[0].compute_ns, 40);
  EXPECT_EQ((BytesByRoute(file.path())[{"host", "GPU:0"}]), 7);
}

// The full name, else the short one, else none; the same in one pass over the file and in memory.
TEST(NsysOdditiesTest, KernelsWithoutNames) {
  ScratchFile file;
  {
    NsysExport out(file.path(), ExportVersions()[4]);
    const std::string full = out.Text("void f<int>()"), brief = out.Text("g");
    out.Kernel({{"start", "0"}, {"end", "1"}, {"demangledName", full}, {"shortName", brief}});
    out.Kernel({{"start", "2"}, {"end", "4"}, {"demangledName", "NULL"}, {"shortName", brief}});
    out.Kernel({{"start", "5"},
                {"end", "9"},
                {"demangledName", "NULL"},
                {"shortName", "NULL"},
                {"mangledName", "NULL"}});
  }
  SummaryOptions in_memory;
  in_memory.operations = true;
  for (const SummaryOptions& options : {SummaryOptions(), in_memory}) {
    std::map<std::string, int64_t> ns;
    for (const SummaryRow& row : Summarize(file.path(), 1, options).gpu_activities)
      ns[row.name] = row.total_ns;
    EXPECT_EQ(ns, (std::map<std::string, int64_t>{{"void f<int>()", 1}, {"g", 2}, {"no name", 4}}));
  }
}

// A name is text of the file: on a terminal it must neither break the table nor command anything.
TEST(NsysOdditiesTest, NamesWithControlCharacters) {
  ScratchFile file;
  {
    NsysExport out(file.path(), ExportVersions()[4]);
    const std::string name = out.Text("k\n\x1b[31mred");
    out.Kernel({{"start", "0"}, {"end", "1"}, {"demangledName", name}, {"shortName", name}});
  }
  const std::string text = SummaryText(Summarize(file.path(), 1));
  EXPECT_NE(text.find("k\\n\\x1b[31mred\n"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

// Exports of 2020 hold no NULLs: a copy that is no peer copy has device 0 at both ends, a range without an
// end has 0, and a text that is registered is empty beside its number.
TEST(NsysOdditiesTest, DefaultsInPlaceOfNull) {
  ScratchFile file;
  const std::string pid = std::to_string(kPid1), thread = std::to_string(kPid1 | 101);
  {
    NsysExport out(file.path(), ExportVersions()[4]);
    const auto copy = [&](const char* kind, const char* bytes, const char* src, const char* dst) {
      out.Memcpy({{"start", "100"},
                  {"end", "200"},
                  {"deviceId", "1"},
                  {"globalPid", pid},
                  {"correlationId", "1"},
                  {"copyKind", kind},
                  {"bytes", bytes},
                  {"srcKind", kind[0] == '1' && kind[1] == 0 ? "1" : "2"},
                  {"dstKind", kind[0] == '2' ? "1" : "2"},
                  {"srcDeviceId", src},
                  {"dstDeviceId", dst}});
    };
    copy("1", "10", "0", "0");
    copy("2", "20", "0", "0");
    copy("8", "40", "0", "0");
    copy("10", "80", "0", "1");
    copy("8", "160", "1", "0");  // between devices, whatever its kind says
    out.Call({{"start", "50"}, {"end", "60"}, {"globalTid", thread}, {"correlationId", "1"}});
    out.Range({{"start", "10"},
               {"end", "0"},
               {"eventType", "59"},
               {"globalTid", thread},
               {"text", "''"},
               {"textId", out.Text("registered")}});
  }
  const std::map<std::pair<std::string, std::string>, int64_t> expected = {{{"host", "GPU:1"}, 10},
                                                                           {{"GPU:1", "host"}, 20},
                                                                           {{"GPU:1", "GPU:1"}, 40},
                                                                           {{"GPU:0", "GPU:1"}, 80},
                                                                           {{"GPU:1", "GPU:0"}, 160}};
  EXPECT_EQ(BytesByRoute(file.path()), expected);
  EXPECT_EQ(RangesOf(file.path())["registered"].copies, 5);
}

// Pages migrate between devices (13) even where the row does not say which; a copy to the device whose both
// ends are pinned host memory, one of them mapped, is a copy to the device.
TEST(NsysOdditiesTest, UnifiedAndMappedMemory) {
  ScratchFile file;
  {
    NsysExport out(file.path(), ExportVersions()[4]);
    const auto copy = [&](const char* kind, const char* bytes, const char* memory) {
      out.Memcpy({{"start", "0"},
                  {"end", "9"},
                  {"deviceId", "1"},
                  {"copyKind", kind},
                  {"bytes", bytes},
                  {"srcKind", memory},
                  {"dstKind", memory},
                  {"srcDeviceId", "NULL"},
                  {"dstDeviceId", "NULL"}});
    };
    copy("11", "1", "4");
    copy("12", "2", "4");
    copy("13", "4", "4");
    copy("1", "8", "1");
  }
  const std::map<std::pair<std::string, std::string>, int64_t> expected = {
      {{"host", "GPU:1"}, 1 + 8}, {{"GPU:1", "host"}, 2}, {{"GPU:1", "GPU:?"}, 4}};
  EXPECT_EQ(BytesByRoute(file.path()), expected);
}

// To read nothing would look like a trace without activities.
TEST(NsysOdditiesTest, AViewIsRefusedByItsName) {
  ScratchFile file;
  Database(file.path(), OpenMode::kCreate)
      .Execute(
          "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); CREATE TABLE t (start, end);"
          "CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY AS SELECT * FROM t");
  try {
    Summarize(file.path(), 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(error.message().find("CUPTI_ACTIVITY_KIND_MEMCPY is a view"), std::string::npos)
        << error.message();
  }
}

}  // namespace
}  // namespace lanescope::traces
