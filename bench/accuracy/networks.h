// SPDX-License-Identifier: Apache-2.0
// The networks of the scoreboard: training steps of the usual shapes, small enough that a step takes some
// milliseconds on one core. Written with graphs/, so that every run of the scoreboard has the same.
#pragma once

#include <string>
#include <vector>

namespace lanescope::accuracy {

// Names of networks that Write knows: "mlp", "branches", "lstm", "transformer", "random1", "random2".
std::vector<std::string> NetworkNames();
// Writes FOLDER/NAME.pbtxt with its run configuration. Returns the graph's path. Throws NotFound.
std::string WriteNetwork(const std::string& name, const std::string& folder);

}  // namespace lanescope::accuracy
