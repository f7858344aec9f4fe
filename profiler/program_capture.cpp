// SPDX-License-Identifier: Apache-2.0
#include "profiler/program_capture.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include "core/base/child.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/interrupt_reason.h"
#include "profiler/capture_channel.h"
#include "profiler/capture_server.h"
#include "profiler/clock_alignment.h"
#include "profiler/cuda_driver.h"
#include "profiler/program_file.h"
#include "traces/record/trace_writer.h"

namespace lanescope::profiler {
namespace {

constexpr char kLibraryName[] = "liblanescope_inject.so";
constexpr char kInjectionVariable[] = "LANESCOPE_INJECTION";
// After a signal: the terminal may have told the program already; then it is told, asked, and killed.
constexpr int64_t kTellAfterNs = 500'000'000, kAskAfterNs = 10'000'000'000, kKillAfterNs = 15'000'000'000;
constexpr int64_t kNsPerSecond = 1'000'000'000;

using Variables = std::map<std::string, std::string>;

void AddCapture(const ProgramCaptureOptions& options, const std::string& socket, const std::string& library,
                Variables* variables) {
  (*variables)["CUDA_INJECTION64_PATH"] = library;
  (*variables)["NVTX_INJECTION64_PATH"] = library;
  (*variables)[kSocketVariable] = socket;
  (*variables)[kModeVariable] = options.mode == CaptureMode::kKernels ? "kernels" : "full";
  const int64_t now = NowNs();
  const int64_t begin = now + static_cast<int64_t>(options.delay_s * kNsPerSecond);
  if (options.delay_s > 0) (*variables)[kBeginVariable] = std::to_string(begin);
  if (options.duration_s > 0) {
    (*variables)[kEndVariable] =
        std::to_string(begin + static_cast<int64_t>(options.duration_s * kNsPerSecond));
  }
  if (!options.nvtx_range.empty()) (*variables)[kRangeVariable] = options.nvtx_range;
}

std::vector<std::string> MakeEnvironment(const ProgramCaptureOptions& options, const std::string& socket,
                                         const std::string& library) {
  Variables variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  if (!library.empty()) AddCapture(options, socket, library, &variables);
  std::vector<std::string> texts;
  for (const auto& [name, value] : variables) texts.push_back(name + "=" + value);
  return texts;
}

// Ends a program after a signal, ever less politely.
class Ending {
 public:
  Ending(Child* program, const std::atomic<int>& ended_by) : program_(program), ended_by_(ended_by) {}
  void Step() {
    if (ended_by_.load() == 0) return;
    const int64_t now = NowNs();
    if (since_ns_ == 0) since_ns_ = now;
    const std::pair<int64_t, int> steps[] = {
        {kTellAfterNs, ended_by_.load()}, {kAskAfterNs, SIGTERM}, {kKillAfterNs, SIGKILL}};
    if (done_ < std::size(steps) && now - since_ns_ > steps[done_].first) {
      program_->Signal(steps[done_++].second);
    }
  }

