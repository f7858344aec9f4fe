// SPDX-License-Identifier: Apache-2.0
// Loads traces in the background.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/thread.h"
#include "gui/model/run_data.h"

namespace lanescope::gui {

// The state of a load. `message` is one line for people: why it failed, or what is odd about the file
// ("no runs yet", "run 2 is incomplete: ...").
struct LoadState {
  enum class Phase { kLoading, kDone, kFailed, kCancelled };
  Phase phase = Phase::kLoading;
  double progress = 0;  // 0..1
  std::string doing;    // "reading run 2 of 3"
  std::string message;
  Code code = Code::kUnknown;  // of a load that failed
  std::string file;            // the trace in SQLite: the path, or what it was imported into; known when done
};

// Reads a whole file on the calling thread, and a second one for the larger tables. `progress` (may be null)
// gets 0..1 and what is being done; `cancelled` (may be null) ends the load with Cancelled soon after it
// becomes true. Runs come in the file's order. Throws what TraceReader throws; a file with a trace's tables
// but nothing in them yields no runs. `source`: RunData's; empty: the path.
using LoadProgress = std::function<void(double fraction, const std::string& doing)>;
std::vector<std::shared_ptr<const RunData>> LoadTrace(const std::string& path, const LoadProgress& progress,
                                                      const std::atomic<bool>* cancelled,
                                                      const std::string& source = {});

// One load in flight, on its own thread. The UI thread asks state() and, once it is kDone, TakeRuns();
// nothing here waits, except the destructor, which cancels first. `wake` is called on the loading thread
// whenever state changed (to make a sleeping UI look); it must be thread-safe. What traces::FilesToImport
// knows is imported into an empty folder that `new_folder` (called on the loading thread) gives, which must
// outlive the runs.
class TraceLoad {
 public:
  using NewFolder = std::function<std::string()>;
  TraceLoad(std::string path, std::function<void()> wake, NewFolder new_folder = nullptr);
  ~TraceLoad();
  TraceLoad(const TraceLoad&) = delete;
  TraceLoad& operator=(const TraceLoad&) = delete;

  const std::string& path() const { return path_; }
  LoadState state() const;
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  // Empty before kDone and after the first call.
  std::vector<std::shared_ptr<const RunData>> TakeRuns();

 private:
  void Run();
  std::vector<std::shared_ptr<const RunData>> Load(const LoadProgress& progress, LoadState* done);
  void Set(const std::function<void(LoadState&)>& change);

  const std::string path_;
  const std::function<void()> wake_;
  const NewFolder new_folder_;
  std::atomic<bool> cancelled_{false};
  mutable std::mutex mutex_;
  LoadState state_;                                   // guarded by mutex_
  std::vector<std::shared_ptr<const RunData>> runs_;  // guarded by mutex_
  Thread thread_;
};

}  // namespace lanescope::gui
