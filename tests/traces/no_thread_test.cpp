// SPDX-License-Identifier: Apache-2.0
// A system that starts no more threads is one clear error, and nothing is left of what was begun.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/support/thread_starts.h"
#include "tests/traces/sample_run.h"
#include "traces/report/summary.h"
#include "traces/store/nsys_tables.h"
#include "traces/store/parallel_reader.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

template <typename Work>
Code CodeWithoutThreads(Work work) {
  const test::ThreadStarts none(0);
  try {
    work();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kUnknown;
}

class NoThreadTest : public testing::Test {
 protected:
  void WriteRun(int steps) {
    SampleRun sample;
    TraceWriter writer(file_.path());
    sample.WriteTo(&writer, steps);
    writer.Close();
  }
  ScratchFile file_;
};

TEST_F(NoThreadTest, Writing) {
  EXPECT_EQ(CodeWithoutThreads([&] { TraceWriter writer(file_.path()); }), Code::kResourceExhausted);
  EXPECT_EQ(CodeWithoutThreads([&] { TraceWriter writer(file_.path() + "2", NewTrace::kWhenClosed); }),
            Code::kResourceExhausted);
  WriteRun(1);
  // Neither the second file nor anything made for it.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file_.folder()), {}), 1);
}

// Large enough for two threads.
TEST_F(NoThreadTest, Reading) {
  WriteRun(20'000);
  ParallelReader reader(file_.path(), 2);
  constexpr const auto& from = tables::kKernel;
  const auto read = [&] {
    reader.Read(
        from, {from.start}, {}, [](int) {}, [](Stretch, const auto&) {});
  };
  EXPECT_EQ(CodeWithoutThreads(read), Code::kResourceExhausted);
  EXPECT_NO_THROW(read());
}

}  // namespace
}  // namespace lanescope::traces
