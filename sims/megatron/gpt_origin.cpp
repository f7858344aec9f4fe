// SPDX-License-Identifier: Apache-2.0
#include "sims/megatron/gpt_origin.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace lanescope::sims::megatron {
namespace {

// The numbers of a model and its layout by name, for both ways.
std::vector<std::pair<const char*, double*>> NumbersOf(GptOrigin* origin) {
  GptModel& model = origin->model;
  GptLayout& layout = origin->layout;
  return {{"layers", &model.layers},
          {"hidden", &model.hidden},
          {"heads", &model.heads},
          {"sequence", &model.sequence},
          {"vocabulary", &model.vocabulary},
          {"batch", &layout.batch},
          {"micro_batch", &layout.micro_batch},
          {"tensor", &layout.tensor},
          {"data", &layout.data},
          {"pipeline", &layout.pipeline}};
}

constexpr double kMostGpus = 1e6;

[[noreturn]] void Refuse(const std::string& why) {
  Throw(Code::kInvalidArgument, "node 'train': attribute '{}' {}; it is written by make gpt", kGptOriginAttr,
        why);
}

}  // namespace

std::string GptOriginText(GptOrigin origin) {
  nlohmann::ordered_json json;
  for (const auto& [name, number] : NumbersOf(&origin)) json[name] = static_cast<int64_t>(*number);
  json["recompute"] = origin.layout.recompute;
  json["schedule"] = origin.schedule == PipelineSchedule::kGPipe ? "gpipe" : "1f1b";
  return json.dump();
}

std::optional<GptOrigin> OriginOf(const Graph& graph) {
  const NodeId train = graph.FindNode("train");
  const AttrValue* attr = !train.exists() ? nullptr : graph.node(train).FindAttr(kGptOriginAttr);
  const auto* text = attr == nullptr ? nullptr : std::get_if<std::string>(attr);
  if (text == nullptr) return std::nullopt;
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
  GptOrigin origin;
  for (const auto& [name, number] : NumbersOf(&origin)) {
    const auto found = json.is_object() ? json.find(name) : json.end();
    if (found == json.end() || !found->is_number()) Refuse(fmt::format("has no number '{}'", name));
    *number = found->get<double>();
    if (!(*number >= 1 && *number <= 1e9 && *number == std::floor(*number)))
      Refuse(fmt::format("has a '{}' that is no whole number from 1 on", name));
  }
  if (origin.layout.gpus() > kMostGpus) Refuse(fmt::format("speaks of more than {:.0f} GPUs", kMostGpus));
  origin.layout.recompute = json.value("recompute", nlohmann::json()) == true;
  const bool gpipe = json.value("schedule", nlohmann::json()) == "gpipe";
  origin.schedule = gpipe ? PipelineSchedule::kGPipe : PipelineSchedule::k1F1B;
  return origin;
}

}  // namespace lanescope::sims::megatron
