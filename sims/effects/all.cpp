#include "sims/effects/effect.h"

namespace lanescope::sims {

std::vector<const Effect*> AllEffects() {
  std::vector<const Effect*> all;
  for (const auto effects : {HostThreadEffects(), GpuStreamEffects(), LinkEffects()}) {
    for (const Effect& effect : effects) all.push_back(&effect);
  }
  return all;
}

}  // namespace lanescope::sims
