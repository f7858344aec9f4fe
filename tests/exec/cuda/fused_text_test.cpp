// SPDX-License-Identifier: Apache-2.0
// Kernels of fused launches: every text of the sample graphs compiles without a warning, and computes what
// the host's fused launch computes. The latter is tried on the host: blocks one after the other, threads as
// threads.
#include "exec/cuda/fused_text.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "core/base/file.h"
#include "core/schedule/fusion.h"
#include "exec/cuda/nvrtc_library.h"
#include "exec/device/thread_team.h"
#include "exec/run/fused_kernel.h"
#include "tests/exec/cuda/fused_steps.h"
#include "tests/support/paths.h"

namespace lanescope::exec::test {
namespace {

using cuda::FusedPointer;
using cuda::FusedText;

// A text among others: its kernel is called fused<number>.
std::string InNamespace(const FusedText& text, size_t number) {
  return fmt::format(
      "#undef TABLE\n#undef ENTRIES\n#define fused fused{}\nnamespace n{} {{\n{}}}\n#undef fused\n", number,
      number, text.text);
}

// No physical GPU runs such a launch.
bool HasProducts(const FusedStep& step, const Command& command) {
  const FusedLaunch& launch = step.schedule.fused[static_cast<size_t>(command.fused)];
  return std::ranges::any_of(launch.nodes, [&](const FusedNode& node) {
    return FusionRoleOf(step.graph.node(node.node)) == FusionRole::kProduct;
  });
}

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
      if (command.fused < 0 || HasProducts(step, command)) continue;
      const FusedText text = cuda::WriteFusedText(step.graph, step.schedule, command);
      if (texts.insert(text.text).second) program += InNamespace(text, texts.size());
    }
  }
  EXPECT_GT(texts.size(), 20u);
  std::string log;
  EXPECT_FALSE(nvrtc->Compile(program, 90, &log).empty());
  EXPECT_EQ(log, "");
}

// CUDA C as C++: what a launch does to a block.
constexpr std::string_view kEmulation = R"(
#include <cmath>
#include <cstdint>
#include <functional>
#include <ucontext.h>
#include <vector>
#include "exec/functors/binary.h"
#include "exec/functors/cast.h"
#include "exec/functors/gradient.h"
#include "exec/functors/optimizer.h"
#define __global__
#define __device__ static
#define __shared__ static
#define __grid_constant__
#define __launch_bounds__(threads)
struct Index { unsigned x; };
static Index threadIdx, blockIdx;
struct Thread {
  ucontext_t context;
  bool ended;
  std::vector<char> stack;
};
static std::vector<Thread> all;
static ucontext_t turns;
static std::function<void()> body;
static void __syncthreads() { swapcontext(&all[threadIdx.x].context, &turns); }
static void RunThread() {
  body();
  all[threadIdx.x].ended = true;
}
// Each thread of a block goes on to its next barrier, in turn.
static void RunBlocks(long long blocks, int threads, std::function<void()> run) {
  body = run;
  all.resize(static_cast<std::size_t>(threads));
  for (long long block = 0; block < blocks; ++block) {
    blockIdx.x = static_cast<unsigned>(block);
    for (Thread& thread : all) {
      thread.ended = false;
      thread.stack.resize(65536);
      getcontext(&thread.context);
      thread.context.uc_stack.ss_sp = thread.stack.data();
      thread.context.uc_stack.ss_size = thread.stack.size();
      thread.context.uc_link = &turns;
      makecontext(&thread.context, RunThread, 0);
    }
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (unsigned t = 0; t < all.size(); ++t) {
        if (all[t].ended) continue;
        goes_on = true;
        threadIdx.x = t;
        swapcontext(&turns, &all[t].context);
      }
    }
  }
}
)";
constexpr int kEmulatedThreads = 8;

// One of the texts, callable as Run<number>.
std::string EmulatedText(const FusedText& text, size_t number) {
  std::string argument = fmt::format("*reinterpret_cast<const n{}::Table*>(table)", number);
  if (!text.by_value()) argument = fmt::format("reinterpret_cast<const n{}::Entry*>(table)", number);
  return InNamespace(text, number) +
         fmt::format(
             "extern \"C\" void Run{}(const std::uint64_t* table, long long blocks) {{\n"
             "  RunBlocks(blocks, {}, [&] {{ n{}::fused{}({}); }});\n}}\n",
             number, kEmulatedThreads, number, number, argument);
}

// The memory that a fused launch works on.
class LaunchMemory {
 public:
  LaunchMemory(const FusedStep& step, const Command& command, unsigned seed)
      : step_(step), command_(command), state_(seed) {
    for (const ValueId v : step.schedule.Inputs(command)) Add(v);
    for (const ValueId v : step.schedule.Outputs(command)) Add(v);
  }

