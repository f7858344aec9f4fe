// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/run_queue_delay.h"

#include "sims/effects/cores.h"
#include "sims/effects/cost_file.h"
#include "sims/effects/machine_figures.h"
#include "sims/engine/simulation_model.h"

namespace lanescope::sims {
namespace {

void ReadRunQueueDelay(CostFileReader* file, EffectSet* effects) {
  if (!file->file().Has("interference")) return;
  RunQueueDelay wait;
  wait.slice_ns = Nanoseconds(&file->At("interference.host"), "slice_ns");
  effects->Put(wait);
}

void WriteRunQueueDelay(const EffectSet& effects, CostFileWriter* file) {
  if (effects.Find<Cores>() != nullptr)
    file->file()["interference"]["host"]["slice_ns"] = effects.Get<RunQueueDelay>().slice_ns;
}

void TakeRunQueueDelay(const MachineFigures& figures, EffectSet* effects) {
  RunQueueDelay wait;
  wait.slice_ns = figures.slice_ns;
  effects->Put(wait);
}

}  // namespace

constinit const EffectKind RunQueueDelay::kKind = {.name = "run-queue delay",
                                                   .of = "host threads",
                                                   .about = "a woken driver waits for a core",
                                                   .source = "the system's time slice",
                                                   .in_durations = true,
                                                   .read = ReadRunQueueDelay,
                                                   .write = WriteRunQueueDelay,
                                                   .take = TakeRunQueueDelay};

void RunQueueDelay::AddTo(SimulationModel* model) const {
  if (!model->interference) model->interference.emplace();
  model->interference->host.slice_ns = slice_ns;
}

void RunQueueDelay::HandOn(EffectSet* effects) const { effects->Put(*this); }

}  // namespace lanescope::sims
