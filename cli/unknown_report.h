// What a command line says of a prediction that rests on little, and of ops that are unknown here.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "core/schedule/unknown_work.h"
#include "sims/predict.h"

namespace lanescope::cli {

// Why the figure is not to be relied on, for the first line of the output: it lies outside what was
// calibrated, or there is nothing to go by. Empty where it rests on measurements, or, without a cost file, on
// the rates of a machine file.
std::string CaveatOf(const sims::Prediction& prediction, const Machine& machine);

// One line an op; nothing where all are known.
void PrintUnknownWork(const std::vector<UnknownWork>& unknown);
// [{"op", "defined", "launches", "followers"}]
nlohmann::json UnknownWorkJson(const std::vector<UnknownWork>& unknown);

}  // namespace lanescope::cli
