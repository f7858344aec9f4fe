// SPDX-License-Identifier: Apache-2.0
// Measurements that the processes of a job make of their own computers.
// Internal to study.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "exec/messages/transport.h"

namespace lanescope::study {

struct Measurer {
  std::string computer;  // that the process runs on
  std::string kind;      // of what it measures: what is of one kind on one computer is measured once
};

struct MeasuredText {
  int by = 0;  // rank
  std::string computer, text;
};

// By rank, what stands for the process. Those of one computer measure one after the other, since they would
// disturb each other, those of different computers at the same time; the first of one kind does it for all of
// that kind on its computer. All processes call it.
std::vector<MeasuredText> MeasureInTurns(exec::Transport* transport, const Measurer& own,
                                         const std::function<std::string()>& measure);

}  // namespace lanescope::study
