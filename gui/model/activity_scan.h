// SPDX-License-Identifier: Apache-2.0
// The activity tables of a trace, sorted into the lanes of its runs. Part of trace_loader.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/machine/copy_class.h"
#include "gui/model/run_builder.h"
#include "gui/model/run_data.h"
#include "traces/read/launch_links.h"
#include "traces/read/run_tables.h"
#include "traces/read/step_ranges.h"

namespace lanescope::gui {

// Facts of a run that the scan knows beforehand.
struct RunFrame {
  RunData data;  // devices, ops of the graph's nodes and commands are there
  std::vector<std::pair<int, int>> edges;
  traces::RunNumbers numbers;
  std::unordered_map<std::string, int> op_of_name;  // of the graph's nodes
  std::shared_ptr<const traces::RangeSteps>
      range_steps;                                    // where the trace records no steps; null: it has none
  std::shared_ptr<const traces::ApiCallIndex> calls;  // that launched activities; null: the trace has none
  bool ours = true;
  std::vector<int> hosts = {-1};  // HostNumbers

  // Index into data.devices; a number that the trace did not announce gets a device of its own.
  int DeviceIndex(int number);
  // "rank 3 GPU:0 stream 7 (as the profiler calls it)"; device number of the trace.
  std::string StreamLabel(int device, int stream) const;

  std::map<std::pair<int, int>, std::string> stream_names;  // by device and stream
};

// The name of copies on the screen: "copy to device".
std::string_view CopyTitle(CopyClass copy_class);

// A device that a trace does not announce, as far as it is known.
RunDevice UnannouncedDevice(int number);

using ScanProgress = std::function<void(double fraction, const std::string& doing)>;

// Reads kernels, copies and memory sets into raw lanes, one list a run, and adds the ops that appear, and the
// steps where they are made of ranges. Rows with times that make no sense are counted in
// RunData::invalid_rows. Throws what TraceReader throws, Cancelled soon after `*cancelled` (may be null)
// became true.
std::vector<std::vector<RawLane>> ScanActivities(const std::string& path, std::vector<RunFrame>* frames,
                                                 const std::atomic<bool>* cancelled,
                                                 const ScanProgress& progress);

}  // namespace lanescope::gui
