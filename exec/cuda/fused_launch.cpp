// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/fused_launch.h"

#include <fmt/core.h>

#include <deque>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "core/schedule/fusion.h"
#include "exec/cuda/functor_headers.h"
#include "exec/cuda/fused_text.h"
#include "exec/cuda/kernel_cache.h"
#include "exec/cuda/nvrtc_library.h"

namespace lanescope::exec::cuda {
namespace {

// All that a binary depends on.
std::string KeyOf(const Nvrtc& nvrtc, const std::string& text, int compute_capability) {
  std::string key = fmt::format("NVRTC {} sm_{}\n", nvrtc.version(), compute_capability);
  for (const CarriedHeader& header : FunctorHeaders())
    key += fmt::format("{}\n{}\n", header.name, header.text);
  return key + text;
}

std::string BinaryOf(const std::string& text, int compute_capability) {
  std::string reason;
  const auto nvrtc = LoadNvrtc(&reason);
  if (nvrtc == nullptr) Throw(Code::kFailedPrecondition, "{}; run without --fusion", reason);
  const KernelCache cache(KernelCacheFolder());
  const std::string key = KeyOf(*nvrtc, text, compute_capability);
  if (auto found = cache.Find(key)) return *std::move(found);
  std::string binary = nvrtc->Compile(text, compute_capability);
  cache.Keep(key, binary);
  return binary;
}

// One of the launch's kernels, with the tables that it has been given.
class MadeKernel {
 public:
  MadeKernel(const FusedPlace& place, FusedText text) : place_(place), text_(std::move(text)) {
    const std::string binary =
        BinaryOf(text_.text, place_.api->Properties(place_.ordinal).compute_capability);
    place_.api->MakeCurrent(place_.ordinal);
    kernel_ = place_.api->LoadKernel(binary, "fused");
  }
  MadeKernel(const MadeKernel&) = delete;
  MadeKernel& operator=(const MadeKernel&) = delete;
  ~MadeKernel() {
    for (const auto& [table, memory] : tables_) {
      place_.api->FreeHost(memory.host);
      place_.release(memory.device);
    }
    place_.api->UnloadKernel(kernel_);
  }

  template <typename AddressOf>
  void Launch(const AddressOf& address_of) {
    for (const FusedPointer& pointer : text_.pointers)
      text_.table[pointer.entry] = reinterpret_cast<uint64_t>(address_of(pointer));
    void* argument = text_.table.data();
    void* table = nullptr;
    if (!text_.by_value()) {
      table = InDeviceMemory();
      argument = &table;
    }
    place_.api->LaunchKernel(kernel_, place_.stream, text_.blocks, text_.threads, argument);
  }

 private:
  struct Memory {
    void* host;  // pinned: the copy may still be under way when the next launch begins
    void* device;
  };

  // A recorded launch reads its table again whenever it is replayed: none is overwritten.
  void* InDeviceMemory() {
    const auto found = tables_.find(text_.table);
    if (found != tables_.end()) return found->second.device;
    const auto bytes = static_cast<int64_t>(text_.table.size() * sizeof(uint64_t));
    const Memory memory{place_.api->AllocateHost(bytes), place_.allocate(bytes)};
    std::copy(text_.table.begin(), text_.table.end(), static_cast<uint64_t*>(memory.host));
    place_.api->Copy(place_.stream, memory.device, place_.ordinal, memory.host, kHostMemory, bytes);
    tables_.emplace(text_.table, memory);
    return memory.device;
  }

  const FusedPlace& place_;
  FusedText text_;
  KernelHandle kernel_ = nullptr;
  std::map<std::vector<uint64_t>, Memory> tables_;  // by content
};

class CudaFusedKernel final : public Kernel {
 public:
  CudaFusedKernel(FusedPlace place, const Graph& graph, const Schedule& schedule, const Command& command)
      : place_(std::move(place)) {
    for (const FusedNode& node : schedule.FusedNodes(command)) {
      if (FusionRoleOf(graph.node(node.node)) == FusionRole::kAssign) assigned_.push_back(node.inputs[0]);
    }
    FusedTexts texts = WriteFusedTexts(graph, schedule, command);
    for (FusedText& text : texts.kernels) kernels_.emplace_back(place_, std::move(text));
    row_bytes_ = texts.row_bytes;
    if (texts.row_arrays > 0) rows_ = static_cast<char*>(place_.allocate(texts.row_arrays * row_bytes_));
  }
  ~CudaFusedKernel() override {
    if (rows_ != nullptr) place_.release(rows_);
  }

  void Compute(KernelContext& context) override {
    for (MadeKernel& kernel : kernels_)
      kernel.Launch([&](const FusedPointer& pointer) { return AddressOf(context, pointer); });
    for (const int variable : assigned_) context.variable(variable).initialized = true;
  }

 private:
  void* AddressOf(KernelContext& context, const FusedPointer& pointer) const {
    switch (pointer.of) {
      case FusedPointer::Of::kInput:
        return context.input(pointer.operand).data;
      case FusedPointer::Of::kOutput:
        return context.output(pointer.operand).data;
      case FusedPointer::Of::kVariable:
        return context.variable(pointer.operand).tensor.data;
      case FusedPointer::Of::kRows:
        return rows_ + pointer.operand * row_bytes_;
    }
    return nullptr;
  }

  const FusedPlace place_;
  std::vector<int> assigned_;       // inputs whose variables have a value once it has run
  std::deque<MadeKernel> kernels_;  // in the order of their launches
  // Read in the launch that writes it alone; launches of a stream do not overlap.
  char* rows_ = nullptr;
  int64_t row_bytes_ = 0;
};

}  // namespace

void OfferFusedLaunches() {
  SetHardwareRunsFused([] {
    std::string reason;
    return LoadNvrtc(&reason) != nullptr;
  });
}

std::unique_ptr<Kernel> MakeCudaFusedKernel(const FusedPlace& place, const Graph& graph,
                                            const Schedule& schedule, const Command& command) {
  return std::make_unique<CudaFusedKernel>(place, graph, schedule, command);
}

}  // namespace lanescope::exec::cuda
