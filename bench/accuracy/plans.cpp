// SPDX-License-Identifier: Apache-2.0
// plans [--per-source] ROWS.csv...: predicts every published training step from its model,
// plan and machine, and how far off that is, by source and size, memory too. With --per-source by one
// constant a source, the median of its other rows.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>

#include "bench/accuracy/plan_rows.h"
#include "core/base/error.h"
#include "core/base/statistics.h"
#include "core/base/units.h"
#include "sims/plans/memory.h"
#include "sims/plans/step.h"

namespace {

using lanescope::PercentText;
using lanescope::SignedPercentText;
using lanescope::bench::PublishedStep;
using namespace lanescope::sims::plans;

struct Predicted {
  const PublishedStep* row = nullptr;
  PlanStep step;
  double seconds = 0;
  double error() const { return seconds / row->step_s - 1; }
};

// Every row by the median of what the others of its source are off, so that none sees itself.
void ScaleBySource(std::vector<Predicted>* predictions) {
  std::vector<double> scaled;
  for (const Predicted& one : *predictions) {
    std::vector<double> ratios;
    for (const Predicted& other : *predictions) {
      if (&other != &one && other.row->source == one.row->source)
        ratios.push_back(other.row->step_s / other.seconds);
    }
    scaled.push_back(one.seconds * (ratios.empty() ? 1 : lanescope::Median(std::move(ratios))));
  }
  for (size_t i = 0; i < scaled.size(); ++i) (*predictions)[i].seconds = scaled[i];
}

struct Errors {
  int count = 0;
  double sum = 0, bias = 0, worst = 0;
  void Add(double error) {
    ++count;
    sum += std::abs(error);
    bias += error;
    worst = std::max(worst, std::abs(error));
  }
  std::string Text() const {
    return fmt::format("{:4} rows, mean {}, bias {}, worst {}", count, PercentText(sum / count),
                       SignedPercentText(bias / count), PercentText(worst));
  }
};

// Pairs of plans for the same model, batch and machine, whose steps differ by more than 2%: how many are
// in order.
void PrintOrder(const std::vector<Predicted>& predictions) {
  constexpr double kSame = 0.02;
  int pairs = 0, right = 0;
  for (size_t i = 0; i < predictions.size(); ++i) {
    for (size_t j = i + 1; j < predictions.size(); ++j) {
      const Predicted &a = predictions[i], &b = predictions[j];
      if (a.row->source != b.row->source || a.row->size != b.row->size ||
          a.row->machine.name != b.row->machine.name)
        continue;
      const auto per_token = [](const Predicted& p, double seconds) {
        return seconds * p.row->machine.gpus() / (p.row->global_batch * p.row->sequence);
      };
      const double measured = per_token(a, a.row->step_s) / per_token(b, b.row->step_s);
      if (std::abs(measured - 1) < kSame) continue;
      ++pairs;
      right += (measured > 1) == (per_token(a, a.seconds) > per_token(b, b.seconds)) ? 1 : 0;
    }
  }
  if (pairs > 0)
    fmt::print("order: {} of {} pairs of plans of a model on a GPU right, {}\n", right, pairs,
               PercentText(static_cast<double>(right) / pairs));
}

// Every row ran, so that every plan fits.
void PrintFits(const std::vector<Predicted>& predictions) {
  int rows = 0, fit = 0;
  std::string others;
  for (const Predicted& p : predictions) {
    const PublishedStep& row = *p.row;
    if (!row.states_recompute) continue;
    ++rows;
    const double missing =
        MissingBytes(FullestStageOf(row.model, row.plan, row.global_batch, row.sequence), row.machine);
    if (missing <= 0) {
      ++fit;
    } else {
      others += fmt::format("{} {} ({})", others.empty() ? "; not" : ",", row.id,
                            lanescope::FormatBytes(static_cast<int64_t>(missing)));
    }
  }
  if (rows > 0) fmt::print("fit: {} of {} plans that ran{}\n", fit, rows, others);
}

void PrintRow(const Predicted& p) {
  const PublishedStep& row = *p.row;
  const auto [part, seconds] = p.step.largest();
  std::string memory;
  if (row.memory_bytes > 0) {
    const double held = FullestStageOf(row.model, row.plan, row.global_batch, row.sequence).memory.bytes();
    memory = fmt::format("; memory {} for {}, {}", lanescope::FormatBytes(static_cast<int64_t>(held)),
                         lanescope::FormatBytes(static_cast<int64_t>(row.memory_bytes)),
                         SignedPercentText(held / row.memory_bytes - 1));
  }
  fmt::print("{}: {} on {} {} {}: measured {:.4g} s, predicted {:.4g} s, {}; {} {}{}\n", row.id, row.size,
             row.machine.gpus(), row.machine.name, PlanText(row.plan), row.step_s, p.seconds,
             SignedPercentText(p.error()), part, PercentText(seconds / p.step.seconds()), memory);
}

}  // namespace

int main(int argc, char** argv) {
  bool per_source = false;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--per-source") == 0) {
      per_source = true;
    } else {
      paths.emplace_back(argv[i]);
    }
  }
  if (paths.empty() || paths[0].starts_with("--")) {
    fmt::print(stderr, "usage: plans [--per-source] ROWS.csv...\n");
    return 2;
  }
  try {
    std::vector<PublishedStep> rows;
    for (const std::string& path : paths) {
      for (PublishedStep& row : lanescope::bench::ReadPublishedSteps(path)) rows.push_back(std::move(row));
    }
    std::vector<Predicted> predictions;
    std::map<std::string, int> reasons;
    for (PublishedStep& row : rows) {
      if (!row.not_modelled.empty()) {
        ++reasons[row.not_modelled];
        continue;
      }
      Predicted predicted{&row,
                          EstimateStep(row.model, row.plan, row.machine, row.global_batch, row.sequence)};
      predicted.seconds = predicted.step.seconds() + row.beside_s;
      predictions.push_back(predicted);
    }
    if (predictions.empty()) {
      fmt::print("no row is modelled\n");
    }
    if (per_source) ScaleBySource(&predictions);
    std::map<std::string, Errors> by_source, by_size;
    Errors all, memory;
    for (const Predicted& p : predictions) {
      PrintRow(p);
      const PublishedStep& row = *p.row;
      by_source[fmt::format("{} on {}", row.source.substr(0, row.source.find(' ')), row.machine.name)].Add(
          p.error());
      by_size[row.size].Add(p.error());
      all.Add(p.error());
      if (row.memory_bytes > 0)
        memory.Add(FullestStageOf(row.model, row.plan, row.global_batch, row.sequence).memory.bytes() /
                       row.memory_bytes -
                   1);
    }
    fmt::print("\n");
    for (const auto& [source, errors] : by_source) fmt::print("{:46} {}\n", source, errors.Text());
    fmt::print("\n");
    for (const auto& [size, errors] : by_size) fmt::print("{:46} {}\n", size, errors.Text());
    fmt::print("\n");
    for (const auto& [reason, count] : reasons) fmt::print("not modelled: {} rows: {}\n", count, reason);
    if (all.count > 0) fmt::print("{:46} {}\n", "all", all.Text());
    if (memory.count > 0) fmt::print("{:46} {}\n", "memory", memory.Text());
    PrintFits(predictions);
    PrintOrder(predictions);
    return 0;
  } catch (const lanescope::Error& error) {
    fmt::print(stderr, "error: {}: {}\n", lanescope::CodeName(error.code()), error.message());
    return 1;
  }
}