  std::vector<char>& Of(ValueId value) {
    const Value& root = step_.schedule.RootValue(value);
    return root.variable.exists() ? variables_.at(root.variable) : values_.at(step_.schedule.Root(value));
  }
  // By variable or value, in an order that depends on nothing.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [variable, bytes] : variables_) visit(types_.at({variable, ValueId()}), bytes);
    for (const auto& [value, bytes] : values_) visit(types_.at({NodeId(), value}), bytes);
  }

 private:
  void Add(ValueId value) {
    const Value& root = step_.schedule.RootValue(value);
    DataType dtype = root.dtype;
    int64_t bytes = root.bytes;
    if (root.variable.exists()) {
      const TensorInfo& info = step_.info.of({root.variable, 0});
      const TensorInfo& content = info.handle != nullptr ? *info.handle : info;
      dtype = content.dtype;
      bytes = BytesOf(content);
      if (variables_.contains(root.variable)) return;
      types_[{root.variable, ValueId()}] = dtype;
      Fill(dtype, bytes, &variables_[root.variable]);
    } else if (!values_.contains(step_.schedule.Root(value))) {
      types_[{NodeId(), step_.schedule.Root(value)}] = dtype;
      std::vector<char>& memory = values_[step_.schedule.Root(value)];
      Fill(dtype, bytes, &memory);
      if (root.constant != nullptr)
        std::memcpy(memory.data(), root.constant->raw_data(), static_cast<size_t>(root.constant->ByteSize()));
    }
  }

  // Numbers on which all functions are tame.
  void Fill(DataType dtype, int64_t bytes, std::vector<char>* memory) {
    memory->resize(static_cast<size_t>(bytes));
    const auto fill = [&]<typename T>(T) {
      T* const at = reinterpret_cast<T*>(memory->data());
      for (size_t i = 0; i < memory->size() / sizeof(T); ++i) {
        const uint32_t random = Next();
        at[i] = std::is_same_v<T, bool>       ? static_cast<T>(random & 1)
                : std::is_floating_point_v<T> ? static_cast<T>(0.25 + random % 1000 / 1000.0)
                                              : static_cast<T>(1 + random % 3);
      }
    };
    if (dtype == DataType::kFloat) fill(0.0f);
    if (dtype == DataType::kDouble) fill(0.0);
    if (dtype == DataType::kInt32) fill(int32_t{});
    if (dtype == DataType::kInt64) fill(int64_t{});
    if (dtype == DataType::kBool) fill(false);
  }
  uint32_t Next() {
    state_ = state_ * 1664525 + 1013904223;
    return state_ >> 8;
  }

  const FusedStep& step_;
  const Command& command_;
  uint32_t state_;
  std::map<NodeId, std::vector<char>> variables_;
  std::map<ValueId, std::vector<char>> values_;
  std::map<std::pair<NodeId, ValueId>, DataType> types_;
};

class HostLaunch final : public KernelContext {
 public:
  HostLaunch(const FusedStep& step, const Command& command, LaunchMemory* memory)
      : team_of_one_(MakeThreadTeam(1)) {
    team_ = team_of_one_.get();
    const Schedule& schedule = step.schedule;
    const auto reference = [&](ValueId value) {
      TensorRef ref;
      ref.dtype = schedule.values[value].dtype;
      ref.shape = schedule.values[value].shape;
      ref.data = memory->Of(value).data();
      ref.capacity_bytes = static_cast<int64_t>(memory->Of(value).size());
      return ref;
    };
    owned_.resize(static_cast<size_t>(command.num_inputs));
    for (size_t i = 0; i < owned_.size(); ++i) {
      const ValueId input = schedule.Inputs(command)[i];
      inputs_.push_back(reference(input));
      const NodeId variable = schedule.RootValue(input).variable;
      if (variable.exists()) {
        const TensorInfo& info = step.info.of({variable, 0});
        const TensorInfo& content = info.handle != nullptr ? *info.handle : info;
        owned_[i].tensor = inputs_.back();
        owned_[i].tensor.dtype = content.dtype;
        owned_[i].tensor.shape = content.shape;
      }
      variables_.push_back(&owned_[i]);
    }
    for (const ValueId output : schedule.Outputs(command)) outputs_.push_back(reference(output));
  }

  Resource& FindOrCreateResource(int, const std::function<std::unique_ptr<Resource>()>&) override {
    Throw(Code::kInternal, "no fused node has a resource");
  }
  uint64_t& random_counter() override { return counter_; }

