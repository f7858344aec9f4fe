// Appending to damaged traces: the run is written and the file then reads, or the file is refused as it was.
// The input is read as decisions (hostile_database.h).
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/fuzz/hostile.h"
#include "tests/fuzz/trace_seeds.h"
#include "traces/trace_reader.h"

namespace lanescope {
namespace {

// The numbers of the runs that read; empty where the file does not.
std::vector<int> ReadableRuns(const std::string& path) {
  std::vector<int> runs;
  Try([&] {
    TraceReader reader(path);
    for (const TraceRunInfo& info : reader.Runs()) {
      if (Try([&] { reader.ReadRun(info.id); })) runs.push_back(info.id);
    }
  });
  return runs;
}

void Append(const std::string& path, const DatabaseFiles& given) {
  static const SampleRun sample;
  const bool opened = Try([&] { TraceWriter writer(path); });
  // With a journal beside it, looking already brings the file to what was committed.
  if (!opened) {
    if (given.wal.empty() && given.journal.empty() && ReadFile(path) != given.main) std::abort();
    return;
  }
  const std::vector<int> before = ReadableRuns(path);
  int run = 0;
  const bool written = Try([&] {
    TraceWriter writer(path);
    run = sample.WriteTo(&writer, 2);
    writer.Close();
  });
  if (!written) return;
  const std::vector<int> after = ReadableRuns(path);
  for (const int readable : before) {
    if (std::find(after.begin(), after.end(), readable) == after.end()) std::abort();
  }
}

}  // namespace
}  // namespace lanescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static lanescope::HostileDatabase databases(lanescope::OurSeeds());
  lanescope::ByteSource bytes(data, size);
  const std::string path = databases.Make(&bytes);
  lanescope::Append(path, lanescope::FilesAt(path));
  return 0;
}
