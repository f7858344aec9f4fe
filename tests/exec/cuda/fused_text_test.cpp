// SPDX-License-Identifier: Apache-2.0
// Kernels of fused launches: every text of the sample graphs compiles without a warning, and computes what
// the host's fused launch computes (fused_emulation.h).
#include "exec/cuda/fused_text.h"

#include <gtest/gtest.h>

#include <set>

#include "core/schedule/fusion.h"
#include "exec/cuda/nvrtc_library.h"
#include "exec/run/fused_kernel.h"
#include "tests/exec/cuda/fused_emulation.h"

namespace lanescope::exec::test {
namespace {

TEST(FusedText, OfEverySampleAndAGptCompilesWithoutAWarning) {
  std::string reason;
  const auto nvrtc = cuda::LoadNvrtc(&reason);
  if (nvrtc == nullptr) GTEST_SKIP() << reason;
  std::vector<FusedStep> steps;
  for (const std::string& path : SamplePaths()) steps.push_back(CompileFile(path, 0));
  steps.push_back(CompileFile(lanescope::test::SourceDir() + "/tests/golden/graphs/gpt.pb", 0));
  std::set<std::string> texts;
  // Headers are read before the first namespace begins.
  std::string program =
      "#include \"exec/functors/cast.h\"\n#include \"exec/functors/gradient.h\"\n"
      "#include \"exec/functors/optimizer.h\"\n";
  for (const FusedStep& step : steps) {
    for (const Command& command : step.schedule.commands) {
      if (command.fused < 0) continue;
      for (const cuda::FusedText& text : cuda::WriteFusedTexts(step.graph, step.schedule, command).kernels) {
        if (texts.insert(text.text).second) program += InNamespace(text, texts.size());
      }
    }
  }
  EXPECT_GT(texts.size(), 20u);
  std::string log;
  EXPECT_FALSE(nvrtc->Compile(program, 90, &log).empty());
  EXPECT_EQ(log, "");
}

TEST(FusedText, ComputesWhatTheHostDoes) {
  std::vector<FusedStep> steps;
  for (const std::string& path : SamplePaths()) steps.push_back(CompileFile(path, 2));
  for (const int64_t n : {2, 5, 300}) steps.push_back(RowsOf(n));
  steps.push_back(UpdatesOf(3, 20));
  steps.push_back(UpdatesOf(60, 5));
  EmulatedLaunches launches;
  for (const FusedStep& step : steps) {
    for (const Command& command : step.schedule.commands) {
      if (command.fused >= 0) launches.Add(step, command);
    }
  }
  ASSERT_GT(launches.size(), 20u);
  if (!launches.Compile()) GTEST_SKIP() << "no compiler is here";
  for (size_t i = 0; i < launches.size(); ++i) {
    const FusedStep& step = launches.step(i);
    const Command& command = launches.command(i);
    LaunchMemory memory(step, command, static_cast<unsigned>(i)), emulated(memory);
    HostLaunch launch(step, command, &memory);
    MakeFusedKernel(step.graph, step.schedule, command)->Compute(launch);
    launches.Run(i, &emulated);
    ExpectNear(memory, emulated,
               LaunchOp(step.graph, step.schedule, command) + "\n" + launches.texts(i).kernels[0].text);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace lanescope::exec::test
