// SPDX-License-Identifier: Apache-2.0
// Whole files in and out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lanescope {

// The largest text that protobuf can parse at once.
inline constexpr size_t kMaxFileBytes = INT32_MAX;

// Throws NotFound when the file cannot be opened, InvalidArgument for a folder, a device, or a file over
// `limit` bytes, before reading it. A pipe is read to its end, or to the limit.
std::string ReadFile(const std::string& path, size_t limit = kMaxFileBytes);

// Throws InvalidArgument for what has no end or no contents: folders, devices, sockets. What is not there
// passes.
void RefuseEndlessFile(const std::string& path);

// Where `file` truly lies, links followed, if that is in the tree of `folder` (empty: the current one). Empty
// for an absolute path and for what leads out, whatever it is called: how files that a file names are found.
std::optional<std::string> PathWithin(const std::string& folder, const std::string& file);

// As OutputFile does: the file is there whole or, after an Error, as it was.
void WriteFile(const std::string& path, std::string_view bytes);

}  // namespace lanescope
