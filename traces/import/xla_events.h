// SPDX-License-Identifier: Apache-2.0
// Events of XLA's profiler, as XPlane files and the trace viewer's JSON have them. Internal to traces.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "traces/import/import_trace.h"

namespace lanescope::traces {

// A device or a host of a profile: a plane of XPlane, a process of the viewer.
struct XlaPlane {
  enum class Kind : uint8_t { kGpu, kAccelerator, kCalls, kThreads, kOther };
  Kind kind = Kind::kOther;
  std::string name;
  int64_t device = 0;  // of those of its kind
};

// A line of it, a thread of the viewer.
struct XlaLine {
  enum class Use : uint8_t { kEvents, kSteps, kNone };
  XlaPlane plane;
  int64_t id = 0;
  Use use = Use::kNone;
  std::string unused;        // what a trace leaves out with it
  bool beside_core = false;  // it is of what does not run on the core of a TPU
};

// The statistics of an event; -1, empty: there is none.
struct XlaFacts {
  // One statistic, as a number or a text.
  void Add(std::string_view stat, int64_t number, std::string_view text);

  int64_t correlation = -1, step = -1, step_id = -1, group = -1, device = -1, graph = -1, graph_node = -1;
  std::string_view kernel, copy, op;
};

// The trace and the names must outlive it. Of one thread.
class XlaEvents {
 public:
  XlaEvents(ImportTrace* trace, ImportNames* names) : trace_(*trace), names_(*names) {}

  XlaPlane Plane(std::string_view name);
  // Names the thread where a host's line has events that are used.
  XlaLine Line(const XlaPlane& plane, int64_t id, std::string_view name);
  // An event whose times are set gets all else. False: it is no event of the trace, but may become a step.
  bool Describe(const XlaLine& line, std::string_view name, const XlaFacts& facts, ImportEvent* event);
  // Steps that a device alone tells, to be added; none where the host has told steps.
  std::vector<ImportEvent> TakeSteps();

 private:
  void DescribeOnDevice(const XlaLine& line, std::string_view name, const XlaFacts& facts,
                        ImportEvent* event);
  void DescribeOnHost(const XlaLine& line, std::string_view name, const XlaFacts& facts, ImportEvent* event);
  int64_t CpuOf(int64_t ordinal);

  ImportTrace& trace_;
  ImportNames& names_;
  std::map<int64_t, int64_t> cpus_;
  std::vector<ImportEvent> steps_;  // of one device
  int64_t steps_device_ = -1;
  bool host_has_steps_ = false;
};

}  // namespace lanescope::traces
