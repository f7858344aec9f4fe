// SPDX-License-Identifier: Apache-2.0
// Resources that steps share by a handle or by name.
#pragma once

namespace lanescope::exec {

// A lookup table, a queue, a reader. One that has a name in a ResourceManager says its type there as
// T::kTypeName.
class Resource {
 public:
  virtual ~Resource() = default;
};

}  // namespace lanescope::exec
