// SPDX-License-Identifier: Apache-2.0
// Sound databases that hostile ones are made of.
#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/hostile_database.h"
#include "tests/traces/nsys_export.h"
#include "tests/traces/sample_run.h"
#include "traces/import/import.h"

namespace lanescope {

// Exports as every version of Nsight Systems writes them.
inline std::vector<DatabaseFiles> ExportSeeds() {
  const ScratchFolder folder;
  std::vector<DatabaseFiles> seeds;
  for (const traces::ExportVersion& version : traces::ExportVersions()) {
    const std::string path = folder.File(version.name + ".db");
    traces::WriteTwoProcesses(path, version);
    seeds.push_back({ReadFile(path), "", ""});
  }
  return seeds;
}

// An import of two ranks, with a row in every table that imports alone have.
inline DatabaseFiles ImportSeed() {
  const ScratchFolder folder;
  std::vector<std::string> files;
  for (const char* rank : {"3", "5"}) {
    files.push_back(folder.Write(
        std::string("node") + rank + "_100.1.pt.trace.json",
        R"json({"distributedInfo": {"rank": )json" + std::string(rank) + R"json(}, "traceEvents": [
{"ph": "M", "name": "process_name", "pid": 100, "tid": 0, "args": {"name": "python3"}},
{"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "args": {"name": "stream 7 main"}},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 100, "tid": 101, "ts": 1, "dur": 200},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 100, "tid": 101, "ts": 10, "dur": 20,
 "args": {"Input Dims": [[64, 512]], "Input type": ["float"], "Call stack": "f.py(1): f;g.py(2): g"}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 101, "ts": 12, "dur": 3,
 "args": {"correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7, "ts": 50, "dur": 40,
 "args": {"device": 0, "stream": 7, "correlation": 7, "Collective name": "allreduce", "dtype": "Float",
  "In msg nelems": 1024, "Group size": 2}},
{"ph": "X", "cat": "cuda_profiler_range", "name": "k", "pid": 0, "tid": 7, "ts": 51, "dur": 9,
 "args": {"device": 0, "stream": 7, "cycles": 12}},
{"ph": "i", "name": "[memory]", "ts": 60, "pid": 100, "tid": 101,
 "args": {"Total Allocated": 4096, "Device Id": 0, "Device Type": 1}}]})json"));
  }
  const std::string path = folder.File("import.db");
  traces::ImportTraces(files, path);
  return {ReadFile(path), "", ""};
}

inline DatabaseFiles FilesAt(const std::string& path) {
  DatabaseFiles files{ReadFile(path), "", ""};
  if (std::filesystem::exists(path + "-wal")) files.wal = ReadFile(path + "-wal");
  if (std::filesystem::exists(path + "-journal")) files.journal = ReadFile(path + "-journal");
  return files;
}

// Traces of ours: with one run, with two, and as a process leaves it that is killed during its second run.
inline std::vector<DatabaseFiles> OurSeeds() {
  const ScratchFolder folder;
  const std::string path = folder.File("ours.db");
  std::vector<DatabaseFiles> seeds;
  const traces::SampleRun sample;
  const auto append = [&](int steps) {
    traces::TraceWriter writer(path);
    sample.WriteTo(&writer, steps);
    writer.Close();
    seeds.push_back(FilesAt(path));
  };
  append(3);
  append(1);
  traces::TraceWriter writer(path);
  const int run = writer.BeginRun(sample.info());
  writer.AddSchedule(run, sample.schedule());
  writer.Sink(run)->Consume(traces::SampleRun::StepEvents(0, 0));
  writer.Flush();
  seeds.push_back(FilesAt(path));
  return seeds;
}

}  // namespace lanescope
