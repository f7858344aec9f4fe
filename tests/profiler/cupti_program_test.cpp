// SPDX-License-Identifier: Apache-2.0
// Programs under the injection library with a driver and a CUPTI that are stubs: the whole way of a record,
// for each version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "profiler/program_capture.h"
#include "tests/profiler/cupti_records.h"
#include "tests/traces/sample_run.h"
#include "traces/read/trace_reader.h"
#include "traces/store/sqlite.h"

namespace lanescope::profiler {
namespace {

class Variables {
 public:
  ~Variables() {
    for (const std::string& name : names_) unsetenv(name.c_str());
  }
  void Set(const std::string& name, const std::string& value) {
    names_.push_back(name);
    setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::vector<std::string> names_;
};

class CuptiProgramTest : public testing::TestWithParam<uint32_t> {
 protected:
  CuptiProgramTest() {
    variables_.Set("LANESCOPE_INJECTION", LANESCOPE_INJECTION_LIBRARY);
    variables_.Set("LD_LIBRARY_PATH", std::filesystem::path(LANESCOPE_STUB_DRIVER).parent_path());
  }
  ProgramCaptureResult Capture(const std::string& library, uint32_t version) {
    variables_.Set("LANESCOPE_CUPTI", library);
    variables_.Set("STUB_CUPTI_VERSION", std::to_string(version));
    ProgramCaptureOptions options;
    options.words = {LANESCOPE_NVTX_PROGRAM, "cuda", "ranges"};
    return CaptureProgram(options, file_.path(), ended_by_);
  }
  int64_t Count(const std::string& sql) {
    return traces::Database(file_.path(), traces::OpenMode::kReadOnly)
        .QueryInteger("SELECT COUNT(*) FROM " + sql);
  }
  static std::string LibraryOf(uint32_t version) {
    return version < kCupti12_5 ? LANESCOPE_STUB_CUPTI_12 : LANESCOPE_STUB_CUPTI_13;
  }

  Variables variables_;
  traces::ScratchFile file_;
  std::atomic<int> ended_by_{0};
};
INSTANTIATE_TEST_SUITE_P(Cupti, CuptiProgramTest, testing::ValuesIn(kCuptiVersions),
                         [](const auto& version) { return std::to_string(version.param); });

TEST_P(CuptiProgramTest, RecordsOfAVersionReachTheTrace) {
  const ProgramCaptureResult result = Capture(LibraryOf(GetParam()), GetParam());
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.nothing, "");
  EXPECT_TRUE(traces::TraceReader(file_.path()).RunInfoOf(1).complete);
  EXPECT_EQ(Count("CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON k.demangledName = s.id "
                  "WHERE s.value = 'stub_kernel' AND k.\"end\" - k.start = 100"),
            1);
  EXPECT_EQ(Count("CUPTI_ACTIVITY_KIND_MEMCPY"), 2);
  EXPECT_EQ(Count("CUPTI_ACTIVITY_KIND_RUNTIME"), 1);  // the driver's call lies within the runtime's
  EXPECT_EQ(Count("TARGET_INFO_GPU WHERE name = 'Stub GPU'"), 1);
  EXPECT_EQ(Count("LANESCOPE_DROPPED WHERE \"count\" > 0"), 0);
  const bool chooses = GetParam() >= kCupti12_5;
  EXPECT_THAT(result.notes, chooses ? testing::Matcher<std::vector<std::string>>(testing::IsEmpty())
                                    : testing::Contains(testing::HasSubstr("cannot record single calls")));
}

// Forty buffers at once: from 12.9 on some are refused, before that more are made.
TEST_P(CuptiProgramTest, BuffersAreRefusedOnlyWhereCuptiGoesOn) {
  variables_.Set("STUB_CUPTI_BUFFERS", "40");
  const ProgramCaptureResult result = Capture(LibraryOf(GetParam()), GetParam());
  EXPECT_EQ(result.status, 0);
  const int64_t kernels = Count("CUPTI_ACTIVITY_KIND_KERNEL");
  if (GetParam() >= kCupti12_9) {
    EXPECT_LT(kernels, 40);
  } else {
    EXPECT_EQ(kernels, 40);
  }
  EXPECT_EQ(traces::Database(file_.path(), traces::OpenMode::kReadOnly)
                .QueryInteger("SELECT IFNULL(SUM(\"count\"), 0) FROM LANESCOPE_DROPPED"),
            40 - kernels);
}

TEST_F(CuptiProgramTest, AnOldCuptiIsRefusedAndTheProgramRuns) {
  const ProgramCaptureResult result = Capture(LANESCOPE_STUB_CUPTI_12, 19);
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.nothing,
              testing::EndsWith("is CUPTI of CUDA 12.0: that of CUDA 12.2 or later is needed"));
}

TEST_F(CuptiProgramTest, ALibraryThatIsNoCuptiIsNamed) {
  const ProgramCaptureResult result = Capture(LANESCOPE_STUB_DRIVER, 28);
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(
      result.nothing,
      testing::EndsWith("libcuda.so.1 has no cuptiGetVersion: CUPTI of CUDA 12.2 or later is needed"));
}

TEST_F(CuptiProgramTest, ALibraryThatIsNotThereIsNamed) {
  const ProgramCaptureResult result = Capture("/nonexistent/libcupti.so.12", 28);
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.nothing,
              testing::StartsWith("the library that LANESCOPE_CUPTI names cannot be loaded: /nonexistent"));
}

}  // namespace
}  // namespace lanescope::profiler