 private:
  Child* program_;
  const std::atomic<int>& ended_by_;
  int64_t since_ns_ = 0;
  size_t done_ = 0;
};

int WaitFor(Child* program, const std::atomic<int>& ended_by) {
  Ending ending(program, ended_by);
  int how = 0;
  // Short at first: many programs take milliseconds.
  auto pause = std::chrono::microseconds(200);
  while (!program->HasEnded(&how)) {
    ending.Step();
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(20000));
  }
  return how;
}

std::string WhyNothing(const CaptureReport& report, bool injected, const std::string& program) {
  if (!injected) return fmt::format("{} was not found beside the program", kLibraryName);
  if (report.processes == 0 && IsStaticProgram(ProgramFile(program))) {
    return fmt::format(
        "'{}' is linked statically, so that no capture can be loaded into it; link it dynamically", program);
  }
  if (!report.failures.empty()) return report.failures.front();
  if (!HasCudaDriver()) return "this machine has no CUDA driver (libcuda.so.1)";
  if (report.processes == 0) return "the program did not use CUDA";
  return "the program ran nothing on a GPU while it was recorded";
}

traces::RunOutcome Judge(int how, int ended_by, const CaptureReport& report) {
  traces::RunOutcome outcome;
  outcome.incomplete = WIFSIGNALED(how) || report.unfinished_with_device > 0 || !report.ended_early.empty();
  if (ended_by != 0) {
    outcome.error = "Cancelled: " + InterruptReason(ended_by);
  } else if (WIFSIGNALED(how)) {
    outcome.error = fmt::format("Aborted: signal {} ended the program", WTERMSIG(how));
  } else if (!report.ended_early.empty()) {
    outcome.error = "ResourceExhausted: the capture ended before the program: " + report.ended_early;
  } else if (report.unfinished_with_device > 0) {
    outcome.error =
        fmt::format("DataLoss: {} captured processes ended without handing over their last records",
                    report.unfinished_with_device);
  }
  return outcome;
}

void AddNotes(const CaptureReport& report, ProgramCaptureResult* result) {
  result->notes = report.notes;
  if (!report.ended_early.empty()) {
    result->notes.push_back("the capture ended before the program, which went on: " + report.ended_early);
  }
  if (report.unfinished > 0) {
    result->notes.push_back(fmt::format(
        "{} processes ended without handing over what they recorded last, at most 0.2 seconds of it",
        report.unfinished));
  }
  if (report.refused > 0) {
    result->notes.push_back(fmt::format(
        "{} processes were not captured: there were too many at once; capture fewer", report.refused));
  }
  if (report.malformed_frames > 0) {
    result->notes.push_back(
        fmt::format("{} connections were cut off in the middle", report.malformed_frames));
  }
  for (const std::string& failure : report.failures) {
    if (failure != result->nothing) result->notes.push_back("a process was not captured: " + failure);
  }
}

// Gives the notes that a reader of the trace needs beside the rows.
traces::ActivityBatch NotesOf(const ProgramCaptureResult& result, const CaptureReport& report) {
  traces::ActivityBatch batch;
  batch.pid = static_cast<uint32_t>(getpid());
  if (!result.nothing.empty()) batch.notes.push_back({batch.AddText("nothing captured: " + result.nothing)});
  for (const std::string& note : result.notes) batch.notes.push_back({batch.AddText(note)});
  batch.Count(traces::Loss::kMalformed, report.malformed_frames);
  batch.Count(traces::Loss::kUnfinished, report.unfinished);
  batch.Count(traces::Loss::kRefusedProcesses, report.refused);
  return batch;
}

}  // namespace

std::string InjectionLibrary() {
  if (const char* given = std::getenv(kInjectionVariable)) return given;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "";
  for (const char* folder :
       {".", "../lib/lanescope", "../lib64/lanescope", "../lib/x86_64-linux-gnu/lanescope"}) {
    const std::filesystem::path path = program.parent_path() / folder / kLibraryName;
    if (std::filesystem::exists(path, error)) return std::filesystem::canonical(path, error).string();
  }
  return "";
}

ProgramCaptureResult CaptureProgram(const ProgramCaptureOptions& options, const std::string& trace,
                                    const std::atomic<int>& ended_by) {
  LANESCOPE_CHECK(!options.words.empty());
  const std::string library = InjectionLibrary();
  traces::TraceWriter writer(trace);
  RunInfo info;
  info.graph_name = std::filesystem::path(options.words[0]).filename().string();
  ProgramCaptureResult result;
  result.run = writer.BeginRun(info);
  traces::ActivitySink* sink = writer.Capture(result.run);
  std::optional<CaptureServer> server;
  int how = 0;
  try {
    server.emplace(sink);
    Child program({options.words, MakeEnvironment(options, server->socket_path(), library)});
    how = WaitFor(&program, ended_by);
  } catch (const Error& error) {
    if (server) server->Finish();
    writer.EndRun(result.run, {false, error.what(), false});
    writer.Close();
    throw;
  }
  const CaptureReport report = server->Finish();
  result.status = Child::StatusOf(how);
  const int signal = ended_by.load();
  result.interrupted = signal != 0;
  result.processes = report.processes;
  result.rows = report.rows;
  result.device_rows = report.device_rows;
  if (report.device_rows == 0) result.nothing = WhyNothing(report, !library.empty(), options.words[0]);
  AddNotes(report, &result);
  sink->Consume(NotesOf(result, report));
  writer.EndRun(result.run, Judge(how, signal, report));
  writer.Close();
  return result;
}

}  // namespace lanescope::profiler
