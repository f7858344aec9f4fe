// SPDX-License-Identifier: Apache-2.0
// Predictions and sweeps as JSON, with the keys that docs/ lists: for the command line and for other
// languages. Internal to study, cli and python.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "core/schedule/schedule.h"
#include "sims/predict/predict.h"
#include "sims/predict/sweep.h"

namespace lanescope::study {

// All, or of a cluster those that do something.
std::vector<DeviceId> ShownDevices(const Machine& machine, const sims::Prediction& prediction);
// step_ns, busy, peak_bytes, copies, critical_path_ns, caveat.
nlohmann::json PredictionJson(const Machine& machine, const sims::Prediction& prediction);
// Beside those: commands, wall_ns, uncalibrated_share.
nlohmann::json PredictionJson(const Machine& machine, const Schedule& schedule,
                              const sims::Prediction& prediction, int64_t wall_ns);
// {"device_to_device": {"count", "bytes", "ns"}, ...} from totals per step.
nlohmann::json CopiesJson(const std::array<sims::CopyTraffic, kNumCopyClasses>& copies);
// step_ns, wait_ns, queues, threads: of a prediction with input.
nlohmann::json InputJson(const sims::PipelinePrediction& input);
// {"hand-off": ns, ...}: step times without each of AllEffects.
nlohmann::json AblationJson(const std::vector<int64_t>& without_ns);
// {"bandwidth": [..], "curves": [..], "crossings": [..]}: bandwidths in bytes per second, times in ns.
nlohmann::json SweepJson(const sims::Sweep& sweep);

// Why the interval is wide, where it spans a factor of four and more; else empty.
std::string WideIntervalOf(const sims::Prediction& prediction);

}  // namespace lanescope::study
