// SPDX-License-Identifier: Apache-2.0
// An export of another tool, made by hand: two hosts with a process each, launches, ranges, an operator.
#pragma once

#include <string>

#include "traces/store/sqlite.h"

namespace lanescope::gui::test {

// Times in ns. Process 1 of host 0, thread 1: ranges "step##1" 0-400 and in it "attn" 50-300, an operator
// with shapes and a call stack; calls 60-80, 310-320 and 360-370 launch on GPU:0 "gemm" 100-200 (grid 8 x 4 x
// 2, blocks of 128, 40 registers, 1024 + 2048 bytes shared) and "relu" 330-350 on stream 7, and a copy
// 375-395. Process 2 of host 1, thread 5: a call 90-95 launches "relu" 100-150 on stream 9 of GPU:1.
inline void WriteForeignTrace(const std::string& path) {
  traces::Database(path, traces::OpenMode::kCreate)
      .Execute(
          "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
          "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'void gemm(float*)'), (3, 'gemm'), (4, "
          "'void relu(float*)'), (5, 'relu'), (6, 'cudaMemcpyAsync'), (7, '[[64, 512]]'), (8, "
          "'[\"float\"]'), (9, 'model.py(3): attend;train.py(9): main');"
          "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
          "INSERT INTO PROCESSES VALUES (1 << 24, 1, 'python'), ((1 << 48) + (2 << 24), 2, 'python');"
          "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId "
          "INTEGER, "
          "globalTid INTEGER, eventId INTEGER PRIMARY KEY);"
          "INSERT INTO NVTX_EVENTS VALUES (0, 400, 59, 'step##1', NULL, (1 << 24) + 1, 1), (50, 300, 59, "
          "'attn', NULL, (1 << 24) + 1, 2);"
          "CREATE TABLE LANESCOPE_OPERATOR (eventId INTEGER, shapes INTEGER, types INTEGER, callStack "
          "INTEGER);"
          "INSERT INTO LANESCOPE_OPERATOR VALUES (2, 7, 8, 9);"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, "
          "correlationId INTEGER, nameId INTEGER);"
          "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (60, 80, (1 << 24) + 1, 1, 1), (310, 320, (1 << "
          "24) "
          "+ 1, 2, 1), (360, 370, (1 << 24) + 1, 3, 6), (90, 95, (1 << 48) + (2 << 24) + 5, 1, 1);"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId "
          "INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, "
          "gridX "
          "INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, "
          "registersPerThread INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER);"
          "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 0, 7, 1, 1 << 24, 2, 3, 8, 4, 2, 128, 1, "
          "1, 40, 1024, 2048), (330, 350, 0, 7, 2, 1 << 24, 4, 5, 1, 1, 1, 32, 1, 1, 16, 0, 0), (100, 150, "
          "1, "
          "9, 1, (1 << 48) + (2 << 24), 4, 5, 2, 1, 1, 64, 1, 1, 16, 0, 0);"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId "
          "INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER);"
          "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (375, 395, 0, 7, 3, 1 << 24, 4096, 1)");
}

}  // namespace lanescope::gui::test
