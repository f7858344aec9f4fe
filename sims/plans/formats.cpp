// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/formats.h"

#include <string>

#include "core/base/error.h"
#include "sims/plans/layer.h"

namespace lanescope::sims::plans {
namespace {

std::string NamesOfPrecisions(const PlanMachine& machine) {
  std::string names;
  for (int i = 0; i < kNumPrecisions; ++i) {
    const auto precision = static_cast<Precision>(i);
    if (!HasProducts(machine, precision)) continue;
    names += (names.empty() ? "" : ", ") + std::string(PrecisionName(precision));
  }
  return names;
}

}  // namespace

bool HasProducts(const PlanMachine& machine, Precision precision) {
  if (precision == Precision::kMxfp8 && !machine.kernels.scales_in_products) return false;
  return machine.kernels.product(FormatOf(precision)).flops > 0;
}

void CheckPrecision(const PlanMachine& machine, Precision precision) {
  if (HasProducts(machine, precision)) return;
  Throw(Code::kInvalidArgument, "precision={}: the GPUs of {} have no products in it, but in {}",
        PrecisionName(precision), machine.name, NamesOfPrecisions(machine));
}

void CheckFormats(const PlanMachine& machine, const Plan& plan) {
  CheckPrecision(machine, plan.precision);
  if (plan.attention == Attention::kFp8 && !HasProducts(machine, Precision::kFp8)) {
    Throw(Code::kInvalidArgument,
          "attention=fp8: the GPUs of {} have no products in fp8; leave it out for attention in bf16",
          machine.name);
  }
}

}  // namespace lanescope::sims::plans
