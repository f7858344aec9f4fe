// Links between devices.
#include "sims/effects/effect.h"

namespace lanescope::sims {
namespace {

constexpr Effect kLinkEffects[] = {
    {"link sharing", "links", "copies at the same time share links and buses", "the machine file",
     [](PredictionSettings* s) { s->simulation.share_links = false; }},
};

}  // namespace

std::span<const Effect> LinkEffects() { return kLinkEffects; }

}  // namespace lanescope::sims
