// SPDX-License-Identifier: Apache-2.0
// Pictures of steps.
#include "traces/export/timeline_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/traces/sample_run.h"
#include "traces/read/trace_reader.h"

namespace lanescope::traces {
namespace {

using testing::HasSubstr;
using testing::Not;

TraceRun RunOfSteps(int steps) {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  sample.WriteTo(&writer, steps);
  writer.Close();
  return TraceReader(file.path()).ReadRun(1);
}

size_t CountOf(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Law: what ran in the step is drawn with its name, escaped, and nothing of the picture is fetched or run.
TEST(TimelineSvgTest, DrawsTheSlicesOfOneStep) {
  TraceRun run = RunOfSteps(2);
  const std::string svg = TimelineSvg(run, {.title = "a < \"b\" & c"});
  EXPECT_THAT(svg, testing::StartsWith("<svg xmlns"));
  EXPECT_THAT(svg, testing::EndsWith("</svg>"));
  EXPECT_THAT(svg, HasSubstr("a &lt; &quot;b&quot; &amp; c"));
  EXPECT_THAT(svg, HasSubstr("GPU:0"));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_EQ(CountOf(svg, "<title>"), CountOf(svg, "</title>"));
  // Both steps have the same work: each picture has one step's.
  EXPECT_EQ(CountOf(TimelineSvg(run, {.step = 0}), "<title>"),
            CountOf(TimelineSvg(run, {.step = 1}), "<title>"));
  EXPECT_GT(CountOf(svg, "<title>"), 1u);
}

// Over twice the span of the step everything is half as wide: rectangles end before the middle of the rows.
TEST(TimelineSvgTest, PicturesOfOneSpanCanBeCompared) {
  const TraceRun run = RunOfSteps(1);
  const int64_t step_ns = TimelineSvgStepNs(run);
  ASSERT_GT(step_ns, 0);
  const std::string svg = TimelineSvg(run, {.width = 1190, .span_ns = 2 * step_ns});
  for (size_t at = svg.find("<rect x=\""); at != std::string::npos; at = svg.find("<rect x=\"", at + 1)) {
    const double x = std::stod(svg.substr(at + 9));
    const size_t width = svg.find("width=\"", at);
    EXPECT_LE(x + std::stod(svg.substr(width + 7)), 190 + 500 + 1) << svg.substr(at, 80);
  }
}

TEST(TimelineSvgTest, NoStepNoPicture) {
  TraceRun run = RunOfSteps(1);
  EXPECT_EQ(TimelineSvg(run, {.step = 7}), "");
  run.steps.clear();
  EXPECT_EQ(TimelineSvg(run), "");
  EXPECT_EQ(TimelineSvgStepNs(run), 0);
}

}  // namespace
}  // namespace lanescope::traces
