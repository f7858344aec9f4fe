// SPDX-License-Identifier: Apache-2.0
// How tables of what belongs to a run begin, and columns that several of them have. Internal to traces and
// gui.
#pragma once

#include "traces/store/nsys_tables.h"

namespace lanescope::traces::tables {

inline constexpr Column kRunId{"runId", Need::kAlways, "Run."};
inline constexpr Column kOfNode{"nodeId", Need::kAlways, "Node."};
inline constexpr Column kOp{"op", Need::kAlways, "Op type."};
inline constexpr Column kOfSchedule{"schedule", Need::kAlways, "Schedule."};
inline constexpr Column kOfQueue{"queue", Need::kNotNull, "Number of the queue in the schedule."};
inline constexpr Column kOfStep{"step", Need::kAlways, "The step."};
inline constexpr Column kKind{"kind", Need::kAlways, ""};
inline constexpr Column kTimeOf{"time", Need::kAlways, ""};
inline constexpr Column kVersion{"version", Need::kNotNull, ""};

// A table whose rows belong to runs.
template <typename T>
struct OfRun : TableOf<T> {
  constexpr OfRun(std::string_view name, std::string_view about, std::string_view of_run = kRunId.doc)
      : TableOf<T>(name, about), run{this, About(kRunId, of_run)} {}
  typename TableOf<T>::Number run;
};

}  // namespace lanescope::traces::tables
