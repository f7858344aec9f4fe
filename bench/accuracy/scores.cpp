// SPDX-License-Identifier: Apache-2.0
#include "bench/accuracy/scores.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "core/base/statistics.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "sims/effects/effect.h"

namespace lanescope::accuracy {
namespace {

using study::RunAccuracy;

struct Held {
  const Experiment* experiment = nullptr;
  const RunAccuracy* run = nullptr;
};

bool IsMember(const RunAccuracy& run, bool oversubscribed) {
  return !run.disturbed && run.oversubscribed == oversubscribed;
}

// A program without its path.
std::string StrategyOf(const RunAccuracy& run) {
  return run.strategy.starts_with("exec:") ? run.strategy.substr(run.strategy.rfind('/') + 1) : run.strategy;
}

// Pairs of runs of an experiment whose times differ by more than the noise of both: which the predictions
// order as the measurements do. Without a value: pairs of which one run at least was beside others.
struct Orders {
  int right = 0, wrong = 0;
};
Orders OrdersOf(const std::vector<Experiment>& experiments, std::optional<bool> oversubscribed) {
  Orders orders;
  for (const Experiment& experiment : experiments) {
    for (const RunAccuracy& a : experiment.runs) {
      for (const RunAccuracy& b : experiment.runs) {
        if (a.measured_ns >= b.measured_ns || (a.disturbed || b.disturbed) == oversubscribed.has_value())
          continue;
        if (oversubscribed && (a.oversubscribed || b.oversubscribed) != *oversubscribed) continue;
        if (a.measured_ns * (1 + a.noise) >= b.measured_ns * (1 - b.noise)) continue;
        ++(a.predicted_ns < b.predicted_ns ? orders.right : orders.wrong);
      }
    }
  }
  return orders;
}

double MeanOf(const std::vector<Held>& held, const std::function<double(const RunAccuracy&)>& value) {
  double sum = 0;
  for (const Held& one : held) sum += value(*one.run);
  return held.empty() ? 0 : sum / static_cast<double>(held.size());
}

void AddScore(const std::string& label, const std::vector<Experiment>& experiments,
              std::optional<bool> oversubscribed, const std::vector<Held>& held, TextTable* table) {
  if (held.empty()) return;
  std::vector<double> errors;
  const Held* worst = &held.front();
  for (const Held& one : held) {
    errors.push_back(std::abs(one.run->Error()));
    if (errors.back() > std::abs(worst->run->Error())) worst = &one;
  }
  const double covered = MeanOf(held, [](const RunAccuracy& run) {
    const auto low = static_cast<double>(run.low_ns), high = static_cast<double>(run.high_ns);
    return low <= run.measured_ns && run.measured_ns <= high ? 1.0 : 0.0;
  });
  const Orders orders = OrdersOf(experiments, oversubscribed);
  table->Row({label, std::to_string(held.size()),
              PercentText(MeanOf(held, [](const RunAccuracy& run) { return std::abs(run.Error()); })),
              PercentText(Quantile(errors, 0.9)), SignedPercentText(worst->run->Error()),
              PercentText(MeanOf(held, [](const RunAccuracy& run) { return run.noise; })),
              fmt::format("{} of {}", orders.right, orders.right + orders.wrong), PercentText(covered),
              worst->experiment->name + " " + StrategyOf(*worst->run)});
}

// "branches-2x1" was recorded on the machine "2x1".
std::string MachineOf(const Experiment& experiment) {
  return experiment.name.substr(experiment.name.find('-') + 1);
}

void PrintEffects(const std::vector<Held> (&held)[2], std::FILE* out) {
  std::map<std::string, std::vector<Held>> by_machine;
  for (const std::vector<Held>& part : held) {
    for (const Held& one : part) by_machine[MachineOf(*one.experiment)].push_back(one);
  }
  TextTable table;
  table.Name("Mean error without").Text("Of").Number("fits the cores").Number("oversubscribed");
  for (const auto& [machine, runs] : by_machine) table.Number(machine);
  const auto effects = sims::AllEffects();
  const auto cell = [](const std::vector<Held>& runs, size_t effect) {
    const double with = MeanOf(runs, [](const RunAccuracy& run) { return std::abs(run.Error()); });
    const double without =
        MeanOf(runs, [&](const RunAccuracy& run) { return std::abs(run.ErrorOf(run.without_ns[effect])); });
    return fmt::format("{:+.2f}", 100 * (without - with));
  };
  for (size_t e = 0; e < effects.size(); ++e) {
    std::vector<std::string> cells = {std::string(effects[e]->name), std::string(effects[e]->of),
                                      cell(held[0], e), cell(held[1], e)};
    for (const auto& [machine, runs] : by_machine) cells.push_back(cell(runs, e));
    table.Row(std::move(cells));
  }
  fmt::print(out, "\nPoints by which the mean error changes without an effect; by machine, all runs\n{}",
             table.Take(0));
}

void PrintRuns(const std::vector<Experiment>& experiments, std::FILE* out) {
  TextTable table;
  table.Name("Experiment").Name("Strategy").Number("Measured").Number("Predicted").Number("Error");
  table.Number("Noise").Number("Low").Number("High").Number("Replayed").Text("");
  for (const Experiment& experiment : experiments) {
    for (const RunAccuracy& run : experiment.runs) {
      std::string remark = run.in_sample ? "in sample" : "";
      if (run.oversubscribed) remark += remark.empty() ? "oversubscribed" : ", oversubscribed";
      if (run.disturbed) remark += remark.empty() ? "disturbed" : ", disturbed";
      table.Row({experiment.name, StrategyOf(run), TimeText(run.measured_ns),
                 TimeText(static_cast<double>(run.predicted_ns)), SignedPercentText(run.Error()),
                 PercentText(run.noise), TimeText(static_cast<double>(run.low_ns)),
                 TimeText(static_cast<double>(run.high_ns)), SignedPercentText(run.replay_error), remark});
    }
  }
  fmt::print(out, "\n{}", table.Take(0));
}

}  // namespace

void PrintScores(const std::vector<Experiment>& experiments, std::FILE* out) {
  PrintRuns(experiments, out);
  std::vector<Held> held[2], in_sample[2], disturbed;
  for (const Experiment& experiment : experiments) {
    for (const RunAccuracy& run : experiment.runs) {
      if (run.disturbed && !run.in_sample) disturbed.push_back({&experiment, &run});
      for (const bool over : {false, true}) {
        if (IsMember(run, over)) (run.in_sample ? in_sample : held)[over].push_back({&experiment, &run});
      }
    }
  }
  TextTable table;
  table.Name("Runs").Number("Count").Number("Mean").Number("p90").Number("Worst").Number("Noise");
  table.Number("Order").Number("Coverage").Name("The worst");
  for (const bool over : {false, true}) {
    const std::string label = over ? "oversubscribed" : "fit the cores";
    AddScore("held out, " + label, experiments, over, held[over], &table);
    AddScore("in sample, " + label, experiments, over, in_sample[over], &table);
  }
  AddScore("held out, most steps beside others", experiments, std::nullopt, disturbed, &table);
  fmt::print(out, "\n{}", table.Take(0));
  PrintEffects(held, out);
}

}  // namespace lanescope::accuracy
