// SPDX-License-Identifier: Apache-2.0
#include "gui/model/trace_loader.h"

#include "core/base/error.h"
#include "gui/model/activity_scan.h"
#include "gui/model/run_frame.h"
#include "traces/import/import.h"
#include "traces/read/trace_reader.h"

namespace lanescope::gui {
namespace {

// Shares of the time: what is read run by run, the activities, and building the lanes.
constexpr double kAfterFrames = 0.05, kAfterScan = 0.75;

void CheckCancelled(const std::atomic<bool>* cancelled) {
  if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
    Throw(Code::kCancelled, "loading was cancelled");
  }
}

struct LaneJob {
  size_t run = 0;
  RawLane* raw = nullptr;
  Lane lane;
  int64_t left_out = 0;
};

// Builds lanes on two threads.
void BuildLanes(std::vector<LaneJob>* jobs, const LoadProgress& progress,
                const std::atomic<bool>* cancelled) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  size_t done = 0;
  const auto work = [&] {
    try {
      for (size_t i = next.fetch_add(1, std::memory_order_relaxed); i < jobs->size();
           i = next.fetch_add(1, std::memory_order_relaxed)) {
        CheckCancelled(cancelled);
        LaneJob& job = (*jobs)[i];
        job.lane = BuildLane(job.raw, &job.left_out);
        std::lock_guard lock(mutex);
        const double share = static_cast<double>(++done) / static_cast<double>(jobs->size());
        if (progress) progress(kAfterScan + (0.97 - kAfterScan) * share, "arranging lanes");
      }
    } catch (...) {
      next.store(jobs->size(), std::memory_order_relaxed);  // the other one ends, too
      throw;
    }
  };
  Thread helper("arranging lanes", work);
  work();
  helper.Join();
}

// Notes on a file that did load.
std::string NoteOf(const std::vector<std::shared_ptr<const RunData>>& runs) {
  if (runs.empty())
    return "the file is a trace without runs: record some with `lanescope compare --trace FILE`";
  std::string note;
  const auto add = [&](const std::string& text) { note += (note.empty() ? "" : "; ") + text; };
  for (const auto& run : runs) {
    const std::string name = run->foreign ? "the trace" : fmt::format("run {}", run->id);
    if (!run->complete) add(name + " is incomplete: its writer died or still writes");
    if (run->complete && run->empty()) add(name + " has no activities");
    if (run->dropped > 0) add(fmt::format("{} lost {} records", name, run->dropped));
    if (run->invalid_rows > 0) add(fmt::format("{} has {} unusable rows, left out", name, run->invalid_rows));
    if (!run->error.empty()) add(fmt::format("{} failed: {}", name, run->error));
  }
  return note;
}

}  // namespace

std::vector<std::shared_ptr<const RunData>> LoadTrace(const std::string& path, const LoadProgress& progress,
                                                      const std::atomic<bool>* cancelled,
                                                      const std::string& source) {
  const auto report = [&](double fraction, const std::string& doing) {
    if (progress) progress(fraction, doing);
  };
  report(0, "opening");
  traces::TraceReader reader(path);
  const std::vector<traces::TraceRunInfo> infos = reader.Runs();
  std::vector<RunFrame> frames;
  std::vector<std::vector<RawLane>> threads;
  std::vector<std::vector<Lane>> memory;
  for (size_t i = 0; i < infos.size(); ++i) {
    CheckCancelled(cancelled);
    report(kAfterFrames * static_cast<double>(i) / static_cast<double>(infos.size()),
           fmt::format("reading run {} of {}", i + 1, infos.size()));
    const traces::TraceRun outline = reader.ReadOutline(infos[i].id);
    frames.push_back(FrameOf(outline, path, source.empty() ? path : source, reader.is_ours()));
    frames.back().data.captured = traces::CapturedCalls(reader.database(), outline);
    threads.push_back(ThreadLanes(outline, &frames.back()));
    for (RawLane& lane : AnnotationLanes(outline, &frames.back())) threads.back().push_back(std::move(lane));
    for (RawLane& lane : InputLanes(outline, &frames.back())) threads.back().push_back(std::move(lane));
    memory.push_back(MemoryLanes(outline, frames.back()));
    for (Lane& lane : FillLanes(outline)) memory.back().push_back(std::move(lane));
  }
  std::vector<std::vector<RawLane>> lanes =
      ScanActivities(path, &frames, cancelled, [&](double fraction, const std::string& doing) {
        report(kAfterFrames + (kAfterScan - kAfterFrames) * fraction, doing);
      });
  std::vector<LaneJob> jobs;
  for (size_t run = 0; run < frames.size(); ++run) {
    for (RawLane& raw : threads[run]) lanes[run].push_back(std::move(raw));
    for (RawLane& raw : lanes[run]) jobs.push_back({run, &raw, {}, 0});
  }
  BuildLanes(&jobs, progress, cancelled);
  for (LaneJob& job : jobs) {
    frames[job.run].data.invalid_rows += job.left_out;
    frames[job.run].data.lanes.push_back(std::move(job.lane));
  }
  std::vector<std::shared_ptr<const RunData>> runs;
  for (size_t run = 0; run < frames.size(); ++run) {
    CheckCancelled(cancelled);
    for (Lane& lane : memory[run]) frames[run].data.lanes.push_back(std::move(lane));
    runs.push_back(FinishRun(std::move(frames[run].data), std::move(frames[run].edges)));
  }
  report(1, "done");
  return runs;
}

