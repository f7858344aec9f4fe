// SPDX-License-Identifier: Apache-2.0
// The texts of a gate, whole, of one result that is written down here.
#include "study/gate/gate_report.h"

#include <gtest/gtest.h>

#include <limits>

namespace lanescope::study {
namespace {

GateResult Result() {
  GateResult result{.base_name = "a.db",
                    .candidate_name = "b<1>.db",
                    .budget = 0.02,
                    .base_runs = 1,
                    .candidate_runs = 20,
                    .in_turn = true};
  QuantityChange step{.quantity = ParseQuantities("step")[0], .base = 1e6, .candidate = 1.1e6};
  step.verdict = GateVerdict::kWorse;
  step.change = {0.1, 0.09, 0.11};
  step.by = "pairs";
  QuantityChange idle{.quantity = ParseQuantities("idle")[0], .base = 0, .candidate = 5};
  idle.change = {0.02, -0.01, std::numeric_limits<double>::infinity()};
  idle.by = "pairs";
  idle.wanted_runs = 40;
  QuantityChange memory{.quantity = ParseQuantities("memory")[0], .base = 1024, .candidate = 1024};
  memory.verdict = GateVerdict::kFine;
  memory.by = "exact";
  result.quantities = {step, idle, memory};
  result.verdict = VerdictOf(result.quantities);
  result.ops = {{"mat|mul", "GPU:0", 9e4, 8e4, 1e5, true}};
  result.notes = {"a note"};
  return result;
}

TEST(GateReport, Sentence) {
  EXPECT_EQ(GateSentence(Result()),
            "worse: step +10.0% (+9.0% to +11.0%), budget 2.0%; mat|mul on GPU:0 adds 90 us to the step");
}

TEST(GateReport, AnIntervalThatSaysNothingSaysSo) {
  GateResult result = Result();
  result.quantities[1].change.low = -1;
  EXPECT_EQ(ChangeText(result.quantities[1]), "+2.0% (no bounds)");
}

TEST(GateReport, JUnit) {
  EXPECT_EQ(GateJUnit(Result()), R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="lanescope gate" tests="3" failures="1" skipped="1" errors="0">
    <testcase classname="b&lt;1&gt;.db" name="step">
      <failure type="worse" message="step +10.0% (+9.0% to +11.0%), budget 2.0%">worse: step +10.0% (+9.0% to +11.0%), budget 2.0%; mat|mul on GPU:0 adds 90 us to the step</failure>
    </testcase>
    <testcase classname="b&lt;1&gt;.db" name="idle">
      <skipped message="cannot tell: idle +2.0% (-1.0% to without end), budget 2.0%; 40 rounds are wanted"/>
    </testcase>
    <testcase classname="b&lt;1&gt;.db" name="memory">
      <system-out>memory 0.0%, budget 2.0%</system-out>
    </testcase>
  </testsuite>
</testsuites>
)");
}

TEST(GateReport, Markdown) {
  EXPECT_EQ(GateMarkdown(Result()), R"(### Performance: worse

worse: step \+10.0% \(\+9.0% to \+11.0%\), budget 2.0%; mat\|mul on GPU:0 adds 90 us to the step

Base: a.db (1 run). Candidate: b&lt;1&gt;.db (20 runs), run in turn.

| | verdict | base | candidate | change | interval | by |
|---|---|---:|---:|---:|---|---|
| step | worse | 1 ms | 1.1 ms | +10.0% | +9.0% to +11.0% | pairs |
| idle | cannot tell | 0 ns | 5 ns | +2.0% | -1.0% to without end | pairs |
| memory | fine | 1 KiB | 1 KiB | 0.0% | 0.0% to 0.0% | exact |

| op | device | adds to the step | interval |
|---|---|---:|---|
| mat\|mul | GPU:0 | +90 us | +80 us to +100 us |

a note.
)");
}

TEST(GateReport, JsonHasNullForWhatHasNoEnd) {
  const std::string json = GateJson(Result());
  EXPECT_NE(json.find("\"high\": null"), std::string::npos);
  EXPECT_NE(json.find("\"verdict\": \"worse\""), std::string::npos);
  EXPECT_EQ(json, GateJson(Result()));
}

}  // namespace
}  // namespace lanescope::study
