// Sound databases that hostile ones are made of.
#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/hostile_database.h"
#include "tests/traces/nsys_export.h"
#include "tests/traces/sample_run.h"

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
