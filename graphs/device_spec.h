// SPDX-License-Identifier: Apache-2.0
// Which device a scope asks for, as TensorFlow's DeviceSpec: any of five fields.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lanescope::graphs {

// DeviceSpec{.type = "GPU", .index = 0}. A field that is not set asks for nothing. Value type.
struct DeviceSpec {
  std::optional<std::string> job = std::nullopt;
  std::optional<int> replica = std::nullopt;
  std::optional<int> task = std::nullopt;
  std::optional<std::string> type = std::nullopt;  // "cpu" and "gpu" count as "CPU" and "GPU"
  std::optional<int> index = std::nullopt;

  // "/job:worker/replica:0/task:1/device:GPU:0", every part optional, in any order; also "/gpu:0", "GPU:0",
  // and
  // "*" for any index. Throws InvalidArgument for an unknown part, a second device and a number that is none.
  static DeviceSpec Parse(std::string_view text);

  // In the canonical order; a type without an index prints "/device:GPU:*".
  std::string ToString() const;
  // Field by field, what `over` says before what this says. The index is merged apart from the type: "/GPU:1"
  // under "/CPU:*" is "/device:CPU:1".
  DeviceSpec MergedWith(const DeviceSpec& over) const;
  bool empty() const { return !job && !replica && !task && !type && !index; }
};

}  // namespace lanescope::graphs
