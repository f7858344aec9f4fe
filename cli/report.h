// Predictions as JSON and as tables, and changes to a machine given on the command line.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/machine.h"
#include "core/schedule/schedule.h"
#include "sims/predict.h"
#include "study/json_text.h"

namespace lanescope::cli {

using study::JsonText;
using study::ShapeJson;
// The keys of a prediction in design section 6.1: step_ns, busy, peak_bytes, copies, critical_path_ns.
nlohmann::json PredictionJson(const Machine& machine, const sims::Prediction& prediction);
// {"device_to_device": {"count", "bytes", "ns"}, ...} from totals per step.
nlohmann::json CopiesJson(const std::array<sims::CopyTraffic, kNumCopyClasses>& copies);

void PrintPrediction(std::string_view graph, std::string_view strategy, const Machine& machine,
                     const Schedule& schedule, const sims::Prediction& prediction, std::string_view origin);

// "link.bandwidth=10GB/s" (links between GPUs), "host_link.bandwidth=..", "link.latency=5us",
// "GPU:1.speed=0.5", "GPU:0.memory=4GiB", "GPU:0.workers=2". A speed goes to `speed`.
// Throws InvalidArgument listing what can be set.
void ApplyMachineChange(std::string_view change, Machine* machine, IdVector<DeviceId, double>* speed);
// Checks an option before anything runs: empty where the text has the right form, else what is wrong.
std::string CheckMachineChange(const std::string& change);

}  // namespace lanescope::cli
