// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/shared_gpu.h"

#include <algorithm>
#include <array>

#include "sims/effects/cores.h"
#include "sims/effects/cost_file.h"
#include "sims/effects/machine_figures.h"
#include "sims/engine/effect_constants.h"
#include "sims/engine/simulation_model.h"

namespace lanescope::sims {
namespace {

constexpr std::array<const char*, kNumWorkClasses> kClassNames = {"compute", "memory", "copy"};
constexpr double kMostSlowdown = 1000;

void ReadSharedGpu(CostFileReader* file, EffectSet* effects) {
  if (!file->file().Has("interference")) return;
  SharedGpu gpu;
  for (size_t victim = 0; victim < kNumWorkClasses; ++victim) {
    JsonObject& row = file->At(fmt::format("interference.gpu.slowdown.{}", kClassNames[victim]));
    for (size_t beside = 0; beside < kNumWorkClasses; ++beside)
      gpu.slowdown[victim][beside] = NumberIn(&row, kClassNames[beside], 1, kMostSlowdown);
  }
  effects->Put(gpu);
}

void WriteSharedGpu(const EffectSet& effects, CostFileWriter* file) {
  if (effects.Find<Cores>() == nullptr) return;
  const auto gpu = effects.Get<SharedGpu>();
  nlohmann::json& slowdown = file->file()["interference"]["gpu"]["slowdown"];
  for (size_t victim = 0; victim < kNumWorkClasses; ++victim) {
    for (size_t beside = 0; beside < kNumWorkClasses; ++beside)
      slowdown[kClassNames[victim]][kClassNames[beside]] = gpu.slowdown[victim][beside];
  }
}

void TakeSharedGpu(const MachineFigures& figures, EffectSet* effects) {
  SharedGpu gpu;
  for (size_t victim = 0; victim < kNumWorkClasses; ++victim) {
    // Measured factors below 1 are noise.
    for (size_t beside = 0; beside < kNumWorkClasses; ++beside)
      gpu.slowdown[victim][beside] = std::max(1.0, figures.gpu_slowdown[victim][beside]);
  }
  effects->Put(gpu);
}

}  // namespace

constinit const EffectKind SharedGpu::kKind = {.name = "shared GPU",
                                               .of = "GPU streams",
                                               .about = "logical devices of one GPU slow each other down",
                                               .source = "pairs of commands side by side, measured",
                                               .in_durations = true,
                                               .read = ReadSharedGpu,
                                               .write = WriteSharedGpu,
                                               .take = TakeSharedGpu};

void SharedGpu::AddTo(SimulationModel* model) const {
  if (!model->interference) model->interference.emplace();
  InterferenceMatrix& gpu = model->interference->gpu;
  gpu.slowdown = slowdown;
  // Two that use the same without a pause have half of it each. What a neighbour's queue held up longer is
  // not of the pair: copies wait for those before them.
  for (auto& row : gpu.slowdown) {
    for (double& of_pair : row) of_pair = std::min(of_pair, 2.0);
  }
  gpu.pieces = static_cast<int>(kEffectConstants.gpu_pieces);
}

void SharedGpu::HandOn(EffectSet* effects) const { effects->Put(*this); }

}  // namespace lanescope::sims