TraceLoad::TraceLoad(std::string path, std::function<void()> wake, NewFolder new_folder)
    : path_(std::move(path)),
      wake_(std::move(wake)),
      new_folder_(std::move(new_folder)),
      thread_("loading a trace", [this] { Run(); }) {}

TraceLoad::~TraceLoad() {
  Cancel();
  thread_.Wait();
}

LoadState TraceLoad::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

std::vector<std::shared_ptr<const RunData>> TraceLoad::TakeRuns() {
  std::lock_guard lock(mutex_);
  return std::move(runs_);
}

void TraceLoad::Set(const std::function<void(LoadState&)>& change) {
  {
    std::lock_guard lock(mutex_);
    change(state_);
  }
  if (wake_) wake_();
}

std::vector<std::shared_ptr<const RunData>> TraceLoad::Load(const LoadProgress& progress, LoadState* done) {
  constexpr double kImporting = 0.7;  // of the time
  done->file = path_;
  if (traces::FilesToImport(path_).empty() || !new_folder_) {
    auto runs = LoadTrace(path_, progress, &cancelled_);
    done->message = NoteOf(runs);
    return runs;
  }
  done->file = new_folder_() + "/imported.sqlite";
  const traces::ImportCounts counts =
      traces::ImportTraces({path_}, done->file, &cancelled_,
                           [&](double fraction) { progress(kImporting * fraction, "importing"); });
  auto runs = LoadTrace(
      done->file,
      [&](double fraction, const std::string& doing) {
        progress(kImporting + (1 - kImporting) * fraction, doing);
      },
      &cancelled_, path_);
  const std::string note = NoteOf(runs);
  done->message = "imported " + traces::ImportText(counts) + (note.empty() ? "" : "; " + note);
  return runs;
}

void TraceLoad::Run() {
  double shown = -1;
  const auto progress = [&](double fraction, const std::string& doing) {
    if (fraction - shown < 0.01 && fraction < 1) return;  // one wake per percent
    shown = fraction;
    Set([&](LoadState& state) {
      state.progress = fraction;
      state.doing = doing;
    });
  };
  const auto fail = [&](Code code, const std::string& message) {
    Set([&](LoadState& state) {
      state.phase = code == Code::kCancelled ? LoadState::Phase::kCancelled : LoadState::Phase::kFailed;
      state.code = code;
      state.message = message;
    });
  };
  try {
    LoadState done;
    auto runs = Load(progress, &done);
    done.phase = LoadState::Phase::kDone;
    done.progress = 1;
    Set([&](LoadState& state) {
      runs_ = std::move(runs);
      state = done;
    });
  } catch (const Error& error) {
    fail(error.code(), error.message());
  } catch (const std::bad_alloc&) {
    fail(Code::kResourceExhausted, path_ + " does not fit into memory");
  } catch (const std::exception& error) {
    fail(Code::kUnknown, fmt::format("{}: {}", path_, error.what()));
  }
}

}  // namespace lanescope::gui
