// SPDX-License-Identifier: Apache-2.0
#include "study/base/json_text.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace lanescope::study {

using nlohmann::json;

std::string JsonText(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

json ShapeJson(const Shape& shape) {
  if (!shape.known_rank()) return nullptr;
  json dims = json::array();
  for (const Dim dim : shape.dims()) dims.push_back(IsExact(dim) ? json(dim) : json(nullptr));
  return dims;
}

json SpreadJson(const Spread& spread) {
  return {{"median", std::llround(spread.median)},
          {"p25", std::llround(spread.p25)},
          {"p75", std::llround(spread.p75)},
          {"min", spread.min},
          {"max", spread.max}};
}

}  // namespace lanescope::study
