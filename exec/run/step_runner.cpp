// SPDX-License-Identifier: Apache-2.0
#include "exec/run/step_runner.h"

namespace lanescope::exec {

StepRunner::StepRunner(const Graph& graph, const Machine& machine,
                       const IdVector<DeviceId, std::unique_ptr<Device>>& devices, SessionState* state,
                       bool record_graphs)
    : graph_(graph),
      machine_(machine),
      devices_(devices),
      state_(state),
      record_graphs_(record_graphs),
      arenas_(devices.size(), nullptr),
      arena_bytes_(devices.size(), 0),
      executor_(machine) {}

StepRunner::~StepRunner() {
  for (const DeviceId d : devices_.ids()) {
    if (arenas_[d] != nullptr) devices_[d]->Free(arenas_[d]);
  }
}

void StepRunner::GrowArenas(const Schedule& schedule) {
  for (const DeviceId d : devices_.ids()) {
    const int64_t bytes = schedule.arena_bytes[d];
    if (bytes <= arena_bytes_[d]) continue;
    if (arenas_[d] != nullptr) devices_[d]->Free(arenas_[d]);
    // Should the device not have the memory, it has no arena now, and the next step brings it back.
    arenas_[d] = nullptr;
    arena_bytes_[d] = 0;
    ++arena_generation_;
    arenas_[d] = static_cast<std::byte*>(devices_[d]->Allocate(bytes));
    arena_bytes_[d] = bytes;
  }
}

StepRunner::LoadedStep& StepRunner::Ready(const std::shared_ptr<const Schedule>& schedule,
                                          const TaskShare* share, LaunchObserver* observer,
                                          const std::function<void(LoadedSchedule*)>& connect) {
  auto found = steps_.find(schedule.get());
  if (found == steps_.end()) {
    LoadedStep step;
    step.loaded =
        std::make_unique<LoadedSchedule>(graph_, machine_, schedule, devices_, state_, record_graphs_, share);
    if (connect) connect(step.loaded.get());
    if (step.loaded->program() != nullptr) step.loaded->program()->SetObserver(observer);
    step.state = std::make_unique<StepState>(*step.loaded);
    found = steps_.emplace(schedule.get(), std::move(step)).first;
  }
  GrowArenas(*schedule);
  LoadedSchedule& loaded = *found->second.loaded;
  if (loaded.bound_generation != arena_generation_) {
    loaded.Bind(arenas_);
    loaded.bound_generation = arena_generation_;
  }
  return found->second;
}

}  // namespace lanescope::exec
