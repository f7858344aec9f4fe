// Hostile bytes as a trace of PyTorch's profiler: it becomes an export that every report reads, or it is
// refused and no file is left behind.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "tests/fuzz/hostile.h"
#include "tests/fuzz/scratch_folder.h"
#include "traces/import/kineto_import.h"
#include "traces/read/trace_reader.h"
#include "traces/report/summary.h"

namespace lanescope {
namespace {

void TryImport(std::string_view bytes) {
  static const ScratchFolder in, out;
  const std::string trace = in.Write("trace.json", bytes), database = out.File("trace.sqlite");
  const bool imported = Try([&] { traces::ImportKineto({trace}, database); });
  if (imported != std::filesystem::exists(database)) std::abort();
  if (imported) {
    // Not caught: what was written here is no foreign file.
    traces::TraceReader reader(database);
    for (const traces::TraceRunInfo& info : reader.Runs()) reader.ReadRun(info.id);
    if (!reader.Runs().empty()) traces::SummaryText(traces::Summarize(database, 1, {}));
    std::filesystem::remove(database);
  }
  if (!out.IsEmpty()) std::abort();
}

}  // namespace
}  // namespace lanescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lanescope::TryImport({reinterpret_cast<const char*>(data), size});
  return 0;
}
