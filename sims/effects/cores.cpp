// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/cores.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "core/time/ticks.h"
#include "sims/effects/cost_file.h"
#include "sims/effects/machine_figures.h"
#include "sims/engine/simulation_model.h"

namespace lanescope::sims {
namespace {

constexpr int64_t kMaxCores = 1 << 20;
constexpr size_t kMaxTasks = 1024;  // no machine has more devices
constexpr const char* kOthers = "other_hosts";
constexpr const char* kOthersBefore = "other_computers";  // read for one version more

OtherComputer ReadOther(const nlohmann::json& value, const std::string& where) {
  JsonObject object(value, where);
  OtherComputer computer;
  computer.tasks = object.Strings("tasks");
  if (computer.tasks.empty()) object.Fail("tasks", "must name a task");
  computer.cores = static_cast<int>(object.Integer("cores", 1, kMaxCores));
  computer.speed.compute = NumberIn(&object, "compute_speed", kMinSpeed, kMaxSpeed);
  computer.speed.memory = NumberIn(&object, "memory_speed", kMinSpeed, kMaxSpeed);
  object.Finish();
  return computer;
}

void ReadCores(CostFileReader* file, EffectSet* effects) {
  if (!file->file().Has("interference")) return;
  JsonObject& part = file->At("interference");
  JsonObject& host = file->At("interference.host");
  // Version 1 has the same keys for host and GPUs, though each means something for one of them alone.
  file->Ignore("interference.host", {"slowdown"});
  file->Ignore("interference.gpu", {"cores", "copy_cores", "slice_ns"});
  Cores cores;
  cores.cores = static_cast<int>(host.Integer("cores", 0, kMaxCores));
  const char* const key = part.Has(kOthers) ? kOthers : kOthersBefore;
  if (part.Has(key)) {
    const nlohmann::json& list = ListOf(&part, key);
    std::set<std::string> known;
    for (size_t i = 0; i < list.size(); ++i) {
      cores.others.push_back(ReadOther(list[i], fmt::format("interference.{}[{}]", key, i)));
      for (const std::string& task : cores.others.back().tasks) {
        if (!known.insert(task).second) part.Fail(key, fmt::format("names task '{}' twice", task));
      }
      if (known.size() > kMaxTasks) part.Fail(key, fmt::format("names more than {} tasks", kMaxTasks));
    }
  }
  effects->Put(cores);
}

void WriteCores(const EffectSet& effects, CostFileWriter* file) {
  const Cores* const cores = effects.Find<Cores>();
  if (cores == nullptr) return;
  nlohmann::json& part = file->file()["interference"];
  part["host"]["cores"] = cores->cores;
  for (const OtherComputer& computer : cores->others) {
    part[kOthers].push_back({{"tasks", computer.tasks},
                             {"cores", computer.cores},
                             {"compute_speed", computer.speed.compute},
                             {"memory_speed", computer.speed.memory}});
  }
}

void TakeCores(const MachineFigures& figures, EffectSet* effects) {
  Cores cores;
  cores.cores = figures.cores;
  cores.others = figures.other_computers;
  effects->Put(cores);
}

}  // namespace

constinit const EffectKind Cores::kKind = {.name = "cores",
                                           .of = "host threads",
                                           .about = "commands ask for more cores than there are",
                                           .source = "the system",
                                           .in_durations = true,
                                           .read = ReadCores,
                                           .write = WriteCores,
                                           .take = TakeCores};

void Cores::AddTo(SimulationModel* model) const {
  if (!model->interference) model->interference.emplace();
  model->interference->host.cores = cores;
  model->interference->other_computers = others;
}

int64_t Cores::Without(const MeasuredLaunch& launch, const Machine& machine) const {
  const double speed = Computers(others).SpeedOf(machine.device(launch.ran_on)).Of(launch.work);
  if (speed == 1) return launch.ns;
  const double ns = speed * static_cast<double>(launch.ns);
  return std::llround(std::min(ns, static_cast<double>(kMaxSimulatedNs)));
}

void Cores::HandOn(EffectSet* effects) const { effects->Put(*this); }

}  // namespace lanescope::sims
