// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/progress_threads.h"

#include "sims/effects/cost_file.h"
#include "sims/effects/machine_figures.h"
#include "sims/engine/simulation_model.h"

namespace lanescope::sims {
namespace {

constexpr double kMostByteNs = 1e6;

void ReadProgressThreads(CostFileReader* file, EffectSet* effects) {
  ProgressThreads progress_threads;
  progress_threads.overhead_ns = Nanoseconds(&file->At("gaps"), "message_overhead_ns");
  progress_threads.byte_ns = NumberIn(&file->At("gaps"), "message_byte_ns", 0, kMostByteNs);
  effects->Put(progress_threads);
}

void WriteProgressThreads(const EffectSet& effects, CostFileWriter* file) {
  const auto progress_threads = effects.Get<ProgressThreads>();
  file->file()["gaps"]["message_overhead_ns"] = progress_threads.overhead_ns;
  file->file()["gaps"]["message_byte_ns"] = progress_threads.byte_ns;
}

void TakeProgressThreads(const MachineFigures& figures, EffectSet* effects) {
  if (!figures.message) return;
  ProgressThreads progress_threads;
  progress_threads.overhead_ns = figures.message->end_ns;
  progress_threads.byte_ns = figures.message->byte_ns;
  effects->Put(progress_threads);
}

}  // namespace

constinit const EffectKind ProgressThreads::kKind = {
    .name = "progress threads",
    .of = "host threads",
    .about = "a task's messages keep the thread busy that moves them",
    .source = "chains of messages between the tasks",
    .in_durations = true,
    .read = ReadProgressThreads,
    .write = WriteProgressThreads,
    .take = TakeProgressThreads};

void ProgressThreads::AddTo(SimulationModel* model) const {
  model->delays.message_overhead_ns = overhead_ns;
  model->delays.message_byte_ns = byte_ns;
}

void ProgressThreads::HandOn(EffectSet* effects) const { effects->Put(*this); }

}  // namespace lanescope::sims
