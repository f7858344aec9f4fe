// SPDX-License-Identifier: Apache-2.0
// Databases of rocprofiler-sdk, made here as its third schema has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/traces/imported.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

// A host and two GPUs; on the second a kernel of 16 x 2 blocks, which a call in the marker "step 1" launched,
// and 4 KiB from the host. Tables are named after the recording.
void WriteRocpd(const std::string& path, const std::string& ending = "_0000aa") {
  std::string sql = R"sql(BEGIN;
CREATE TABLE rocpd_string@ (id INTEGER PRIMARY KEY, guid TEXT, string TEXT);
INSERT INTO rocpd_string@ VALUES (1, '', 'HIP_RUNTIME_API'), (2, '', 'MARKER_CORE_RANGE_API'), (3, '', 'hipLaunchKernel'),
  (4, '', 'roctxRangePushA'), (5, '', 'KERNEL_DISPATCH'), (6, '', 'MEMORY_COPY_HOST_TO_DEVICE');
CREATE TABLE rocpd_info_node@ (id INTEGER PRIMARY KEY, hostname TEXT);
INSERT INTO rocpd_info_node@ VALUES (1, 'node7');
CREATE TABLE rocpd_info_process@ (id INTEGER PRIMARY KEY, pid INTEGER, command TEXT);
INSERT INTO rocpd_info_process@ VALUES (1, 77, 'train');
CREATE TABLE rocpd_info_thread@ (id INTEGER PRIMARY KEY, tid INTEGER);
INSERT INTO rocpd_info_thread@ VALUES (1, 12);
CREATE TABLE rocpd_info_agent@ (id INTEGER PRIMARY KEY, type TEXT, logical_index INTEGER, type_index INTEGER, name TEXT, product_name TEXT);
INSERT INTO rocpd_info_agent@ VALUES (1, 'CPU', 0, 0, 'host', ''), (2, 'GPU', 1, 0, 'gfx942', 'MI300X'), (3, 'GPU', 2, 1, 'gfx942', '');
CREATE TABLE rocpd_info_kernel_symbol@ (id INTEGER PRIMARY KEY, kernel_name TEXT, display_name TEXT);
INSERT INTO rocpd_info_kernel_symbol@ VALUES (8, '_Z3addPf.kd', 'add<float>');
CREATE TABLE rocpd_event@ (id INTEGER PRIMARY KEY, category_id INTEGER, stack_id INTEGER, correlation_id INTEGER, extdata TEXT);
INSERT INTO rocpd_event@ VALUES (1, 1, 5, 0, '{}'), (2, 2, 4, 0, '{"message": "step 1"}'), (3, 5, 5, 0, '{}'), (4, 6, 6, 0, 'no JSON');
CREATE TABLE rocpd_region@ (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start INTEGER, "end" INTEGER, name_id INTEGER, event_id INTEGER);
INSERT INTO rocpd_region@ VALUES (1, 1, 1, 1000, 1500, 3, 1), (2, 1, 1, 900, 1600, 4, 2);
CREATE TABLE rocpd_kernel_dispatch@ (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, agent_id INTEGER, kernel_id INTEGER,
  queue_id INTEGER, start INTEGER, "end" INTEGER, group_segment_size INTEGER, workgroup_size_x INTEGER, workgroup_size_y INTEGER,
  workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, event_id INTEGER);
INSERT INTO rocpd_kernel_dispatch@ VALUES (1, 1, 1, 3, 8, 3, 2000, 2600, 512, 64, 1, 1, 1000, 2, 1, 3), (2, 1, 1, 3, 8, 3, 0, 0, 0, 1, 1, 1, 1, 1, 1, 3);
CREATE TABLE rocpd_memory_copy@ (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start INTEGER, "end" INTEGER, dst_agent_id INTEGER,
  src_agent_id INTEGER, size INTEGER, stream_id INTEGER, event_id INTEGER);
INSERT INTO rocpd_memory_copy@ VALUES (1, 1, 1, 3000, 3100, 3, 1, 4096, 2, 4);
CREATE VIEW rocpd_kernel_dispatch AS SELECT * FROM rocpd_kernel_dispatch@;
COMMIT;)sql";
  for (size_t at = sql.find('@'); at != std::string::npos; at = sql.find('@', at)) sql.replace(at, 1, ending);
  Database(path, OpenMode::kCreate).Execute(sql);
}

TEST(RocpdTest, KernelsCopiesCallsAndMarkers) {
  ScratchFile in("77_results.db");
  WriteRocpd(in.path());
  ASSERT_EQ(FormatOf(in.path()), "rocpd");
  const auto [counts, run, summary] = ImportOf(in.path());
  EXPECT_EQ(counts.kernels, 1);
  EXPECT_EQ(counts.skipped, 1);
  ASSERT_EQ(run.launches.size(), 1u);
  const TraceLaunch& launch = run.launches[0];
  EXPECT_EQ(run.Text(launch.name), "add<float>");
  EXPECT_EQ(run.DeviceLabel(launch.device), "GPU:1");
  EXPECT_EQ(launch.end_ns - launch.start_ns, 600);
  ASSERT_GE(launch.api, 0);
  EXPECT_EQ(run.Text(run.api_calls[static_cast<size_t>(launch.api)].name), "hipLaunchKernel");
  ASSERT_GE(launch.range, 0);
  EXPECT_EQ(run.Text(run.ranges[static_cast<size_t>(launch.range)].text), "step 1");
  EXPECT_EQ(launch.step, 1);
  ASSERT_EQ(run.copies.size(), 1u);
  EXPECT_EQ(run.copies[0].bytes, 4096);
  EXPECT_EQ(run.copies[0].src, kHostDevice);
  EXPECT_EQ(run.copies[0].dst, launch.device);
  EXPECT_THAT(summary.hosts, testing::ElementsAre("node7"));
}

// A cell of another type is damage, and is told in one line.
TEST(RocpdTest, WhatIsDamagedIsRefused) {
  ScratchFile in("77_results.db");
  WriteRocpd(in.path());
  Database(in.path(), OpenMode::kReadWrite)
      .Execute("UPDATE rocpd_kernel_dispatch_0000aa SET agent_id = 'two' WHERE id = 1");
  EXPECT_EQ(CodeOfImport(in.path(), "agent_id"), Code::kDataLoss);
  ScratchFile empty("78_results.db");
  WriteRocpd(empty.path());
  Database(empty.path(), OpenMode::kReadWrite)
      .Execute(
          "DELETE FROM rocpd_kernel_dispatch_0000aa; DELETE FROM rocpd_region_0000aa; "
          "DELETE FROM rocpd_memory_copy_0000aa");
  EXPECT_EQ(CodeOfImport(empty.path(), "no kernels"), Code::kInvalidArgument);
}

}  // namespace
}  // namespace lanescope::traces
