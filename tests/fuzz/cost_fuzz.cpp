// SPDX-License-Identifier: Apache-2.0
// Hostile bytes as a cost file: it is read or refused, what was read reads the same again, and predictions
// made with it are times, or are refused.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sims/cost/cost_model.h"
#include "sims/cost/cost_table.h"
#include "sims/predict/predict.h"
#include "tests/fuzz/hostile.h"
#include "tests/fuzz/two_device_step.h"

namespace lanescope {
namespace {

struct Prepared {
  TwoDeviceStep step;
  Machine machine = VirtualMachine(2, 2);
  Schedule schedule = step.CompileOn(machine, PlaceAnnotated(step.Input(machine, RooflineCost())));
};

void TryCosts(std::string_view bytes) {
  sims::CostTable table;
  if (!Try([&] { table = sims::ParseCostTable(bytes); })) return;
  // Not caught: what was read once must never be refused afterwards.
  const std::string text = sims::CostTableToJson(table);
  if (sims::CostTableToJson(sims::ParseCostTable(text)) != text) std::abort();
  static const Prepared prepared;
  Try([&] {
    const sims::CalibratedCost costs(table);
    sims::PredictionSettings settings = sims::SettingsOf(costs.table());
    settings.draws = 4;
    const sims::Prediction prediction = sims::Predict(prepared.step.graph, prepared.step.info,
                                                      prepared.schedule, prepared.machine, costs, settings);
    if (prediction.step_ns < 0 || prediction.low_ns > prediction.step_ns ||
        prediction.high_ns < prediction.step_ns)
      std::abort();
    if (!(prediction.uncalibrated_share() >= 0 && prediction.uncalibrated_share() <= 1)) std::abort();
  });
}

}  // namespace
}  // namespace lanescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lanescope::TryCosts({reinterpret_cast<const char*>(data), size});
  return 0;
}
