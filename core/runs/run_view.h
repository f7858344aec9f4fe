// SPDX-License-Identifier: Apache-2.0
// A run as its analyses see it, whoever ran and recorded it: commands on queues and what they wait for,
// steps, and, in columns, the pieces of work that ran. Filled from the events of a schedule
// (core/runs/event_view.h) or from what was read from SQLite (traces/read/trace_view.h, and the timeline's
// runs).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/rows.h"
#include "core/schedule/schedule.h"

namespace lanescope {

// NCCL's kernels move data between devices and wait for it; they are no compute.
bool IsCommunication(std::string_view kernel_name);
// Slices of predicted plans that are no work and say what a device waits for (sims/plans/timeline.h):
// "bubble: fill", "waits for stage 2", behind a scope or not.
bool IsWaiting(std::string_view op);

// Pieces of work in columns of equal length, of which those after `op` are empty where they say nothing.
struct SliceColumns {
  std::vector<int64_t> start_ns, end_ns;  // of the run's clock
  std::vector<int32_t> op;                // index into the run's ops; -1: nameless
  std::vector<int32_t> command;           // index into the run's commands; -1: nobody says
  std::vector<int32_t> step;              // number of the step; -1: nobody says
  std::vector<int64_t> bytes;             // copies
  std::vector<int32_t> route;             // copies of no command: index into the run's routes
  std::vector<int32_t> range;             // index into the run's range texts; -1: outside all

  size_t size() const { return start_ns.size(); }
  int32_t CommandOf(size_t slice) const { return Cell(command, slice); }
  int32_t StepOf(size_t slice) const { return Cell(step, slice); }
  int32_t RouteOf(size_t slice) const { return Cell(route, slice); }
  int32_t RangeOf(size_t slice) const { return Cell(range, slice); }

  // Sets a fact of the slice that was added last, whose op is there. Without any the column stays empty.
  void Say(std::vector<int32_t> SliceColumns::*column, int32_t value) {
    std::vector<int32_t>& cells = this->*column;
    if (value < 0 && cells.empty()) return;
    if (cells.empty()) cells.assign(op.size() - 1, -1);
    cells.push_back(value);
  }

 private:
  static int32_t Cell(const std::vector<int32_t>& column, size_t slice) {
    return column.empty() ? -1 : column[slice];
  }
};

// Owns its tables. The slices are the owner's of the run, or `owned`; names are texts of the run, which must
// outlive it. Movable, not copied. Immutable once built, so any thread may read it.
struct RunView {
  struct Device {
    int id = 0;          // the trace's number
    std::string label;   // "GPU:0"
    std::string kind{};  // of DeviceKindName; empty: unknown
  };
  struct Op {
    std::string_view name;  // of the node, or of the kernel
    bool communication = false;
    bool waiting = false;  // no work: on no path
  };
  struct Route {
    int src = 0, dst = 0;  // indexes into devices
    std::string name;      // "[CUDA memcpy HtoD]"
  };
  struct Queue {
    bool in_order = false;
  };
  struct Command {
    CommandKind kind = CommandKind::kLaunch;
    int queue = -1;          // index into queues
    int op = -1;             // index into ops; -1: none
    int signature = -1;      // index into signatures
    int src = -1, dst = -1;  // copies: indexes into devices
  };
  struct Step {
    int number = 0;
    int64_t start_ns = 0, end_ns = 0;
    bool counts = true;  // false: others disturbed it
  };
  struct Lane {
    const SliceColumns* slices = nullptr;
    int device = 0;  // index into devices: that ran them
    bool copies = false;
    int source = -1;  // the owner's number of the lane
  };

  RunView() = default;
  RunView(RunView&&) = default;
  RunView& operator=(RunView&&) = default;

  int run = 1;            // for messages
  bool emulated = false;  // devices share the host's processors
  bool by_node = false;   // ops are nodes of a graph, not kernels
  std::vector<Device> devices;
  std::vector<Op> ops;
  std::vector<Route> routes;
  std::vector<std::string_view> signatures, ranges;
  std::vector<Queue> queues;
  std::vector<Command> commands;  // those of a queue in the order of the queue
  std::vector<Step> steps;        // by start
  bool whole = false;             // nobody recorded steps: the only one is over everything
  std::vector<Lane> lanes;
  std::vector<std::unique_ptr<const SliceColumns>> owned;

  // By command, those that hold it up: its dependencies, and where Record or Wait stand on its in-order queue
  // the one before it there.
  Rows<> holders;
  // Whether anybody says what waits for what: else (other tools' traces) only times tell.
  bool knows_dependencies() const { return !commands.empty(); }

  // Adds a lane of its own.
  SliceColumns* AddLane(int device, bool copies);
  // When commands, queues, lanes and steps are there: `dependencies` by index into commands, of which those
  // out of range are left out.
  void Settle(std::span<const std::pair<int, int>> dependencies);
};

}  // namespace lanescope
