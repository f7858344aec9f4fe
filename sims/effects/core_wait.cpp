// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/core_wait.h"

#include "sims/effects/cores.h"
#include "sims/effects/cost_file.h"
#include "sims/engine/simulation_model.h"

namespace lanescope::sims {
namespace {

void ReadCoreWait(CostFileReader* file, EffectSet* effects) {
  if (!file->file().Has("interference")) return;
  CoreWait wait;
  wait.slice_ns = Nanoseconds(&file->At("interference.host"), "slice_ns");
  effects->Put(wait);
}

void WriteCoreWait(const EffectSet& effects, CostFileWriter* file) {
  if (effects.Find<Cores>() != nullptr)
    file->file()["interference"]["host"]["slice_ns"] = effects.Get<CoreWait>().slice_ns;
}

}  // namespace

constinit const EffectKind CoreWait::kKind = {.name = "run-queue delay",
                                              .of = "host threads",
                                              .about = "a woken driver waits for a core",
                                              .source = "the system's time slice",
                                              .in_durations = true,
                                              .read = ReadCoreWait,
                                              .write = WriteCoreWait};

void CoreWait::AddTo(SimulationModel* model) const {
  if (!model->interference) model->interference.emplace();
  model->interference->host.slice_ns = slice_ns;
}

void CoreWait::HandOn(EffectSet* effects) const { effects->Put(*this); }

}  // namespace lanescope::sims
