// SPDX-License-Identifier: Apache-2.0
// The first text between processes that were started together. Internal to study.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/protocol.h"

namespace lanescope::study {

// The host of a process, and the number of what it sends. Programs of every number greet alike.
std::string Greeting(const std::string& host, int64_t protocol = kJobProtocol);

// Why they cannot work together, by rank: the first that has another number than rank 0. Empty: they can.
std::string ProblemOfGreetings(const std::vector<std::string>& greetings);

// The hosts of greetings without a problem, by rank.
std::vector<std::string> HostsOfGreetings(const std::vector<std::string>& greetings);

}  // namespace lanescope::study
