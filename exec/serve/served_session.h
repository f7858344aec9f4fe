// SPDX-License-Identifier: Apache-2.0
// A client's session on the process that serves it. Internal to exec.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/base/frame.h"
#include "core/graph/graph.h"
#include "core/machine/machine.h"
#include "core/place/placement.h"
#include "core/record/event.h"
#include "core/record/recorder.h"
#include "exec/run/session.h"

namespace lanescope::exec {

// Methods take what is left of a call's arguments and return what its answer says. Thread-safe.
class ServedSession : private EventSink {
 public:
  // `arguments`: graph, placement, seed. `updates` counts the steps of all sessions that have changed
  // variables; it must outlive this one.
  ServedSession(FrameReader arguments, const Machine& machine, const SessionOptions& options,
                std::atomic<int64_t>* updates);
  ~ServedSession() override;

  std::string Prepare(FrameReader arguments);
  // Ends soon after `stop` is set.
  std::string Run(FrameReader arguments, const std::atomic<bool>* stop);
  std::string Events();
  // Steps end; others are refused.
  void Close() { session_->Close(); }

 private:
  void Consume(std::span<const Event> events) override;
  void CountDropped(int64_t) override {}
  struct Step {
    PreparedStep* prepared = nullptr;
    bool updates = false;  // changes variables here
  };
  bool Updates(const PreparedStep& step) const;
  Step StepOf(int64_t number);

  const Machine& machine_;
  std::atomic<int64_t>& updates_;
  const Graph graph_;
  Placement placement_;
  std::unique_ptr<Session> session_;
  std::mutex mutex_;  // of what follows
  std::map<int64_t, Step> steps_;
  std::map<int, std::shared_ptr<const TaskShare>>
      recorded_;  // by number of the schedule in the client's trace
  std::vector<Event> events_;
  std::mutex recorder_mutex_;
  std::unique_ptr<Recorder> recorder_;  // from the first recorded step on
};

}  // namespace lanescope::exec
