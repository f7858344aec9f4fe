// SPDX-License-Identifier: Apache-2.0
// Completions for shells, as scripts that know every command, option and choice by themselves.
#pragma once

#include <string>
#include <string_view>

#include "cli/command_text.h"

namespace lanescope::cli {

std::string BashCompletions(const CommandText& program);
std::string ZshCompletions(const CommandText& program);
std::string FishCompletions(const CommandText& program);

// `text` in single quotes, as bash and zsh read them.
std::string Quoted(std::string_view text);
// "a b c".
std::string Joined(const std::vector<std::string>& words);

}  // namespace lanescope::cli
