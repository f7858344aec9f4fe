// SPDX-License-Identifier: Apache-2.0
// The options of every command as one page of Markdown: docs/reference/options.md.
#pragma once

#include <string>

#include "cli/command_text.h"

namespace lanescope::cli {

std::string OptionsPage(const CommandText& program);

}  // namespace lanescope::cli
