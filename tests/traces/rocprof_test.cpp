// SPDX-License-Identifier: Apache-2.0
// JSON of rocprofv3.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/file.h"
#include "tests/traces/imported.h"
#include "tests/traces/shared_traces.h"

namespace lanescope::traces {
namespace {

std::string Record(const std::string& times, const std::string& rest) {
  return R"({"kind": 1, "operation": 0, "thread_id": 12, "correlation_id": {"internal": 5, "external": 0}, )" +
         times + ", " + rest + "}";
}
std::string Times(int64_t start_ns, int64_t end_ns) {
  return fmt::format(R"("start_timestamp": {}, "end_timestamp": {})", start_ns, end_ns);
}

// A host and two GPUs, two kernels that the file names at its end, and these records.
std::string File(const std::string& records) {
  return R"({"rocprofiler-sdk-tool": [{"metadata": {"pid": 77, "node": {"hostname": "node7"}},
    "agents": [{"id": {"handle": 10}, "type": 1},
               {"id": {"handle": 20}, "type": 2, "logical_node_type_id": 0, "cu_count": 304, "product_name": "MI300X"},
               {"id": {"handle": 30}, "type": 2, "logical_node_type_id": 1}],
    "buffer_records": {)" +
         records +
         R"(}, "strings": {"buffer_records": [{"kind": "NONE", "operations": []},
      {"kind": "HIP", "operations": ["hipLaunchKernel"]}], "att_filenames": ["a", "b"]},
    "kernel_symbols": [{"kernel_id": 8, "kernel_name": "_Z3addPf.kd", "formatted_kernel_name": "add<float>"}]}]})";
}
std::string Dispatch(const std::string& times, int64_t agent, int64_t queue) {
  return Record(
      times, fmt::format(R"("dispatch_info": {{"agent_id": {{"handle": {}}}, "queue_id": {{"handle": {}}}, )"
                         R"("kernel_id": 8, "workgroup_size": {{"x": 64, "y": 1, "z": 1}}, )"
                         R"("grid_size": {{"x": 1000, "y": 2, "z": 1}}}})",
                         agent, queue));
}

Imported ImportOfRecords(const std::string& records) {
  ScratchFile in("rocprof.json");
  WriteFile(in.path(), File(records));
  return ImportOf(in.path());
}

// A kernel of 16 x 2 blocks on the second GPU, the call that launched it, and 4 KiB from the host.
TEST(RocprofTest, KernelsCopiesAndCalls) {
  const Imported imported = ImportOfRecords(
      R"("hip_api": [)" + Record(Times(1000, 1500), R"("a": 0)") + R"(], "kernel_dispatch": [)" +
      Dispatch(Times(2000, 2600), 30, 3) + R"(], "memory_copy": [)" +
      Record(Times(3000, 3100),
             R"("src_agent_id": {"handle": 10}, "dst_agent_id": {"handle": 20}, "bytes": 4096)") +
      R"(], "scratch_memory": [{"kind": 3}])");
  EXPECT_EQ(imported.counts.left_out.at("scratch_memory"), 1);
  const TraceRun& run = imported.run;
  ASSERT_EQ(run.launches.size(), 1u);
  const TraceLaunch& launch = run.launches[0];
  EXPECT_EQ(run.Text(launch.name), "add<float>");
  EXPECT_EQ(launch.device, 1);
  EXPECT_EQ(launch.start_ns, 1000);
  EXPECT_EQ(launch.end_ns, 1600);
  ASSERT_EQ(run.api_calls.size(), 1u);
  EXPECT_EQ(launch.api, 0);
  EXPECT_EQ(run.Text(run.api_calls[0].name), "hipLaunchKernel");
  ASSERT_EQ(run.copies.size(), 1u);
  EXPECT_EQ(run.copies[0].bytes, 4096);
  EXPECT_EQ(run.copies[0].copy_class, CopyClass::kHostToDevice);
}

// Wrong types, times that are none and handles beyond 32 bits.
TEST(RocprofTest, WhatCannotBe) {
  const Imported imported = ImportOfRecords(
      R"("kernel_dispatch": [)" + Dispatch(Times(2000, 1000), 30, 3) + "," + Dispatch(Times(0, 5), 30, 3) +
      "," + Record(R"("start_timestamp": "a", "end_timestamp": 1e300)", R"("dispatch_info": 5)") + "," +
      Record(Times(10, 20), R"("dispatch_info": {"agent_id": 3, "grid_size": {"x": -1}, "kernel_id": "k"})") +
      "," + Dispatch(Times(10, 20), INT64_MAX, INT64_MAX) + R"(, 7, [], null])");
  EXPECT_EQ(imported.counts.skipped, 3);
  EXPECT_EQ(imported.run.launches.size(), 2u);
}

TEST(RocprofTest, DamagedFilesAreRefused) {
  const std::string whole = File(R"("kernel_dispatch": [)" + Dispatch(Times(2000, 2600), 30, 3) + "]");
  ScratchFile in("rocprof.json");
  WriteFile(in.path(), whole.substr(0, whole.size() - 40));
  EXPECT_EQ(CodeOfImport(in.path(), "no JSON, or damaged"), Code::kDataLoss);
  WriteFile(in.path(), File(""));
  EXPECT_EQ(CodeOfImport(in.path(), "no kernels"), Code::kInvalidArgument);
}

// 43,915 kernels whose lengths add up to 4,441,741,378 ns.
TEST(RocprofTest, ARecordedFile) {
  const std::string path = SharedTrace("tracelens", "rocprofv3_results.json.gz");
  if (path.empty()) GTEST_SKIP() << "the recorded trace is not there";
  const Imported imported = ImportOf(path);
  ASSERT_EQ(imported.run.launches.size(), 43'915u);
  int64_t sum = 0;
  for (const TraceLaunch& launch : imported.run.launches) sum += launch.end_ns - launch.start_ns;
  EXPECT_EQ(sum, 4'441'741'378);
}

}  // namespace
}  // namespace lanescope::traces
