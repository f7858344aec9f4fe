// SPDX-License-Identifier: Apache-2.0
// Pickled lists, dictionaries, texts and numbers of Python, read as data. Internal to traces.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lanescope::traces {

// Nothing in the file is run: an opcode that names a class, a function or another object ends the reading.
// Values are numbered; equal numbers are one object, and an object may hold itself. Immutable.
class PickleValues {
 public:
  enum class Kind : uint8_t { kNone, kNumber, kText, kList, kDictionary };
  static constexpr int kNoValue = -1;

  // `bytes` must outlive it. Throws InvalidArgument for other objects than these, DataLoss for what is no
  // pickle or ends early, ResourceExhausted for too many values, Cancelled. Messages say `name`.
  PickleValues(std::string_view bytes, const std::string& name, const std::atomic<bool>* cancelled);

  int root() const { return root_; }
  // A number that is not there, and values of other kinds, are 0, "" or no elements.
  Kind KindOf(int value) const;
  int64_t NumberOf(int value) const;
  std::string_view TextOf(int value) const;
  const std::vector<int>& ElementsOf(int value) const;
  // The value of a key that is a text; kNoValue: there is none.
  int Find(int dictionary, std::string_view key) const;

 private:
  friend class PickleMachine;
  struct Value {
    Kind kind = Kind::kNone;
    int64_t number = 0;
    std::string_view text;
    int elements = -1;  // into elements_: of a dictionary keys and values in turn
  };
  const Value* At(int value) const;

  std::vector<Value> values_;
  std::vector<std::vector<int>> elements_;
  int root_ = kNoValue;
};

}  // namespace lanescope::traces
