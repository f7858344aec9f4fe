// SPDX-License-Identifier: Apache-2.0
// Attributes between memory and the GraphDef messages. Internal to core: brings in generated headers.
#pragma once

#include "core/graph/attr.h"
#include "core/graph/tensor_proto.h"
#include "lanescope_node.pb.h"

namespace lanescope {

// A value without a typed form (function, placeholder, list of tensors or of mixed kinds, unknown field,
// no value at all) becomes a RawAttr. An empty list becomes an empty list of int: a file does not say
// of what. Throws InvalidArgument for a malformed shape or constant.
AttrValue AttrFromProto(const tf::AttrValue& proto, ExpansionBudget* budget);
void AttrToProto(const AttrValue& value, tf::AttrValue* proto);

}  // namespace lanescope
