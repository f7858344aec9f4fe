// SPDX-License-Identifier: Apache-2.0
#include "traces/import/json_file.h"

#include <istream>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json_object.h"
#include "traces/import/gzip_stream.h"

namespace lanescope::traces {

nlohmann::json ReadJsonFile(const std::string& path, JsonLimits* limits,
                            const nlohmann::json::parser_callback_t& keeps) {
  RefuseEndlessFile(path);
  GzipBuffer buffer(path, [limits](int64_t bytes) { limits->Read(bytes); });
  std::istream file(&buffer);
  nlohmann::json rest;
  std::string problem;
  try {
    rest = nlohmann::json::parse(file, keeps);
  } catch (const nlohmann::json::exception& failure) {
    problem = JsonErrorText(failure);
  }
  if (const std::string damage = buffer.problem(); !damage.empty())
    Throw(Code::kDataLoss, "{} is damaged: {}", path, damage);
  if (!problem.empty()) Throw(Code::kDataLoss, "{} is no JSON, or damaged: {}", path, problem);
  return rest;
}

}  // namespace lanescope::traces
