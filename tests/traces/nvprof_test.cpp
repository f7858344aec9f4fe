// SPDX-License-Identifier: Apache-2.0
// Files and texts of nvprof, made here with their truth beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/traces/imported.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

// Kernel "foo" of 40 ns launched by cudaLaunchKernel (211), a copy of 128 bytes to the GPU, one of 256 from
// GPU 0 to 1, an unknown call, and the range "step 1" around them in thread 0x1007.
void WriteNvprof(const std::string& path) {
  Database database(path, OpenMode::kCreate);
  database.Execute(R"sql(BEGIN;
CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringTable VALUES (1, '_Z3fooPf'), (2, 'step 1'), (3, 'Tesla V100');
CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (_id_ INTEGER PRIMARY KEY, registersPerThread INT, start INT, end INT,
  deviceId INT, contextId INT, streamId INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT,
  staticSharedMemory INT, dynamicSharedMemory INT, correlationId INT, name INT);
INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES (1, 32, 1000100, 1000140, 0, 1, 7, 2, 1, 1, 64, 1, 1, 0, 16, 5, 1),
  (2, 32, 0, 0, 0, 1, 7, 2, 1, 1, 64, 1, 1, 0, 16, 6, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (_id_ INTEGER PRIMARY KEY, copyKind INT, srcKind INT, dstKind INT, bytes INT,
  start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 1, 2, 3, 128, 1000050, 1000060, 0, 1, 7, 4);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY2 (_id_ INTEGER PRIMARY KEY, copyKind INT, srcKind INT, dstKind INT, bytes INT,
  start INT, end INT, deviceId INT, contextId INT, streamId INT, srcDeviceId INT, dstDeviceId INT, correlationId INT);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY2 VALUES (1, 10, 3, 3, 256, 1000150, 1000160, 0, 1, 7, 0, 1, 8);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (_id_ INTEGER PRIMARY KEY, cbid INT, start INT, end INT, processId INT,
  threadId INT, correlationId INT, returnValue INT);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 211, 1000080, 1000090, 77, 4103, 5, 0), (2, 9999, 1000091, 1000092, 77, 4103, 9, 0);
CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (_id_ INTEGER PRIMARY KEY, flags INT, timestamp INT, id INT, objectKind INT,
  objectId BLOB, name INT, domain INT);
INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES (1, 2, 1000000, 1, 2, x'4D000000' || x'0710000000000000', 2, 0),
  (2, 4, 1000200, 1, 2, x'4D0000000710000000000000', 0, 0), (3, 1, 1000100, 2, 2, x'4D0000000710000000000000', 2, 0);
CREATE TABLE CUPTI_ACTIVITY_KIND_DEVICE (_id_ INTEGER PRIMARY KEY, id INT, name INT, globalMemorySize INT, numMultiprocessors INT);
INSERT INTO CUPTI_ACTIVITY_KIND_DEVICE VALUES (1, 0, 3, 1000, 80);
COMMIT;)sql");
}

TEST(NvprofTest, AFileOfNvprof) {
  ScratchFile in("a.nvprof");
  WriteNvprof(in.path());
  ASSERT_EQ(FormatOf(in.path()), "nvprof");
  const auto [counts, run, summary] = ImportOf(in.path());
  EXPECT_EQ(counts.kernels, 1);
  EXPECT_EQ(counts.copies, 2);
  EXPECT_EQ(counts.skipped, 1);
  EXPECT_EQ(counts.left_out, (std::map<std::string, int64_t>{{"marks", 1}}));
  ASSERT_EQ(run.launches.size(), 1u);
  const TraceLaunch& kernel = run.launches[0];
  EXPECT_EQ(run.Text(kernel.name), "foo(float*)");
  EXPECT_EQ(run.Text(kernel.op), "foo");
  EXPECT_EQ(kernel.start_ns, 100);
  EXPECT_EQ(kernel.end_ns, 140);
  ASSERT_GE(kernel.api, 0);
  EXPECT_EQ(run.Text(run.api_calls[static_cast<size_t>(kernel.api)].name), "cudaLaunchKernel");
  ASSERT_GE(kernel.range, 0);
  EXPECT_EQ(run.Text(run.ranges[static_cast<size_t>(kernel.range)].text), "step 1");
  EXPECT_EQ(run.steps.size(), 1u);
  EXPECT_EQ(run.Text(run.api_calls.at(1).name), "runtime call 9999");
  EXPECT_EQ(run.devices.at(0).model, "Tesla V100");
  ASSERT_EQ(run.copies.size(), 2u);
  EXPECT_EQ(run.copies[0].copy_class, CopyClass::kHostToDevice);
  EXPECT_EQ(run.copies[1].copy_class, CopyClass::kDeviceToDevice);
  EXPECT_EQ(run.copies[1].dst, 1);
}

// A copy of 2 KB from 1 ms on, which takes 1.5 us, and a kernel of 2.25 us from 1.01 ms on.
TEST(NvprofTest, WhatNvprofPrints) {
  ScratchFile in("print.csv");
  WriteFile(in.path(), R"csv(==77== NVPROF is profiling process 77, command: ./a
==77== Profiling result:
"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Registers Per Thread","Static SMem","Dynamic SMem","Size","Throughput","Device","Context","Stream","Name"
ms,us,,,,,,,,B,KB,KB,GB/s,,,,
1.000000,1.500000,,,,,,,,,,2.000000,1.333333,"Tesla K40c (1)","1","7","[CUDA memcpy HtoD]"
1.010000,2.250000,2,1,1,64,1,1,32,8,1,,,"Tesla K40c (1)","1","7","foo(float*, ""x"")"
x,2.250000,2,1,1,64,1,1,32,8,0,,,"Tesla K40c (1)","1","7","bar"
)csv");
  ASSERT_EQ(FormatOf(in.path()), "nvprof's print");
  const auto [counts, run, summary] = ImportOf(in.path());
  EXPECT_EQ(counts.skipped, 1);
  ASSERT_EQ(run.launches.size(), 1u);
  EXPECT_EQ(run.Text(run.launches[0].name), "foo(float*, \"x\")");
  EXPECT_EQ(run.launches[0].end_ns - run.launches[0].start_ns, 2250);
  ASSERT_EQ(run.copies.size(), 1u);
  EXPECT_EQ(run.copies[0].bytes, 2048);
  EXPECT_EQ(run.copies[0].device, 1);
  EXPECT_EQ(run.launches[0].start_ns - run.copies[0].start_ns, 10'000);
  EXPECT_EQ(run.FindDevice(1)->model, "Tesla K40c");
  WriteFile(in.path(), "\"Start\",\"Duration\",\"Name\"\nfortnights,us,\n1,1,a\n");
  EXPECT_EQ(CodeOfImport(in.path(), "units"), Code::kDataLoss);
  WriteFile(in.path(), "a,b\n1,2\n");
  EXPECT_EQ(FormatOf(in.path()), "");
}

TEST(NvprofTest, OtherDatabasesAreNotOfNvprof) {
  ScratchFile in("a.db");
  Database(in.path(), OpenMode::kCreate).Execute("CREATE TABLE StringTable (_id_ INT, value TEXT)");
  EXPECT_EQ(FormatOf(in.path()), "");
  EXPECT_EQ(FormatOf(in.path() + " is not there"), "");
}

}  // namespace
}  // namespace lanescope::traces
