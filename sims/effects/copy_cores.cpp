// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/copy_cores.h"

#include "sims/effects/cores.h"
#include "sims/effects/cost_file.h"
#include "sims/effects/machine_figures.h"
#include "sims/engine/simulation_model.h"

namespace lanescope::sims {
namespace {

constexpr double kMostCores = 1 << 20;

void ReadCopyCores(CostFileReader* file, EffectSet* effects) {
  if (!file->file().Has("interference")) return;
  CopyCores copies;
  copies.cores = NumberIn(&file->At("interference.host"), "copy_cores", 0, kMostCores);
  effects->Put(copies);
}

void WriteCopyCores(const EffectSet& effects, CostFileWriter* file) {
  if (effects.Find<Cores>() != nullptr)
    file->file()["interference"]["host"]["copy_cores"] = effects.Get<CopyCores>().cores;
}

void TakeCopyCores(const MachineFigures& figures, EffectSet* effects) {
  CopyCores copies;
  copies.cores = figures.copy_cores;
  effects->Put(copies);
}

}  // namespace

constinit const EffectKind CopyCores::kKind = {.name = "copies' cores",
                                               .of = "host threads",
                                               .about = "copies take part of a core",
                                               .source = "a paced copy, measured",
                                               .in_durations = true,
                                               .read = ReadCopyCores,
                                               .write = WriteCopyCores,
                                               .take = TakeCopyCores};

void CopyCores::AddTo(SimulationModel* model) const {
  if (!model->interference) model->interference.emplace();
  model->interference->host.copy_cores = cores;
}

void CopyCores::HandOn(EffectSet* effects) const { effects->Put(*this); }

}  // namespace lanescope::sims
