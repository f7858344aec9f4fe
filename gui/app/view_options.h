// SPDX-License-Identifier: Apache-2.0
// The view that `--view` asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lanescope::gui {

// "KEY=VALUE,KEY=VALUE,..."; every key at most once:
//   runs=1+3            shows these runs only (numbers of the runs list, from 1)
//   baseline=2          the run that others are compared with
//   range=2ms..8ms      time range, relative to the start of the step
//   select=NAME         selects the op of this name
//   search=TEXT         what the search finds lights up
//   tab=NAME            selection, statistics, diff, critical, search, sql
//   colour=NAME         op, device, kind, range, error
//   lanes=NAME          all, copies (computing and copies), compute
//   fold=NAME           threads, all: groups of lanes
//   critical=on         shows the critical path
//   move=NAME:DEVICE    what if this op, or all of this name scope, ran on that device
//   set=WHAT=VALUE      what if this were changed in a trace without a graph, as `simulate TRACE --set`
//   notes=off           without what is odd about the files
//   help=on             the page of keys
struct ViewOptions {
  std::vector<int> runs;
  std::optional<int> baseline;
  std::optional<int64_t> from_ns, to_ns;
  std::vector<std::string> changes;  // of a trace without a graph
  std::string select, search, tab, colour, lanes, fold, move_name, move_device;
  bool critical = false;
  bool notes = true;
  bool help = false;
};

// Throws InvalidArgument naming the key.
ViewOptions ParseViewOptions(std::string_view text);

}  // namespace lanescope::gui
