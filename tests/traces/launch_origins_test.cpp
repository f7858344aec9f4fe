// SPDX-License-Identifier: Apache-2.0
// Where kernels come from, in made traces whose truth stands beside them.
#include "traces/report/launch_origins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "traces/read/trace_reader.h"

namespace lanescope::traces {
namespace {

class MadeOrigins {
 public:
  // By start, the outer of two first. The number of its text.
  int Range(std::string text, int64_t start, int64_t end, std::string shapes = "", std::string stack = "") {
    TraceRange range;
    range.start_ns = start;
    range.end_ns = end;
    range.global_tid = 7;
    range.text = Text(std::move(text));
    if (!shapes.empty()) {
      range.details = static_cast<int>(run_.operators.size());
      run_.operators.push_back({Text(std::move(shapes)), Text(R"(["float","half"])"),
                                stack.empty() ? -1 : Text(std::move(stack))});
    }
    run_.ranges.push_back(range);
    return static_cast<int>(run_.ranges.size()) - 1;
  }
  void Launch(std::string name, int range, int64_t ns) {
    TraceLaunch launch;
    launch.name = Text(std::move(name));
    launch.range = range;
    launch.end_ns = ns;
    run_.launches.push_back(launch);
  }
  LaunchOrigins Find() const { return LaunchOrigins(run_); }

 private:
  int Text(std::string text) {
    run_.texts.push_back(std::move(text));
    return static_cast<int>(run_.texts.size()) - 1;
  }
  TraceRun run_;
};

// The kernel is launched inside a range of a library inside aten::mm, which has shapes; around that are two
// frames.
TEST(LaunchOriginsTest, TheOperatorAroundTheLaunchAndItsCallers) {
  MadeOrigins made;
  made.Range("train.py(3): step", 0, 100);
  made.Range("linear.py(96): forward", 10, 90);
  made.Range("aten::mm", 20, 80, "[[64,512],[512,512]]");
  const int inner = made.Range("cublas", 30, 40);
  made.Launch("gemm", inner, 50);
  const LaunchOrigins origins = made.Find();
  const LaunchOrigin* origin = origins.Find("gemm");
  ASSERT_NE(origin, nullptr);
  EXPECT_EQ(OriginText(*origin), "aten::mm of [[64,512],[512,512]] (float, half)");
  EXPECT_EQ(CallersText(*origin), "linear.py(96): forward < train.py(3): step");
  EXPECT_EQ(origins.Find("other"), nullptr);
}

TEST(LaunchOriginsTest, ARecordedCallStackGoesBeforeTheRangesAround) {
  MadeOrigins made;
  made.Range("ProfilerStep#3", 0, 100);
  made.Launch("gemm", made.Range("aten::mm", 20, 80, "[[1]]", "f.py(1): mm;;g.py(2): main"), 50);
  EXPECT_EQ(CallersText(*made.Find().Find("gemm")), "f.py(1): mm < g.py(2): main");
}

// Two launches of [8] take 30 together, one of [9] takes 40 alone: most of the time is that of [9].
TEST(LaunchOriginsTest, OfSeveralTheOneThatTakesTheMostTime) {
  MadeOrigins made;
  const int of_8 = made.Range("aten::add", 0, 10, "[[8]]"), of_9 = made.Range("aten::add", 20, 30, "[[9]]");
  made.Launch("add", of_8, 15);
  made.Launch("add", of_8, 15);
  made.Launch("add", of_9, 40);
  EXPECT_EQ(OriginText(*made.Find().Find("add")), "aten::add of [[9]] (float, half), 1 of 3 launches");
}

// A range that only overlaps the other is not around it.
TEST(LaunchOriginsTest, RangesThatCrossDoNotHoldEachOther) {
  MadeOrigins made;
  made.Range("a", 0, 50);
  made.Launch("k", made.Range("b", 40, 60), 5);
  EXPECT_EQ(OriginText(*made.Find().Find("k")), "b");
  EXPECT_EQ(CallersText(*made.Find().Find("k")), "");
}

TEST(LaunchOriginsTest, WithoutRangesNothingIsSaid) {
  MadeOrigins made;
  made.Launch("k", -1, 5);
  EXPECT_EQ(made.Find().Find("k"), nullptr);
}

}  // namespace
}  // namespace lanescope::traces
