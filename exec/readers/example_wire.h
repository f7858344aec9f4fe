// SPDX-License-Identifier: Apache-2.0
// The features of a serialized tf.train.Example, where they lie in it. Internal to exec/readers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/dtype.h"

namespace lanescope::exec {

// The values of a feature in their message: BytesList, FloatList or Int64List. Refers to its bytes.
class FeatureValues {
 public:
  // kInvalid: the feature holds none of the lists.
  DataType dtype = DataType::kInvalid;
  std::string_view list;

  // How many there are; -1 for a damaged list.
  int64_t Count() const;
  // Writes Count() values of its type to `to`.
  void CopyTo(std::string* to) const;
  void CopyTo(float* to) const;
  void CopyTo(int64_t* to) const;
};

// In the order of the message. False for what is no Example; what its lists hold is not looked at.
bool FindFeatures(std::string_view example,
                  std::vector<std::pair<std::string_view, FeatureValues>>* features);

}  // namespace lanescope::exec
