#include "core/base/thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/record/recorder.h"
#include "tests/core/base/expect_error.h"
#include "tests/support/thread_starts.h"

namespace lanescope {
namespace {

using lanescope::test::RunningThreads;
using lanescope::test::ThreadStarts;
using ::testing::StartsWith;

TEST(StartThread, RunsTheWork) {
  int sum = 0;
  StartThread("a sum", [&] { sum = 3; }).join();
  EXPECT_EQ(sum, 3);
}

// A system without threads left is an error with a code, not the end of the program.
TEST(StartThread, NoThreadLeftIsResourceExhausted) {
  const ThreadStarts none(0);
  bool ran = false;
  EXPECT_THAT(ErrorOf([&] { StartThread("a test", [&] { ran = true; }).join(); }),
              StartsWith("ResourceExhausted: no thread could be started for a test (Resource temporarily "
                         "unavailable); use fewer workers"));
  EXPECT_FALSE(ran);
  EXPECT_TRUE(none.exhausted());
}

TEST(StartThread, RecorderNeedsOne) {
  class Nowhere : public EventSink {
    void Consume(std::span<const Event>) override {}
    void CountDropped(int64_t) override {}
  } sink;
  const int before = RunningThreads();
  const ThreadStarts none(0);
  EXPECT_THAT(ErrorOf([&] { const Recorder recorder(&sink); }), StartsWith("ResourceExhausted: "));
  EXPECT_EQ(RunningThreads(), before);
}

}  // namespace
}  // namespace lanescope
