// SPDX-License-Identifier: Apache-2.0
#include "study/measure/handoff_chain.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

namespace lanescope::study {
namespace {

constexpr int kHops = 10;
constexpr int kTimesAlone = 4;
constexpr int64_t kElements = 1 << 18;  // long enough that whoever waits sleeps, and its core too

Chain ChainOf(DeviceId host, DeviceId first, DeviceId second) {
  Chain chain;
  const Endpoint x = chain.Feed("x", kElements, host);
  const Endpoint own[] = {chain.On(chain.builder.Op("Tanh", "own0").Input(x).Build(), first),
                          chain.On(chain.builder.Op("Tanh", "own1").Input(x).Build(), second)};
  const Endpoint axis =
      chain.On(chain.builder.Const("axis", Tensor::FromValues(Shape{}, std::vector<int32_t>{0})), host);
  Endpoint at = own[0];
  for (int hop = 0; hop < kHops; ++hop) {
    const DeviceId from = hop % 2 == 0 ? first : second, to = hop % 2 == 0 ? second : first;
    const Endpoint halves = chain.On(chain.builder.Op("Split", fmt::format("halves{}", hop))
                                         .Input(axis)
                                         .Input(at)
                                         .Attr("num_split", int64_t{2})
                                         .Build(),
                                     from);
    at = chain.On(chain.builder.Op("ConcatV2", fmt::format("copied{}", hop))
                      .Input({halves.node, 0})
                      .Input({halves.node, 1})
                      .Input(axis)
                      .Build(),
                  to);
  }
  for (int hop = 0; hop < kHops; ++hop) {
    const int turn = (hop + 1) % 2;
    const Endpoint waiting =
        chain.builder.Op("Tanh", fmt::format("waiting{}", hop)).Input(own[turn]).ControlInput(at).Build();
    at = chain.On(waiting, turn == 0 ? first : second);
  }
  return chain;
}

}  // namespace

std::unique_ptr<RecordedChain> MakeHandoffChain(const Machine& machine, Cancellation* cancellation) {
  std::vector<DeviceId> gpus;
  for (const DeviceId gpu : machine.Gpus()) {
    if (machine.device(gpu).kind == DeviceKind::kVirtual) gpus.push_back(gpu);
  }
  if (gpus.size() < 2) return nullptr;
  return std::make_unique<RecordedChain>("hand-offs", ChainOf(machine.host(), gpus[0], gpus[1]), machine,
                                         nullptr, cancellation);
}

ChainRun MeasureHandoffs(const Machine& machine, Cancellation* cancellation) {
  const auto chain = MakeHandoffChain(machine, cancellation);
  if (chain == nullptr) return {};
  for (int time = 0; time < kTimesAlone; ++time) chain->Run();
  return chain->Finish();
}

}  // namespace lanescope::study
