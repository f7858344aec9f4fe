// Whole files in and out.
#pragma once

#include <string>
#include <string_view>

namespace lanescope {

// Throws NotFound when the file cannot be opened, InvalidArgument for a folder or a file over 2^31 - 1 bytes.
std::string ReadFile(const std::string& path);

// Writes a temporary file beside `path` and renames it, so that a failure leaves the old file. Throws
// NotFound when the folder cannot be written to, DataLoss when the disk refuses the bytes.
void WriteFile(const std::string& path, std::string_view bytes);

}  // namespace lanescope
