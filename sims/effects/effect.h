// What the predictor knows beside the times of commands alone: effects, each with a name, so that one can ask
// what each of them explains.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sims/predict/predict.h"

namespace lanescope::sims {

// Constant data. One file in sims/effects/ a part of the machine.
struct Effect {
  std::string_view name;
  std::string_view of;      // "host threads", "GPU streams", "links"
  std::string_view about;   // what takes time, in a clause
  std::string_view source;  // where its constants in a cost table come from, in a clause
  // Leaves the effect out of a prediction, as if the machine did not have it; nothing where it is not there.
  void (*leave_out)(PredictionSettings* settings);
};

std::span<const Effect> HostThreadEffects();
std::span<const Effect> GpuStreamEffects();
std::span<const Effect> LinkEffects();
// All of them, in this order.
std::vector<const Effect*> AllEffects();

}  // namespace lanescope::sims
