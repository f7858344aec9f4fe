// SPDX-License-Identifier: Apache-2.0
// The functions of SQL that a query may call. Internal to traces.
#pragma once

#include <string_view>

namespace lanescope::traces {

// SQLite's own that compute something of their arguments, whatever their letters' case. Those of its
// extensions, which may tell addresses of the process or load code, are none, nor is what is not known here.
bool IsQueryFunction(std::string_view name);

}  // namespace lanescope::traces
