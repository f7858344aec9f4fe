// SPDX-License-Identifier: Apache-2.0
// Hostile bytes as a model's shape, and after a line break as a plan: both are read or refused, a plan that
// was read is written and read to the same, and what divides has a step and a memory that are numbers.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sims/plans/memory.h"
#include "sims/plans/step.h"
#include "tests/fuzz/hostile.h"

namespace lanescope::sims::plans {
namespace {

constexpr double kGpus = 8, kBatch = 16, kSequence = 2048;

void TryStep(const ModelShape& model, const Plan& plan) {
  static const PlanMachine machine = NamedMachine("dgx-b200:8");
  CheckPlan(plan, model, kBatch, kSequence, kGpus);
  const double seconds = EstimateStep(model, plan, machine, kBatch, kSequence).seconds();
  if (!std::isfinite(seconds) || seconds <= 0) std::abort();
  for (const PlanMemory& memory : MemoryByStage(model, plan, kBatch, kSequence)) {
    if (!std::isfinite(memory.bytes()) || memory.bytes() < 0) std::abort();
  }
}

}  // namespace
}  // namespace lanescope::sims::plans

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lanescope;
  using namespace lanescope::sims::plans;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t line = text.find('\n');
  ModelShape model = NamedModel("llama-3-8b");
  Plan plan;
  Try([&] { model = ParseModel(text.substr(0, line), "input"); });
  if (line != std::string_view::npos) {
    Try([&] {
      plan = ParsePlan(text.substr(line + 1));
      if (PlanText(ParsePlan(PlanText(plan))) != PlanText(plan)) std::abort();
    });
  }
  Try([&] { TryStep(model, plan); });
  return 0;
}
