// SPDX-License-Identifier: Apache-2.0
// Processes that were started together greet each other before anything else. Internal to study.
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

// By rank, of greetings without a problem.
std::vector<std::string> HostsOfGreetings(const std::vector<std::string>& greetings);

}  // namespace lanescope::study
