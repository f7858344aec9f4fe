// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/messengers.h"

#include "sims/effects/cost_file.h"
#include "sims/effects/machine_figures.h"
#include "sims/engine/simulation_model.h"

namespace lanescope::sims {
namespace {

constexpr double kMostByteNs = 1e6;

void ReadMessengers(CostFileReader* file, EffectSet* effects) {
  Messengers messengers;
  messengers.overhead_ns = Nanoseconds(&file->At("gaps"), "message_overhead_ns");
  messengers.byte_ns = NumberIn(&file->At("gaps"), "message_byte_ns", 0, kMostByteNs);
  effects->Put(messengers);
}

void WriteMessengers(const EffectSet& effects, CostFileWriter* file) {
  const auto messengers = effects.Get<Messengers>();
  file->file()["gaps"]["message_overhead_ns"] = messengers.overhead_ns;
  file->file()["gaps"]["message_byte_ns"] = messengers.byte_ns;
}

void TakeMessengers(const MachineFigures& figures, EffectSet* effects) {
  if (!figures.message) return;
  Messengers messengers;
  messengers.overhead_ns = figures.message->end_ns;
  messengers.byte_ns = figures.message->byte_ns;
  effects->Put(messengers);
}

}  // namespace

constinit const EffectKind Messengers::kKind = {
    .name = "progress threads",
    .of = "host threads",
    .about = "a task's messages keep the thread busy that moves them",
    .source = "chains of messages between the tasks",
    .in_durations = true,
    .read = ReadMessengers,
    .write = WriteMessengers,
    .take = TakeMessengers};

void Messengers::AddTo(SimulationModel* model) const {
  model->delays.message_overhead_ns = overhead_ns;
  model->delays.message_byte_ns = byte_ns;
}

void Messengers::HandOn(EffectSet* effects) const { effects->Put(*this); }

}  // namespace lanescope::sims
