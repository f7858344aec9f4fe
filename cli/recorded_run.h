// One row of measurement: a placed graph that runs steps in a session, recorded into a trace and kept for
// calibration.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/workload.h"
#include "core/event.h"
#include "core/recorder.h"
#include "exec/session.h"
#include "sims/measured_steps.h"
#include "traces/trace_writer.h"

namespace lanescope::cli {

struct RecordedRunOptions {
  bool keep_events = false;      // for calibration and reports
  size_t max_events = SIZE_MAX;  // kept at most
  double copy_cores = 0.1;       // cores that one copy between devices keeps busy, to judge oversubscription
  int64_t timeout_ns = 0;
};

// Not thread-safe. Workload, machine and writer must outlive it.
class RecordedRun : private EventSink {
 public:
  // Compiles and runs the init targets. `writer` may be null: nothing is written.
  RecordedRun(const PlacedGraph& placed, const Machine& machine, TraceWriter* writer,
              const RecordedRunOptions& options);
  ~RecordedRun() override;

  // Steps that are not recorded.
  void WarmUp(int steps);
  // Recorded steps; appends to step_ns. Ends early, with false, after Ctrl-C.
  bool RunSteps(int steps);
  // Everything recorded is in the trace (and in events), and the run is marked complete, or with the error
  // that ended it.
  void Finish(const std::string& error = "");

  int run_id() const { return run_id_; }
  const PlacedGraph& placed() const { return placed_; }
  const Schedule& schedule() const { return *step_->schedule; }
  const GraphInfo& info() const { return *step_->info; }
  const std::vector<int64_t>& step_ns() const { return step_ns_; }
  const std::vector<Event>& events() const { return events_; }
  const std::vector<Tensor>& last_fetches() const { return last_fetches_; }
  exec::Session& session() { return *session_; }
  bool oversubscribed() const { return oversubscribed_; }
  // Called with the fetches of every recorded step.
  std::function<void(int64_t step, const std::vector<Tensor>&)> on_step;

 private:
  void Consume(std::span<const Event> events) override;
  void CountDropped(int64_t records) override;
  std::vector<Tensor> RunOne();
  void JudgeOversubscription();
  double CoresAskedFor(const Command& command) const;

  PlacedGraph placed_;
  const Machine& machine_;
  TraceWriter* writer_;
  RecordedRunOptions options_;
  std::unique_ptr<exec::Session> session_;
  exec::PreparedStep* step_ = nullptr;
  exec::RunRequest request_;
  std::unique_ptr<Recorder> recorder_;
  EventSink* trace_sink_ = nullptr;
  int run_id_ = 0;
  int64_t next_step_ = 0;
  bool finished_ = false;
  bool oversubscribed_ = false;
  std::vector<int64_t> step_ns_;
  std::vector<Event> events_;
  std::vector<Tensor> last_fetches_;
};

// True when any device of the machine, or a link between two of them, is made of host threads.
bool IsEmulated(const Machine& machine);

}  // namespace lanescope::cli
