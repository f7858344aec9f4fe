// SPDX-License-Identifier: Apache-2.0
// An event of a JSON trace: its values by key, as they are written. Internal to traces.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lanescope::traces {

struct JsonValue {
  enum class Kind : uint8_t { kText, kPlain, kNested };
  Kind kind = Kind::kPlain;
  // A text as it reads, a number or a word as it is written, a list or an object with all that is in it.
  std::string_view text;
};

// The values of one object, in the order of the file. Whoever read them owns the texts.
class JsonFields {
 public:
  void Clear() { fields_.clear(); }
  void Add(std::string_view key, JsonValue value) { fields_.push_back({key, value}); }
  // Null: there is none. Of several the last.
  const JsonValue* Find(std::string_view key) const {
    for (auto field = fields_.rbegin(); field != fields_.rend(); ++field) {
      if (field->key == key) return &field->value;
    }
    return nullptr;
  }
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const Field& field : fields_) visit(field.key, field.value);
  }

 private:
  struct Field {
    std::string_view key;
    JsonValue value;
  };
  std::vector<Field> fields_;
};

struct ChromeEvent : JsonFields {
  bool has_args = false;
  JsonFields args;
};

}  // namespace lanescope::traces
