// SPDX-License-Identifier: Apache-2.0
#include "study/gate/command_rounds.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/units.h"
#include "study/base/child_process.h"
#include "study/base/temporary_folder.h"

namespace lanescope::study {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kLongestCommandMs = int64_t{24} * 3600 * 1000;
constexpr size_t kShownOps = 8;

bool WritesTrace(const std::string& command) { return command.find(kTracePlace) != std::string::npos; }

std::string WithTrace(std::string command, const std::string& trace) {
  const std::string_view place = kTracePlace;
  for (size_t at = 0; (at = command.find(place, at)) != std::string::npos; at += trace.size())
    command.replace(at, place.size(), trace);
  return command;
}

std::string LastErrorLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const size_t line = text.rfind('\n');
  return line == std::string::npos ? text : text.substr(line + 1);
}

// Files at `place`, and those called after it ("PLACE.json.gz", "PLACE_results.db").
std::vector<std::string> WrittenAt(const std::string& place) {
  namespace fs = std::filesystem;
  std::vector<std::string> written;
  const std::string name = fs::path(place).filename().string();
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(place).parent_path())) {
    if (entry.path().filename().string().starts_with(name)) written.push_back(entry.path().string());
  }
  std::ranges::sort(written);
  return written;
}

class Rounds {
 public:
  explicit Rounds(const CommandRounds& request)
      : request_(request), order_(request.seed), begun_ns_(NowNs()) {
    traces_ = WritesTrace(request.base);
    if (traces_ != WritesTrace(request.candidate)) {
      Throw(Code::kInvalidArgument, "one command alone has {}; both write a trace there, or neither does",
            kTracePlace);
    }
    gate_.quantities = traces_ ? request.quantities : std::vector{Quantity{Quantity::Kind::kWall, ""}};
    gate_.base_name = request.base;
    gate_.candidate_name = request.candidate;
    gate_.budget = request.budget;
    gate_.in_turn = true;
  }

  GateResult Run() {
    for (int i = 0; i < request_.warmup && IsInTime(); ++i) RunRound(false);
    const auto uncertain = static_cast<size_t>(
        std::ranges::count_if(gate_.quantities, [](const Quantity& q) { return !q.is_exact(); }));
    const std::vector<int> looks = LooksOf(request_.rounds, uncertain);
    gate_.looks = static_cast<int>(looks.size());
    GateResult result;
    for (const int look : looks) {
      while (static_cast<int>(gate_.base.size()) < look && (gate_.base.empty() || IsInTime())) RunRound(true);
      result = Gate(gate_);
      TellLook(result);
      if (result.verdict != GateVerdict::kCannotTell || !IsInTime()) break;
    }
    if (result.base_runs < request_.rounds && result.verdict == GateVerdict::kCannotTell)
      result.notes.push_back(
          fmt::format("the time limit came after {} of {} rounds", result.base_runs, request_.rounds));
    result.ops = ops_.Largest(kShownOps);
    return result;
  }

  std::vector<RunSample> TakeCandidates() { return std::move(gate_.candidate); }

 private:
  bool IsInTime() const {
    return request_.time_limit_ns <= 0 || NowNs() - begun_ns_ < request_.time_limit_ns;
  }

  void RunRound(bool counts) {
    MeasuredRun base, candidate;
    // A path of its own each: who imports a trace may know it by that.
    const std::string place = fmt::format("{}/round_{}", folder_.path(), ++round_);
    const auto run_base = [&] { base = RunCommand(request_.base, place + "_base.db"); };
    const bool base_first = (order_() >> 63) != 0;
    if (base_first) run_base();
    candidate = RunCommand(request_.candidate, place + "_candidate.db");
    if (!base_first) run_base();
    if (traces_ && counts) ops_.Add(request_.diff(base, candidate));
    for (const std::string& written : WrittenAt(place + "_")) {
      std::error_code ignored;
      std::filesystem::remove_all(written, ignored);
    }
    if (!counts) return;
    gate_.base.push_back(std::move(base.sample));
    gate_.candidate.push_back(std::move(candidate.sample));
  }

  MeasuredRun RunCommand(const std::string& command, const std::string& trace) {
    const ChildLimits limits{request_.time_limit_ns > 0
                                 ? std::max<int64_t>(1, request_.time_limit_ns / kNsPerMs)
                                 : kLongestCommandMs,
                             request_.cancellation};
    const int64_t start_ns = NowNs();
    const ChildResult result = RunShell(command, trace, limits);
    const auto wall = static_cast<double>(NowNs() - start_ns);
    if (result.status != 0) {
      const std::string line = LastErrorLine(result.errors);
      Throw(Code::kFailedPrecondition, "'{}' ended with status {}{}{}", command, result.status,
            line.empty() ? "" : ": ", line);
    }
    if (!traces_) return {{.steps = 1, .of = {{wall, wall, std::numeric_limits<double>::infinity()}}}, {}};
    const std::string written = TraceAt(trace, command);
    MeasuredRun run = request_.read(written);
    run.trace = written;
    return run;
  }

  ChildResult RunShell(const std::string& command, const std::string& trace,
                       const ChildLimits& limits) const {
    try {
      return RunChild({"/bin/sh", "-c", WithTrace(command, trace)}, "", limits);
    } catch (const Error& error) {
      if (error.code() != Code::kDeadlineExceeded) throw;
      Throw(Code::kDeadlineExceeded, "'{}' did not end within {:g} seconds, the time limit of the gate",
            command, static_cast<double>(limits.timeout_ms) / 1000);
    }
  }

  std::string TraceAt(const std::string& place, const std::string& command) const {
    if (std::error_code error; std::filesystem::exists(place, error)) return place;
    std::vector<std::string> traces = WrittenAt(place);
    std::erase_if(traces, [this](const std::string& path) { return !request_.is_trace(path); });
    if (traces.empty()) Throw(Code::kFailedPrecondition, "'{}' wrote no trace at {}", command, kTracePlace);
    if (traces.size() > 1) {
      const auto ending = [&](size_t i) { return traces[i].substr(place.size()); };
      Throw(Code::kFailedPrecondition, "'{}' wrote several traces, {}{} and {}{}; let it write one", command,
            kTracePlace, ending(0), kTracePlace, ending(1));
    }
    return traces.front();
  }

  void TellLook(const GateResult& result) {
    for (const QuantityChange& change : result.quantities) {
      Tell(request_.note,
           fmt::format("after {} rounds: {} {} ({} to {}): {}", result.base_runs, change.quantity.name(),
                       SignedPercentText(change.change.value), SignedPercentText(change.change.low),
                       SignedPercentText(change.change.high), GateVerdictName(change.verdict)));
    }
  }

  const CommandRounds& request_;
  std::mt19937_64 order_;  // the same numbers with every standard library
  const int64_t begun_ns_;
  const TemporaryFolder folder_;
  bool traces_ = false;
  int64_t round_ = 0;
  GateRequest gate_;
  OpChanges ops_;
};

}  // namespace

GateResult GateCommands(const CommandRounds& request, std::vector<RunSample>* samples) {
  Rounds rounds(request);
  GateResult result = rounds.Run();
  if (samples != nullptr) *samples = rounds.TakeCandidates();
  return result;
}

}  // namespace lanescope::study