 private:
  std::unique_ptr<WorkerTeam> team_of_one_;
  std::vector<Variable> owned_;
  uint64_t counter_ = 0;
};

template <typename T>
void ExpectNear(const std::vector<char>& a, const std::vector<char>& b, const std::string& what) {
  for (size_t i = 0; i < a.size() / sizeof(T); ++i) {
    const auto x = static_cast<double>(reinterpret_cast<const T*>(a.data())[i]);
    const auto y = static_cast<double>(reinterpret_cast<const T*>(b.data())[i]);
    const bool same = (std::isnan(x) && std::isnan(y)) || x == y;
    ASSERT_TRUE(same || std::abs(x - y) <= 2e-5 * std::max({1.0, std::abs(x), std::abs(y)}))
        << what << ", element " << i << ": " << x << " and " << y;
  }
}

void ExpectNear(DataType dtype, const std::vector<char>& a, const std::vector<char>& b,
                const std::string& what) {
  if (dtype == DataType::kFloat) return ExpectNear<float>(a, b, what);
  if (dtype == DataType::kDouble) return ExpectNear<double>(a, b, what);
  EXPECT_TRUE(a == b) << what;
}

TEST(FusedText, ComputesWhatTheHostDoes) {
  if (std::system("c++ --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no compiler is here";
  struct Case {
    const FusedStep* step;
    const Command* command;
    FusedText text;
  };
  std::vector<FusedStep> steps;
  for (const std::string& path : SamplePaths()) steps.push_back(CompileFile(path, 2));
  for (const int64_t n : {2, 5, 300}) steps.push_back(RowsOf(n));
  steps.push_back(UpdatesOf(3, 20));
  steps.push_back(UpdatesOf(60, 5));
  std::vector<Case> cases;
  std::string source(kEmulation);
  std::set<std::string> texts;
  for (const FusedStep& step : steps) {
    for (const Command& command : step.schedule.commands) {
      if (command.fused < 0 || HasProducts(step, command)) continue;
      FusedText text = cuda::WriteFusedText(step.graph, step.schedule, command, kEmulatedThreads);
      if (!texts.insert(text.text).second) continue;
      source += EmulatedText(text, cases.size());
      cases.push_back({&step, &command, std::move(text)});
    }
  }
  ASSERT_GT(cases.size(), 20u);
  const std::string base = ::testing::TempDir() + "/fused_text_" + std::to_string(getpid());
  WriteFile(base + ".cpp", source);
  const std::string compile = fmt::format("c++ -std=c++20 -O1 -w -shared -fPIC -I{} {}.cpp -o {}.so",
                                          lanescope::test::SourceDir(), base, base);
  ASSERT_EQ(std::system(compile.c_str()), 0);
  void* library = dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  for (size_t i = 0; i < cases.size(); ++i) {
    Case& it = cases[i];
    const std::string what = LaunchOp(it.step->graph, it.step->schedule, *it.command);
    LaunchMemory memory(*it.step, *it.command, static_cast<unsigned>(i)), emulated(memory);
    HostLaunch launch(*it.step, *it.command, &memory), pointers(*it.step, *it.command, &emulated);
    MakeFusedKernel(it.step->graph, it.step->schedule, *it.command)->Compute(launch);
    for (const FusedPointer& pointer : it.text.pointers) {
      void* const at = pointer.of == FusedPointer::Of::kInput ? pointers.input(pointer.operand).data
                       : pointer.of == FusedPointer::Of::kOutput
                           ? pointers.output(pointer.operand).data
                           : pointers.variable(pointer.operand).tensor.data;
      it.text.table[pointer.entry] = reinterpret_cast<uint64_t>(at);
    }
    const auto run = reinterpret_cast<void (*)(const uint64_t*, long long)>(
        dlsym(library, fmt::format("Run{}", i).c_str()));
    ASSERT_NE(run, nullptr) << what;
    run(it.text.table.data(), it.text.blocks);
    std::vector<std::pair<DataType, const std::vector<char>*>> results;
    memory.ForEach(
        [&](DataType dtype, const std::vector<char>& bytes) { results.emplace_back(dtype, &bytes); });
    size_t next = 0;
    emulated.ForEach([&](DataType dtype, const std::vector<char>& bytes) {
      ExpectNear(dtype, *results[next++].second, bytes, what + "\n" + it.text.text);
    });
    if (HasFatalFailure()) return;
  }
  std::filesystem::remove(base + ".cpp");
  std::filesystem::remove(base + ".so");
}

}  // namespace
}  // namespace lanescope::exec::test
