// SPDX-License-Identifier: Apache-2.0
// Fields of a JSON event, checked: what is missing, of another type or out of range is not there.
// Internal to traces.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "traces/import/event_fields.h"

namespace lanescope::traces {

std::optional<int64_t> JsonInteger(const JsonFields& object, std::string_view key);
std::optional<int64_t> JsonInteger(const nlohmann::json& object, const char* key);
// A number of something, which may be a handle of 64 bits, and may be written as a text.
std::optional<int64_t> JsonId(const JsonFields& object, std::string_view key);
// "300", "0x55f0"; handles beyond 2^63 are negative.
std::optional<int64_t> IdOfText(std::string_view text);
// The number is of microseconds, whole or not, or the text of their digits.
std::optional<int64_t> JsonNanoseconds(const JsonFields& object, std::string_view key);
std::optional<std::string_view> JsonText(const JsonFields& object, std::string_view key);
// Null: there is no such text. The object must outlive it.
const std::string* JsonText(const nlohmann::json& object, const char* key);
// From 0 to 2^31 - 1; 0: it is not there.
int32_t JsonSmall(const JsonFields& object, std::string_view key);
// "[80, 1, 1]"; false: it is no such list, and `size` is as it was or partly written.
bool ReadJsonSize(const JsonFields& object, std::string_view key, std::array<int32_t, 3>* size);

}  // namespace lanescope::traces
