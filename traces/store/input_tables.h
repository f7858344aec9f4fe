// SPDX-License-Identifier: Apache-2.0
// Tables of what steps wait for: the queues of a run's input, who fills them, and when. Internal to traces
// and gui.
#pragma once

#include "traces/store/run_table.h"

namespace lanescope::traces::tables {

inline constexpr Column kInputQueue{"queue", Need::kAlways, "What is waited for (LANESCOPE_INPUT_QUEUE)."};

struct InputThreadTable : OfRun<InputThreadTable> {
  constexpr InputThreadTable()
      : OfRun("LANESCOPE_INPUT_THREAD", "Threads that fill queues while the steps of a run empty them.") {}
  Number number{this, {"thread", Need::kAlways, "Number of the thread in the run."}};
  Text op{this, {"op", Need::kNotNull, "The node that it runs again and again."}};
  Text queue{this, {"queue", Need::kNotNull, "What its configuration calls the queue that it fills."}};
};
inline constexpr InputThreadTable kInputThread;

struct InputQueueTable : OfRun<InputQueueTable> {
  constexpr InputQueueTable()
      : OfRun("LANESCOPE_INPUT_QUEUE", "Queues of tensors and readers that steps wait for.") {}
  Number number{this, {kInputQueue.name, Need::kAlways, "Its number in the run."}};
  Text name{this, {kName.name, Need::kNotNull, "\"queue 'examples'\", \"reader 'lines'\"."}};
  Integer capacity{this,
                   {"capacity", Need::kOptional, "Elements that it holds at most; NULL: as many as come."}};
  Size kept{this, {"kept", Need::kNotNull, "Elements that it gives away only once it is closed."}};
};
inline constexpr InputQueueTable kInputQueueTable;

struct InputStepTable : OfRun<InputStepTable> {
  constexpr InputStepTable() : OfRun("LANESCOPE_INPUT_STEP", "Steps of the threads that fill queues.") {}
  Number thread{this, {"thread", Need::kAlways, "Thread (LANESCOPE_INPUT_THREAD)."}};
  Number number{this, About(kOfStep, "Number of the step in its thread.")};
  Time start{this, kStart};
  Time end{this, kEnd};
};
inline constexpr InputStepTable kInputStep;

struct InputWorkTable : OfRun<InputWorkTable> {
  constexpr InputWorkTable()
      : OfRun(
            "LANESCOPE_INPUT_WORK",
            "What the threads' launches of nodes that may wait took, once they could go on; rows of one add "
            "up.") {}
  Number thread{this, {"thread", Need::kAlways, "Thread (LANESCOPE_INPUT_THREAD)."}};
  Number node{this, About(kOfNode, "The node.")};
  Size count{this, {"count", Need::kAlways, "How often it ran."}};
  Size ns{this, {"ns", Need::kAlways, "For how long, without waiting (ns)."}};
};
inline constexpr InputWorkTable kInputWork;

struct WaitTable : OfRun<WaitTable> {
  constexpr WaitTable()
      : OfRun("LANESCOPE_WAIT",
              "When a command waited for what other steps do: a dequeue for elements, an enqueue for room, a "
              "read for its turn.") {}
  Number thread{
      this,
      {"thread", Need::kOptional, "Thread whose step it is (LANESCOPE_INPUT_THREAD); NULL: the run's."}};
  Number step{this, About(kOfStep, "The step, of the thread or of the run.")};
  Number node{this, About(kOfNode, "The node that waits.")};
  Number queue{this, kInputQueue};
  Time start{this, kStart};
  Time end{this, kEnd};
};
inline constexpr WaitTable kWait;

struct QueueFillTable : OfRun<QueueFillTable> {
  constexpr QueueFillTable()
      : OfRun("LANESCOPE_QUEUE_FILL", "Elements in the queues over time, as seen between steps.") {}
  Number queue{this, About(kInputQueue, "Queue (LANESCOPE_INPUT_QUEUE).")};
  Time time{this, About(kTimeOf, "From this time on (ns since time zero of the run).")};
  Size elements{this, {"elements", Need::kAlways, "Elements in it."}};
};
inline constexpr QueueFillTable kQueueFill;

}  // namespace lanescope::traces::tables
