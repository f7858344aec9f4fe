// SPDX-License-Identifier: Apache-2.0
// Questions of tests to the nodes that a Scope has written.
#pragma once

#include <string>

#include "graphs/scope.h"

namespace lanescope::graphs {

inline const std::string& NameOf(const Scope& s, Endpoint e) { return s.graph().node(e.node).name; }
inline const std::string& DeviceOf(const Scope& s, Endpoint e) { return s.graph().node(e.node).device; }

}  // namespace lanescope::graphs
