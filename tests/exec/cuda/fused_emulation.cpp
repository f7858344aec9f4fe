// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/cuda/fused_emulation.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/base/file.h"
#include "tests/support/paths.h"

namespace lanescope::exec::test {
namespace {

using cuda::FusedPointer;
using cuda::FusedText;

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
#define __device__
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
static bool backwards;
static void __syncthreads() { swapcontext(&all[threadIdx.x].context, &turns); }
static void RunThread() {
  body();
  all[threadIdx.x].ended = true;
}
template <typename V>
static V __shfl_xor_sync(unsigned, V value, int lanes) {
  static V sent[1024];
  sent[threadIdx.x] = value;
  __syncthreads();
  const V received = sent[threadIdx.x ^ static_cast<unsigned>(lanes)];
  __syncthreads();
  return received;
}
static int __syncthreads_or(int value) {
  static int said[1024];
  said[threadIdx.x] = value;
  __syncthreads();
  int any = 0;
  for (std::size_t t = 0; t < all.size(); ++t) any |= said[t];
  __syncthreads();
  return any;
}
// Each thread of a block goes on to its next barrier, in turn.
static void RunBlocks(long long blocks, int threads, bool from_last, std::function<void()> run) {
  body = run;
  backwards = from_last;
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
      for (unsigned turn = 0; turn < all.size(); ++turn) {
        const unsigned t = backwards ? static_cast<unsigned>(all.size()) - 1 - turn : turn;
        if (all[t].ended) continue;
        goes_on = true;
        threadIdx.x = t;
        swapcontext(&turns, &all[t].context);
      }
    }
  }
}
)";

// One of the texts, callable as Run<number>.
std::string EmulatedText(const FusedText& text, size_t number) {
  std::string argument = fmt::format("*reinterpret_cast<const n{}::Table*>(table)", number);
  if (!text.by_value()) argument = fmt::format("reinterpret_cast<const n{}::Entry*>(table)", number);
  return InNamespace(text, number) +
         fmt::format(
             "extern \"C\" void Run{}(const std::uint64_t* table, long long blocks, bool from_last) {{\n"
             "  RunBlocks(blocks, {}, from_last, [&] {{ n{}::fused{}({}); }});\n}}\n",
             number, text.threads, number, number, argument);
}

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

void ExpectNearOf(DataType dtype, const std::vector<char>& a, const std::vector<char>& b,
                  const std::string& what) {
  if (dtype == DataType::kFloat) return ExpectNear<float>(a, b, what);
  if (dtype == DataType::kDouble) return ExpectNear<double>(a, b, what);
  EXPECT_TRUE(a == b) << what;
}

}  // namespace

std::string InNamespace(const FusedText& text, size_t number) {
  return fmt::format(
      "#undef TABLE\n#undef ENTRIES\n#define fused fused{}\nnamespace n{} {{\n{}}}\n#undef fused\n", number,
      number, text.text);
}

LaunchMemory::LaunchMemory(const FusedStep& step, const Command& command, unsigned seed)
    : step_(step), state_(seed) {
  for (const ValueId v : step.schedule.Inputs(command)) Add(v);
  for (const ValueId v : step.schedule.Outputs(command)) Add(v);
}

void LaunchMemory::Add(ValueId value) {
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

void LaunchMemory::Fill(DataType dtype, int64_t bytes, std::vector<char>* memory) {
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

HostLaunch::HostLaunch(const FusedStep& step, const Command& command, LaunchMemory* memory)
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

Resource& HostLaunch::FindOrCreateResource(int, const std::function<std::unique_ptr<Resource>()>&) {
  Throw(Code::kInternal, "no fused node has a resource");
}

EmulatedLaunches::~EmulatedLaunches() {
  if (library_ != nullptr) dlclose(library_);
  for (const char* ending : {".cpp", ".so"}) std::filesystem::remove(base_ + ending);
}

bool EmulatedLaunches::Add(const FusedStep& step, const Command& command) {
  cuda::FusedTexts texts = cuda::WriteFusedTexts(step.graph, step.schedule, command, kEmulatedThreads);
  std::vector<std::string> key;
  for (const FusedText& text : texts.kernels) key.push_back(text.text);
  if (!known_.try_emplace(std::move(key), cases_.size()).second) return false;
  cases_.push_back({&step, &command, std::move(texts)});
  return true;
}

bool EmulatedLaunches::Compile(bool without_barriers) {
  if (std::system("c++ --version > /dev/null 2>&1") != 0) return false;
  std::string source(kEmulation);
  if (without_barriers) source += "#define __syncthreads()\n";
  for (size_t i = 0; i < cases_.size(); ++i) {
    for (size_t k = 0; k < cases_[i].texts.kernels.size(); ++k)
      source += EmulatedText(cases_[i].texts.kernels[k], i * 100 + k);
  }
  static int made = 0;
  base_ = fmt::format("{}/fused_text_{}_{}", ::testing::TempDir(), getpid(), made++);
  WriteFile(base_ + ".cpp", source);
  const std::string compile = fmt::format("c++ -std=c++20 -O1 -w -shared -fPIC -I{} {}.cpp -o {}.so",
                                          lanescope::test::SourceDir(), base_, base_);
  if (std::system(compile.c_str()) != 0) Throw(Code::kInternal, "{} does not compile", base_);
  library_ = dlopen((base_ + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) Throw(Code::kInternal, "{}", dlerror());
  return true;
}

void EmulatedLaunches::Run(size_t i, LaunchMemory* memory, bool from_last) const {
  const Case& it = cases_[i];
  HostLaunch pointers(*it.step, *it.command, memory);
  const auto bytes = static_cast<size_t>(it.texts.row_bytes);
  std::vector<char> rows(static_cast<size_t>(it.texts.row_arrays) * bytes, '\xff');
  const auto address_of = [&](const FusedPointer& pointer) -> void* {
    switch (pointer.of) {
      case FusedPointer::Of::kInput:
        return pointers.input(pointer.operand).data;
      case FusedPointer::Of::kOutput:
        return pointers.output(pointer.operand).data;
      case FusedPointer::Of::kVariable:
        return pointers.variable(pointer.operand).tensor.data;
      case FusedPointer::Of::kRows:
        return rows.data() + static_cast<size_t>(pointer.operand) * bytes;
    }
    return nullptr;
  };
  for (size_t k = 0; k < it.texts.kernels.size(); ++k) {
    const FusedText& text = it.texts.kernels[k];
    std::vector<uint64_t> table = text.table;
    for (const FusedPointer& pointer : text.pointers)
      table[pointer.entry] = reinterpret_cast<uint64_t>(address_of(pointer));
    const auto run = reinterpret_cast<void (*)(const uint64_t*, long long, bool)>(
        dlsym(library_, fmt::format("Run{}", i * 100 + k).c_str()));
    LANESCOPE_CHECK(run != nullptr);
    run(table.data(), text.blocks, from_last);
  }
}

void ExpectNear(const LaunchMemory& a, const LaunchMemory& b, const std::string& what) {
  std::vector<std::pair<DataType, const std::vector<char>*>> of_a;
  a.ForEach([&](DataType dtype, const std::vector<char>& bytes) { of_a.emplace_back(dtype, &bytes); });
  size_t next = 0;
  b.ForEach([&](DataType dtype, const std::vector<char>& bytes) {
    ExpectNearOf(dtype, *of_a[next++].second, bytes, what);
  });
}

}  // namespace lanescope::exec::test
