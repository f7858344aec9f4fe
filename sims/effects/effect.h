// SPDX-License-Identifier: Apache-2.0
// Effects: everything of a prediction beside the times of commands alone, each with a name, so that one can
// ask what each of them explains. An effect is a file of this folder that holds its numbers, how a cost file
// says them, how they are fitted and what they add to a simulation. all.cpp lists them. An effect that is not
// there takes no time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>

#include "core/graph/op.h"
#include "core/machine/machine.h"
#include "core/schedule/schedule.h"

namespace lanescope::sims {

class CostFileReader;
class CostFileWriter;
class EffectSet;
class StepStarts;
struct MachineFigures;
struct SimulationModel;

// A launch as it was measured.
struct MeasuredLaunch {
  OpWork work;
  int64_t ns = 0;
  int64_t fetched_bytes = 0;  // FetchedBytes of its command
  DeviceId ran_on{0};         // number of the machine
};

// The numbers of one effect.
class Effect {
 public:
  virtual ~Effect() = default;
  virtual void AddTo(SimulationModel* /*model*/) const {}
  // Adds what launches take longer, in ns, to the times that they take by their work alone.
  virtual void Lengthen(const Schedule& /*schedule*/, const Machine& /*machine*/,
                        IdVector<CommandId, int64_t>* /*ns*/) const {}
  // The time that a measured launch would have taken without it, in ns.
  virtual int64_t Without(const MeasuredLaunch& launch, const Machine& /*machine*/) const {
    return launch.ns;
  }
  // How far steps that rely on the effect's rules lie from what was measured, nine in ten, as a fraction. 0:
  // no further than by how their commands vary.
  virtual double Residual(const Schedule& /*schedule*/, const Machine& /*machine*/) const { return 0; }
  // Puts into `effects` the part that microbenchmarks measure, and not the calibrated run.
  virtual void HandOn(EffectSet* /*effects*/) const {}
};

// Constant data; one a class of Effect, as its static member kKind.
struct EffectKind {
  std::string_view name;
  std::string_view of;      // "host threads", "GPU streams", "links"
  std::string_view about;   // what takes time, in a clause
  std::string_view source;  // where its numbers come from, in a clause
  // Whether measured durations of commands contain it.
  bool in_durations = false;
  // Where they contain a part of it: puts the rest in its place.
  void (*between)(EffectSet* effects) = nullptr;
  // Reads its keys; adds nothing where the file has none.
  void (*read)(CostFileReader* file, EffectSet* effects) = nullptr;
  // Writes its keys: zeros where the effect is not in the set.
  void (*write)(const EffectSet& effects, CostFileWriter* file) = nullptr;
  // Takes its numbers from microbenchmarks.
  void (*take)(const MachineFigures& figures, EffectSet* effects) = nullptr;
  // Fits it to measured steps. What comes before it in AllEffects has been fitted. Null: microbenchmarks
  // measure it.
  void (*fit)(const StepStarts& starts, EffectSet* effects) = nullptr;
};

// In the order in which they are read, fitted and added: each may rely on those before it.
std::span<const EffectKind* const> AllEffects();

// The effects that a prediction knows, at most one of a kind. A value; copies share the numbers.
class EffectSet {
 public:
  // Null where there is none.
  template <typename E>
  const E* Find() const {
    const auto found = effects_.find(&E::kKind);
    return found == effects_.end() ? nullptr : static_cast<const E*>(found->second.get());
  }
  // Its numbers, or those of an effect that takes no time.
  template <typename E>
  E Get() const {
    const E* found = Find<E>();
    return found != nullptr ? *found : E();
  }
  // In place of what is there.
  template <typename E>
  void Put(E effect) {
    effects_[&E::kKind] = std::make_shared<const E>(std::move(effect));
  }
  void Remove(const EffectKind& kind) { effects_.erase(&kind); }
  // The effects that measured durations of commands do not contain.
  EffectSet BetweenCommands() const;

  SimulationModel Model() const;
  void Lengthen(const Schedule& schedule, const Machine& machine, IdVector<CommandId, int64_t>* ns) const;
  // The last effect is taken out first.
  int64_t Without(MeasuredLaunch launch, const Machine& machine) const;
  // The largest of all.
  double Residual(const Schedule& schedule, const Machine& machine) const;
  // Puts results of microbenchmarks in place of those of `effects`.
  void HandOn(EffectSet* effects) const;

 private:
  std::map<const EffectKind*, std::shared_ptr<const Effect>> effects_;
};

// Effects of a machine that nobody measured: links that copies share.
EffectSet UnmeasuredEffects();
// All that microbenchmarks say something of.
EffectSet EffectsOf(const MachineFigures& figures);
// All that can be told from measured steps.
EffectSet FitEffects(const StepStarts& starts);

}  // namespace lanescope::sims
