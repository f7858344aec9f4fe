// SPDX-License-Identifier: Apache-2.0
// Appending to damaged traces: whatever could be read before can be read afterwards, and a file that is not
// ours stays as it was. The input is read as decisions (hostile_database.h).
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/fuzz/hostile.h"
#include "tests/fuzz/trace_seeds.h"
#include "traces/read/trace_reader.h"
#include "traces/store/schema.h"

namespace lanescope {
namespace {

// The numbers of the runs that read; empty where the file does not.
std::vector<int> ReadableRuns(const std::string& path) {
  std::vector<int> runs;
  Try([&] {
    traces::TraceReader reader(path);
    for (const traces::TraceRunInfo& info : reader.Runs()) {
      if (Try([&] { reader.ReadRun(info.id); })) runs.push_back(info.id);
    }
  });
  return runs;
}

bool IsOurs(const std::string& path) {
  int64_t application = 0;
  Try([&] {
    application = traces::Database(path, traces::OpenMode::kReadOnly).QueryInteger("PRAGMA application_id");
  });
  return application == traces::kTraceApplicationId;
}

bool Contains(const std::vector<int>& runs, const std::vector<int>& all) {
  return std::ranges::all_of(all, [&](int run) { return std::ranges::find(runs, run) != runs.end(); });
}

void AppendTo(const std::string& path, const DatabaseFiles& given) {
  static const traces::SampleRun sample;
  const bool ours = IsOurs(path);
  const std::vector<int> before = ReadableRuns(path);
  const bool written = Try([&] {
    traces::TraceWriter writer(path);
    sample.WriteTo(&writer, 2);
    writer.Close();
  });
  // Opening may add to a file of ours what it lacks, even where it then refuses the rest. With a journal
  // beside a file, looking already brings it to what was committed.
  if (!Contains(ReadableRuns(path), before)) std::abort();
  const bool alone = given.wal.empty() && given.journal.empty();
  if (!written && !ours && alone && ReadFile(path) != given.main) std::abort();
}

}  // namespace
}  // namespace lanescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static lanescope::HostileDatabase databases(lanescope::OurSeeds());
  lanescope::ByteSource bytes(data, size);
  const std::string path = databases.Make(&bytes);
  lanescope::AppendTo(path, lanescope::FilesAt(path));
  return 0;
}
