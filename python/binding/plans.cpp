// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <nanobind/stl/string.h>

#include "core/record/recorder.h"
#include "python/binding/binding.h"
#include "sims/plans/formats.h"
#include "sims/plans/report.h"
#include "study/predict/recorded_plan.h"
#include "study/workload/model_shape.h"
#include "study/workload/torch_modules.h"

namespace lanescope::python {
namespace {

namespace plans = sims::plans;

// A name, or a file; where `json` is not empty that shape.
plans::ModelShape ModelOf(const std::string& name, const std::string& json) {
  return json.empty() ? study::ReadModelShape(name) : plans::ParseModel(json, name);
}

std::string Report(const std::string& model, const std::string& shape, const std::string& plan,
                   const std::string& machine, double global_batch, double wanted, const std::string& trace) {
  const plans::ModelShape asked = ModelOf(model, shape);
  const double sequence = plans::SequenceOf(asked, wanted);
  const plans::Plan parsed = plans::ParsePlan(plan);
  const plans::PlanMachine on = plans::NamedMachine(machine);
  plans::CheckPlan(parsed, asked, global_batch, sequence, on.gpus());
  plans::CheckFormats(on, parsed);
  if (!trace.empty()) study::RecordPlan(trace, {asked, parsed, on, global_batch, sequence}, nullptr);
  return plans::PlanReport(asked, parsed, on, global_batch, sequence);
}

std::string Search(const std::string& model, const std::string& shape, const std::string& machine,
                   double global_batch, double sequence, const std::string& precision,
                   const std::string& kernels, const std::string& loss) {
  const plans::ModelShape asked = ModelOf(model, shape);
  const plans::PlanMachine on = plans::NamedMachine(machine);
  const plans::Plan formats =
      plans::ParsePlan(fmt::format("precision={},kernels={},loss={}", precision, kernels, loss));
  const plans::PlanSearch search{.global_batch = global_batch,
                                 .sequence = plans::SequenceOf(asked, sequence),
                                 .precision = formats.precision,
                                 .kernels = formats.kernels,
                                 .loss = formats.loss};
  const int64_t start = NowNs();
  const plans::FoundPlans found = plans::SearchPlans(asked, on, search);
  return plans::SearchReport(asked, on, search, found, static_cast<double>(NowNs() - start) * 1e-9,
                             shape.empty()
                                 ? study::TorchModulesOf(model, asked, found.fitting.front().plan.tp)
                                 : plans::ModulesOfTorchtitan());
}

}  // namespace

void AddPlans(nb::module_& module) {
  module.def("plan_text", [](const std::string& text) { return plans::PlanText(plans::ParsePlan(text)); });
  module.def("plan_report", &Report);
  module.def("search_plans", &Search);
}

}  // namespace lanescope::python
