// SPDX-License-Identifier: Apache-2.0
// Kernels of attention: they compute what the host's fused launch computes, forward and backward, for sizes
// that no tile divides, whatever the order of the threads (fused_emulation.h), and fit a GPU.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <span>

#include "core/base/file.h"
#include "core/schedule/fusion.h"
#include "core/schedule/row_products.h"
#include "exec/cuda/nvrtc_library.h"
#include "exec/cuda/product_tiles.h"
#include "exec/run/fused_kernel.h"
#include "tests/exec/attention_graph.h"
#include "tests/exec/cuda/fused_emulation.h"

namespace lanescope::exec::test {
namespace {

constexpr const char* kCuobjdump = "/usr/local/cuda/bin/cuobjdump";

FusedStep Compiled(const Attention& attention, const Machine& machine = LargeMachine()) {
  Graph graph = attention.builder.graph();
  CompileRequest request = StepRequestOf(graph, attention.spec);
  return CompileFused(std::move(graph), std::move(request), machine);
}

// A GPU that computes sooner than it reads.
Machine ModelledMachine() {
  Machine machine = LargeMachine();
  DeviceSpec& device = machine.devices[Gpu(machine, 0)];
  device.kind = DeviceKind::kModelled;
  device.peak_flops[DataType::kFloat] = device.peak_flops[DataType::kDouble] = 60e12;
  device.memory_bandwidth = 3e12;
  return machine;
}

std::vector<const Command*> LaunchesWithProducts(const FusedStep& step) {
  std::vector<const Command*> found;
  for (const Command& command : step.schedule.commands) {
    if (command.fused >= 0 && MatricesOfLaunch(step.graph, step.schedule.FusedNodes(command)))
      found.push_back(&command);
  }
  return found;
}

// The first `rows` of each mask that the launch reads hide all.
void HideRows(const FusedStep& step, const Command& command, int64_t rows, LaunchMemory* memory) {
  for (const ValueId v : step.schedule.Inputs(command)) {
    const Value& value = step.schedule.values[v];
    if (step.graph.node(value.source.node).name != "mask") continue;
    const int64_t hidden = rows * value.shape[1];
    std::vector<char>& bytes = memory->Of(v);
    if (value.dtype == DataType::kFloat) {
      std::fill_n(reinterpret_cast<float*>(bytes.data()), hidden, 1.0f);
    } else {
      std::fill_n(reinterpret_cast<double*>(bytes.data()), hidden, 1.0);
    }
  }
}

bool SameBytes(const LaunchMemory& a, const LaunchMemory& b) {
  std::vector<const std::vector<char>*> of_a;
  a.ForEach([&](DataType, const std::vector<char>& bytes) { of_a.push_back(&bytes); });
  size_t next = 0;
  bool same = true;
  b.ForEach([&](DataType, const std::vector<char>& bytes) { same = same && *of_a[next++] == bytes; });
  return same;
}

// Sizes that tiles divide and do not, one row, every usual head size, results of one column and of several
// tiles.
constexpr AttentionSizes kSizes[] = {{2, 1, 1, 2, 1, 1},      {1, 2, 5, 7, 4, 6},      {1, 1, 64, 64, 64, 64},
                                     {1, 1, 65, 130, 40, 80}, {1, 1, 97, 33, 128, 20}, {2, 1, 70, 90, 80, 1},
                                     {1, 1, 30, 31, 33, 136}};

class AttentionCases {
 public:
  void Add(FusedStep step) {
    steps_.push_back(std::move(step));
    for (const Command* command : LaunchesWithProducts(steps_.back())) launches_.Add(steps_.back(), *command);
  }
  // Each size as TensorFlow or PyTorch writes it.
  void AddSizes(std::span<const AttentionSizes> sizes, DataType dtype, bool backward) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      Attention attention(sizes[i], dtype);
      i % 2 == 0 ? attention.OfTorch(backward) : attention.OfTensorFlow(backward);
      Add(Compiled(attention));
    }
  }
  EmulatedLaunches& launches() { return launches_; }
  // Launches of more kernels than this.
  int64_t LongerThan(size_t kernels) const {
    int64_t count = 0;
    for (size_t i = 0; i < launches_.size(); ++i) count += launches_.texts(i).kernels.size() > kernels;
    return count;
  }

 private:
  std::deque<FusedStep> steps_;
  EmulatedLaunches launches_;
};

