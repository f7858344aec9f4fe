// SPDX-License-Identifier: Apache-2.0
// Predictions as tables, and what the command line takes from the layer below for its JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "core/machine/machine.h"
#include "core/schedule/schedule.h"
#include "sims/predict/predict.h"
#include "study/base/json_text.h"
#include "study/predict/prediction_json.h"

namespace lanescope::cli {

using study::AblationJson;
using study::CopiesJson;
using study::JsonText;
using study::PredictionJson;
using study::ShapeJson;
using study::ShownDevices;
using study::SweepJson;

void PrintPrediction(std::string_view graph, std::string_view strategy, const Machine& machine,
                     const Schedule& schedule, const sims::Prediction& prediction, std::string_view origin);

}  // namespace lanescope::cli
