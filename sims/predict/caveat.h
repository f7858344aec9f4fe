// What is to be said of a prediction before its figures. Internal to sims.
#pragma once

#include <string>

#include "core/machine/machine.h"
#include "sims/predict/predict.h"

namespace lanescope::sims {

// As Prediction::caveat has it, of shares and counts by CostBasis.
std::string CaveatOf(const Prediction& prediction, const Machine& machine);

}  // namespace lanescope::sims
