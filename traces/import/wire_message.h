// SPDX-License-Identifier: Apache-2.0
// Walks the fields of a protobuf message of a file, of which there are too many to make objects of.
// Internal to traces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/protobuf_wire.h"

namespace lanescope::traces {

// A message of a file in memory; `path`, for errors, and the bytes must outlive it. A field that is of
// another type than asked for reads as 0 or empty, as a field does that nobody wrote. Value type.
class WireMessage {
 public:
  WireMessage(std::string_view bytes, const std::string* path) : reader_(bytes), path_(path) {}

  // To the next field; false: there is none. Throws DataLoss for what is no message.
  bool Next();
  // The number of the present field.
  int field() const { return reader_.field(); }
  int64_t Integer() const { return is_integer() ? static_cast<int64_t>(reader_.number()) : 0; }
  double Real() const;
  std::string_view Bytes() const { return is_bytes() ? reader_.bytes() : std::string_view(); }
  std::string Text() const { return std::string(Bytes()); }
  WireMessage Nested() const { return {Bytes(), path_}; }
  bool is_bytes() const { return reader_.type() == WireType::kBytes; }
  bool is_integer() const { return reader_.type() == WireType::kVarint; }

 private:
  WireReader reader_;
  const std::string* path_;
};

}  // namespace lanescope::traces