// Rows that the mask hides as a whole are among them.
void ExpectWhatTheHostDoes(const EmulatedLaunches& launches) {
  for (size_t i = 0; i < launches.size(); ++i) {
    const FusedStep& step = launches.step(i);
    const Command& command = launches.command(i);
    LaunchMemory memory(step, command, static_cast<unsigned>(i));
    HideRows(step, command, 2, &memory);
    LaunchMemory emulated(memory), from_last(memory);
    HostLaunch launch(step, command, &memory);
    MakeFusedKernel(step.graph, step.schedule, command)->Compute(launch);
    launches.Run(i, &emulated);
    launches.Run(i, &from_last, true);
    std::string what = LaunchOp(step.graph, step.schedule, command);
    for (const cuda::FusedText& text : launches.texts(i).kernels) what += "\n" + text.text;
    ExpectNear(memory, emulated, what);
    EXPECT_TRUE(SameBytes(emulated, from_last)) << what;
    if (::testing::Test::HasFailure()) return;
  }
}

// In one pass over the columns.
TEST(FusedProducts, ForwardIsWhatTheHostComputes) {
  AttentionCases steps;
  steps.AddSizes(kSizes, DataType::kFloat, false);
  steps.AddSizes(std::span(kSizes).subspan(2, 3), DataType::kDouble, false);
  ASSERT_EQ(steps.launches().size(), 10u);
  EXPECT_EQ(steps.LongerThan(1), 0);
  for (size_t i = 0; i < steps.launches().size(); ++i) {
    const std::string& text = steps.launches().texts(i).kernels[0].text;
    EXPECT_EQ(text.find("for (int column0"), text.rfind("for (int column0")) << text;
  }
  if (!steps.launches().Compile()) GTEST_SKIP() << "no compiler is here";
  ExpectWhatTheHostDoes(steps.launches());
}

// With probabilities that are read, that are computed again, and in one launch with the forward pass. Sums
// over rows have kernels of their own; of results too wide for one there are several.
TEST(FusedProducts, BackwardIsWhatTheHostComputes) {
  AttentionCases steps;
  steps.AddSizes(kSizes, DataType::kFloat, true);
  steps.AddSizes(std::span(kSizes).subspan(3, 2), DataType::kDouble, true);
  for (const bool of_torch : {true, false}) {
    Attention attention({1, 1, 70, 100, 24, 40});
    of_torch ? attention.OfTorch(true) : attention.OfTensorFlow(true);
    steps.Add(Compiled(attention, ModelledMachine()));
  }
  Attention together({1, 1, 70, 100, 24, 200});
  together.waits = false;
  together.OfTensorFlow(true);
  steps.Add(Compiled(together));
  EXPECT_GE(steps.LongerThan(1), 10);
  EXPECT_GE(steps.LongerThan(2), 1);
  if (!steps.launches().Compile()) GTEST_SKIP() << "no compiler is here";
  ExpectWhatTheHostDoes(steps.launches());
}

// Writes an element of a fed tensor of floats: at(flat index, old value).
template <typename At>
void Rewrite(const FusedStep& step, const Command& command, const std::string& feed, LaunchMemory* memory,
             const At& at) {
  for (const ValueId v : step.schedule.Inputs(command)) {
    if (step.graph.node(step.schedule.values[v].source.node).name != feed) continue;
    std::vector<char>& bytes = memory->Of(v);
    auto* const numbers = reinterpret_cast<float*>(bytes.data());
    for (size_t i = 0; i < bytes.size() / sizeof(float); ++i)
      numbers[i] = at(static_cast<int64_t>(i), numbers[i]);
  }
}

