// SPDX-License-Identifier: Apache-2.0
#include "traces/read/step_reader.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/record/disturbance.h"
#include "traces/store/lanescope_tables.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {
namespace {

// Which of the steps count.
void ReadDisturbances(Database& database, int run, TraceRun* out) {
  using tables::kDisturbance;
  struct Row {
    int round = 0;
    bool disturbed = false;
  };
  std::unordered_map<int, Row> rows;  // by step
  ReadRunRows(database, kDisturbance, run, {kDisturbance.step, kDisturbance.round, kDisturbance.disturbed},
              [&](const auto& row) {
                rows[row[kDisturbance.step]] = {row[kDisturbance.round], row[kDisturbance.disturbed]};
              });
  const auto counts = [&](const TraceStep& step) {
    const auto row = rows.find(step.step);
    return row == rows.end() || !row->second.disturbed;
  };
  const std::vector<TraceStep>& judged = out->time_steps();
  const auto left_alone = static_cast<size_t>(std::count_if(judged.begin(), judged.end(), counts));
  out->all_disturbed = AllStepsCount(left_alone, judged.size());
  for (std::vector<TraceStep>* steps : {&out->steps, &out->untimed_steps}) {
    for (TraceStep& step : *steps) {
      step.counts = out->all_disturbed || counts(step);
      if (const auto row = rows.find(step.step); row != rows.end()) step.round = row->second.round;
    }
  }
}

template <typename Table>
void ReadStepsOf(Database& database, const Table& from, int run, TraceRun* out,
                 std::vector<TraceStep>* steps) {
  ReadRunRows(database, from, run, {from.number, from.start, from.end}, [&](const auto& row) {
    const std::optional<int64_t> start = row[from.start], end = row[from.end];
    if (!start || !end || *end < *start) {
      ++out->invalid_rows;
    } else {
      steps->push_back({row[from.number], *start, *end});
    }
  });
}

}  // namespace

void ReadSteps(Database& database, int run, TraceRun* out) {
  ReadStepsOf(database, tables::kStep, run, out, &out->steps);
  ReadStepsOf(database, tables::kUntimedStep, run, out, &out->untimed_steps);
  ReadDisturbances(database, run, out);
}

}  // namespace lanescope::traces
