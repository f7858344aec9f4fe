// GPUs: streams that a driver feeds ahead of time, and logical devices that share one chip.
#include "sims/effects/effect.h"

namespace lanescope::sims {
namespace {

constexpr DeviceKind kStreams[] = {DeviceKind::kCuda, DeviceKind::kLogical, DeviceKind::kModelled};

constexpr Effect kGpuStreamEffects[] = {
    {"gap", "GPU streams", "a stream begins its next command",
     "the calibrated run, fitted with the time between issues",
     [](PredictionSettings* s) {
       for (const DeviceKind kind : kStreams) s->gaps.gap_ns[static_cast<size_t>(kind)] = {};
     }},
    {"issue", "GPU streams", "the launching thread issues commands one by one",
     "the calibrated run, fitted with the gap", [](PredictionSettings* s) { s->gaps.issue_ns = {}; }},
    {"shared GPU", "GPU streams", "logical devices of one GPU slow each other down",
     "pairs of commands side by side, measured",
     [](PredictionSettings* s) {
       if (s->interference.has_value()) s->interference->gpu.slowdown = InterferenceMatrix().slowdown;
     }},
};

}  // namespace

std::span<const Effect> GpuStreamEffects() { return kGpuStreamEffects; }

}  // namespace lanescope::sims