// A causal mask over 150 tokens: as the host, and with what lies above the diagonal in tiles of their own
// replaced by NaN for the first rows, since these tiles are not multiplied.
TEST(FusedProducts, HiddenTilesAreSkipped) {
  constexpr int64_t kTokens = 150, kDepth = 16;
  AttentionCases steps;
  Attention attention({1, 1, kTokens, kTokens, kDepth, 24});
  attention.OfTorch(false);
  steps.Add(Compiled(attention));
  Attention first_rows({1, 1, 64, kTokens, kDepth, 24});
  first_rows.OfTorch(false);
  steps.Add(Compiled(first_rows));
  const EmulatedLaunches& launches = steps.launches();
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_NE(launches.texts(0).kernels[0].text.find("__syncthreads_or"), std::string::npos);
  if (!steps.launches().Compile()) GTEST_SKIP() << "no compiler is here";
  for (size_t i = 0; i < 2; ++i) {
    const FusedStep& step = launches.step(i);
    const Command& command = launches.command(i);
    LaunchMemory memory(step, command, 3);
    Rewrite(step, command, "mask", &memory,
            [](int64_t at, float) { return at % kTokens > at / kTokens ? 1.0f : 0.0f; });
    LaunchMemory emulated(memory);
    const auto set_hidden_keys = [&](float value) {
      if (i == 0) return;
      Rewrite(step, command, "k", &emulated,
              [&](int64_t at, float old) { return at % kTokens >= 64 ? value : old; });
    };
    set_hidden_keys(NAN);
    HostLaunch launch(step, command, &memory);
    MakeFusedKernel(step.graph, step.schedule, command)->Compute(launch);
    launches.Run(i, &emulated);
    Rewrite(step, command, "k", &memory,
            [&](int64_t at, float old) { return at % kTokens >= 64 ? 0.0f : old; });
    Rewrite(step, command, "k", &emulated,
            [&](int64_t at, float old) { return at % kTokens >= 64 ? 0.0f : old; });
    ExpectNear(memory, emulated, launches.texts(i).kernels[0].text);
  }
}

// The emulation tells: without barriers a kernel computes something else, in one order of its threads at
// least.
TEST(FusedProducts, MissingBarriersShow) {
  AttentionCases steps;
  steps.AddSizes(std::span(kSizes).subspan(3, 1), DataType::kFloat, false);
  if (!steps.launches().Compile(true)) GTEST_SKIP() << "no compiler is here";
  const EmulatedLaunches& launches = steps.launches();
  LaunchMemory memory(launches.step(0), launches.command(0), 1), from_last(memory);
  launches.Run(0, &memory);
  launches.Run(0, &from_last, true);
  EXPECT_FALSE(SameBytes(memory, from_last));
}

// A kernel as cuobjdump describes it: bytes of stack and shared memory, registers.
struct Resources {
  int64_t stack = -1, shared = -1, registers = -1;
};
Resources ResourcesOf(const std::string& binary) {
  const std::string file = fmt::format("{}/kernel_{}.cubin", ::testing::TempDir(), getpid());
  WriteFile(file, binary);
  std::string said;
  char part[256];
  FILE* const pipe = popen(fmt::format("{} -res-usage {} 2>&1", kCuobjdump, file).c_str(), "r");
  while (pipe != nullptr && fgets(part, sizeof part, pipe) != nullptr) said += part;
  if (pipe != nullptr) pclose(pipe);
  std::filesystem::remove(file);
  const auto number = [&](const std::string& name) {
    const size_t at = said.rfind(name + ":");
    return at == std::string::npos ? -1 : std::atoll(said.c_str() + at + name.size() + 1);
  };
  return {number("STACK"), number("SHARED"), number("REG")};
}

// NVRTC makes them for compute capability 9.0 without a warning; they take no more than 48 KiB of shared
// memory, two blocks fit the registers of a multiprocessor where heads have up to 128 elements, and none is
// spilled.
TEST(FusedProducts, FitAGpu) {
  std::string reason;
  const auto nvrtc = cuda::LoadNvrtc(&reason);
  if (nvrtc == nullptr) GTEST_SKIP() << reason;
  const bool measures = std::filesystem::exists(kCuobjdump);
  for (const int64_t head : {40, 64, 128, 256}) {
    for (const DataType dtype : {DataType::kFloat, DataType::kDouble}) {
      if (dtype == DataType::kDouble && head != 64) continue;
      Attention attention({2, 2, 300, 300, head, head}, dtype);
      attention.OfTorch(true);
      const FusedStep step = Compiled(attention, ModelledMachine());
      for (const Command* command : LaunchesWithProducts(step)) {
        for (const cuda::FusedText& text :
             cuda::WriteFusedTexts(step.graph, step.schedule, *command).kernels) {
          std::string log;
          const std::string binary = nvrtc->Compile(text.text, 90, &log);
          EXPECT_EQ(log, "");
          if (!measures) continue;
          const Resources of = ResourcesOf(binary);
          EXPECT_EQ(of.stack, 0) << head;
          EXPECT_GT(of.shared, 0);
          EXPECT_LE(of.shared, 48 << 10);
          EXPECT_LE(of.registers, head <= 128 ? 128 : 255) << head;
        }
      }
    }
  }
}

}  // namespace
}  // namespace lanescope::exec::test
