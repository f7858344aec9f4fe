// SPDX-License-Identifier: Apache-2.0
// Facts of one slice in the file that are not drawn: read when it is selected.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gui/model/timeline_data.h"

namespace lanescope::gui {

struct FactsRequest {
  SliceRef slice;
  std::shared_ptr<const RunData> run;
};

// 0 and empty: the file does not say.
struct SliceFacts {
  SliceRef slice;
  std::array<int64_t, 3> grid{}, block{};
  int64_t registers = 0;                          // of a thread
  int64_t static_shared = 0, dynamic_shared = 0;  // bytes
  int64_t local = 0;                              // bytes, of a thread
  int64_t set_bytes = 0;                          // of a memory set
  // Facts of the innermost operator around the call (RunData::OriginOf): shapes and types of its inputs, and
  // who called it.
  std::string operator_name, shapes, types;
  std::vector<std::string> stack;  // innermost first
};

// Looks the slice up in its run's file. Nothing where the file is gone or another one. Use it with
// LatestWorker: a large file takes a second.
SliceFacts ReadSliceFacts(const FactsRequest& request, const std::atomic<bool>& cancelled);

// Facts that the run itself knows: the call that launched a slice, and the ranges around that call (of a
// slice of a thread: around itself; of a node of a CUDA graph: around the call that recorded it).
struct LaunchDetails {
  SliceRef call;  // invalid: not known, or it is one itself
  std::string call_name;
  int64_t call_ns = 0;
  int64_t delay_ns = 0;          // from the end of the call to the start
  std::vector<SliceRef> ranges;  // outermost first
  std::vector<std::string> range_names;
  std::string signature;  // op, dtypes and shapes of a command of ours
  int64_t launched = 0;   // of a call: how many it launched
};
LaunchDetails LaunchDetailsOf(const Timeline& timeline, const SliceRef& slice);

}  // namespace lanescope::gui
