// SPDX-License-Identifier: Apache-2.0
// Signatures of the ops that TensorFlow knows, recorded from its registry (data/signatures.tsv, embedded at
// build time): what placing a node takes of an op that has no definition here. Internal to core.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/op.h"

namespace lanescope {

// The op's arguments, references marked, and the attributes that decide their number and types; nothing else
// of the definition is set. Null for an op that TensorFlow does not know. Parsed at the first call for an op;
// stays where it is. From any thread.
const OpDef* RecordedSignature(std::string_view op);
// Names of all recorded ops, sorted.
std::vector<std::string_view> RecordedOps();

}  // namespace lanescope
