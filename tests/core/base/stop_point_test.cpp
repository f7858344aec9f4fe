// SPDX-License-Identifier: Apache-2.0
#include "core/base/stop_point.h"

#include <gtest/gtest.h>

#include <optional>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/schedule/schedule.h"
#include "tests/support/random_graph.h"

namespace lanescope {
namespace {

// The code that StopPoint throws; or none.
std::optional<Code> Stopped() {
  try {
    StopPoint();
    return std::nullopt;
  } catch (const Error& error) {
    return error.code();
  }
}

TEST(StopPointTest, EndsWhatAScopeEnds) {
  std::atomic<bool> cancelled = false;
  EXPECT_EQ(Stopped(), std::nullopt);
  {
    const StopScope scope(&cancelled, StopScope::kNoDeadline);
    EXPECT_EQ(Stopped(), std::nullopt);
    EXPECT_FALSE(MustStop());
    cancelled = true;
    EXPECT_EQ(Stopped(), Code::kCancelled);
    EXPECT_TRUE(MustStop());
  }
  EXPECT_EQ(Stopped(), std::nullopt);
  const StopScope late(nullptr, NowNs());
  EXPECT_EQ(Stopped(), Code::kDeadlineExceeded);
  EXPECT_TRUE(MustStop());
}

TEST(StopPointTest, InnerScopesEndNoLaterThanThoseAroundThem) {
  const std::atomic<bool> cancelled = true, running = false;
  {
    const StopScope around(&cancelled, StopScope::kNoDeadline);
    const StopScope scope(&running, StopScope::kNoDeadline);
    EXPECT_EQ(Stopped(), Code::kCancelled);
  }
  {
    const StopScope around(nullptr, NowNs());
    const StopScope scope(&running, StopScope::kNoDeadline);
    EXPECT_EQ(Stopped(), Code::kDeadlineExceeded);
  }
  const StopScope around(&running, StopScope::kNoDeadline);
  { const StopScope scope(nullptr, NowNs()); }
  EXPECT_EQ(Stopped(), std::nullopt);
}

TEST(StopPointTest, ACompilationEndsWhenItsTimeIsOver) {
  const test::RandomGraph random = test::MakeRandomGraph(1, 20, 2);
  const Machine machine = VirtualMachine(2, 1);
  const GraphInfo info = InferGraph(random.graph, {});
  const CompileRequest request = test::RequestFor(random.graph, random.fetches, random.targets);
  const Placement placement = test::RandomPlacement(random.graph, machine, 1);
  const StopScope late(nullptr, NowNs());
  try {
    Compile(random.graph, info, request, placement, machine);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kDeadlineExceeded);
  }
}

}  // namespace
}  // namespace lanescope
