// SPDX-License-Identifier: Apache-2.0
// Details of Kineto's events beside their times: in their arguments, and in events that describe others.
// Internal to traces.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <utility>

#include "traces/import/event_fields.h"
#include "traces/import/import_trace.h"

namespace lanescope::traces {

// Fills the lists of a trace that its events refer to. The trace and the names must outlive it. Of one
// thread.
class KinetoDetails {
 public:
  KinetoDetails(ImportTrace* trace, ImportNames* names) : trace_(*trace), names_(*names) {}

  // From an event's arguments, which are an object, to the event, whose kind, process and times are set.
  void Read(const JsonFields& args, ImportEvent* event);
  // Chrome's viewer has streams as threads of processes that are devices: tells the two apart by what ran
  // there.
  void Note(const ImportEvent& event);
  // The counters of a range of CUPTI's range profiler are the numbers among its arguments.
  void AddCounters(const JsonFields& args, ImportEvent* range);
  // The process of an event: what the profiler says of itself stands in a process and a thread that have
  // names for numbers, and old ones write "stream 7" for a thread.
  int64_t ProcessOf(const JsonFields& event);
  int64_t ThreadOf(const JsonFields& event, int64_t pid);
  // "process_name", "thread_name" and their like.
  void AddName(const ChromeEvent& event);
  // False: it is of the host's memory, or does not say how much.
  bool AddMemory(const ChromeEvent& event);
  // Threads and processes get names: what are streams and devices of viewers is so in the trace.
  void NameStreams();
  // Whether what a file says under this key, beside its events, is of use for ReadFile.
  static bool IsOfFile(std::string_view key);
  // The fields of a file beside its events: its GPUs, rank, what its times are behind, and its host.
  void ReadFile(const nlohmann::json& file, const std::string& path);

 private:
  void AddLaunch(const JsonFields& args, ImportEvent* kernel);
  void AddCollective(const JsonFields& args, int64_t correlation);
  void AddOperator(const JsonFields& args, ImportEvent* range);
  static void AddEnds(const JsonFields& args, ImportEvent* copy);
  void ReadDevices(const nlohmann::json& list);
  // Where the file says none, by the name that it has or had: tensorboard_trace_handler calls files after the
  // host and the process, "node7_4711.1694128201545.pt.trace.json", and the process must be one of the
  // trace's.
  void FindHost(const nlohmann::json& file, const std::string& path);
  std::string HostInName(const std::string& path) const;

  ImportTrace& trace_;
  ImportNames& names_;
  std::map<ImportLaunch, int> launches_;
  std::map<ImportOperator, int> operators_;
  std::map<std::pair<int64_t, int64_t>, std::pair<int64_t, int64_t>> stream_of_;  // by pid and tid of viewers
  std::set<int64_t> host_pids_;
  std::map<std::string, int64_t> named_pids_;
  std::map<std::pair<int64_t, std::string>, int64_t> named_tids_;  // by process
};

}  // namespace lanescope::traces
