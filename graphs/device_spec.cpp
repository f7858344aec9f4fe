// SPDX-License-Identifier: Apache-2.0
#include "graphs/device_spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "core/base/error.h"
#include "core/machine/device_name.h"

namespace lanescope::graphs {
namespace {

std::vector<std::string_view> SplitAt(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

int ParseNumber(std::string_view text, std::string_view spec) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    Throw(Code::kInvalidArgument, "device '{}': invalid literal for int() with base 10: '{}'", spec, text);
  }
  return number;
}

// The types that stand for themselves, without "device:" before them.
bool IsShortType(std::string_view upper) {
  constexpr std::array<std::string_view, 3> kTypes = {"CPU", "GPU", "TPU"};
  return std::ranges::find(kTypes, upper) != kTypes.end();
}

std::string UpperCase(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return upper;
}

std::string TypeName(const std::string& type) {
  return type == "cpu" || type == "gpu" ? UpperCase(type) : type;
}

class SpecParser {
 public:
  explicit SpecParser(std::string_view text) : text_(text) {}

  DeviceSpec Parse() {
    for (const std::string_view part : SplitAt(text_, '/')) ParsePart(SplitAt(part, ':'));
    return spec_;
  }

 private:
  void ParsePart(const std::vector<std::string_view>& part) {
    const std::string_view key = part[0];
    if (part.size() == 2 && key == "job") {
      spec_.job = part[1];
    } else if (part.size() == 2 && key == "replica") {
      spec_.replica = ParseNumber(part[1], text_);
    } else if (part.size() == 2 && key == "task") {
      spec_.task = ParseNumber(part[1], text_);
    } else if (part.size() <= 2 && IsShortType(UpperCase(key))) {
      SetDevice(UpperCase(key), part.size() == 2 ? part[1] : "*");
    } else if (part.size() == 3 && key == "device") {
      SetDevice(std::string(part[1]), part[2]);
    } else if (!key.empty()) {
      Throw(Code::kInvalidArgument,
            "Unknown attribute '{}' is encountered while parsing the device spec: '{}'.", key, text_);
    }
  }

  void SetDevice(std::string type, std::string_view index) {
    if (spec_.type) {
      Throw(Code::kInvalidArgument,
            "Multiple device types are not allowed while parsing the device spec: {}.", text_);
    }
    spec_.type = TypeName(type);
    if (index != "*") spec_.index = ParseNumber(index, text_);
  }

  const std::string_view text_;
  DeviceSpec spec_;
};

}  // namespace

DeviceSpec DeviceSpec::Parse(std::string_view text) { return SpecParser(text).Parse(); }

std::string DeviceSpec::ToString() const {
  DeviceName name;
  name.has_job = job.has_value();
  name.job = job.value_or("");
  name.has_replica = replica.has_value();
  name.replica = replica.value_or(0);
  name.has_task = task.has_value();
  name.task = task.value_or(0);
  name.has_type = type.has_value();
  name.type = TypeName(type.value_or(""));
  name.has_id = index.has_value();
  name.id = index.value_or(0);
  return name.ToString();
}

DeviceSpec DeviceSpec::MergedWith(const DeviceSpec& over) const {
  DeviceSpec merged = over;
  if (!merged.job) merged.job = job;
  if (!merged.replica) merged.replica = replica;
  if (!merged.task) merged.task = task;
  if (!merged.type) merged.type = type;
  if (!merged.index) merged.index = index;
  return merged;
}

}  // namespace lanescope::graphs
