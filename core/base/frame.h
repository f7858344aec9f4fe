// SPDX-License-Identifier: Apache-2.0
// Numbers and texts one behind the other, as processes of a job send each other.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace lanescope {

class FrameWriter {
 public:
  FrameWriter& Number(int64_t number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
    return *this;
  }
  FrameWriter& Text(std::string_view text) {
    Number(static_cast<int64_t>(text.size()));
    bytes_ += text;
    return *this;
  }
  FrameWriter& Texts(const std::vector<std::string>& texts) {
    Number(static_cast<int64_t>(texts.size()));
    for (const std::string& text : texts) Text(text);
    return *this;
  }
  template <typename T>
  FrameWriter& Records(const std::vector<T>& records) {
    static_assert(std::is_trivially_copyable_v<T>);
    return Text({reinterpret_cast<const char*>(records.data()), records.size() * sizeof(T)});
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads what a FrameWriter wrote; refers to it. Throws DataLoss for anything else.
class FrameReader {
 public:
  explicit FrameReader(std::string_view bytes) : bytes_(bytes) {}

  int64_t Number() {
    int64_t number = 0;
    std::memcpy(&number, Next(sizeof number).data(), sizeof number);
    return number;
  }
  // Throws DataLoss for a number outside of [low, high] too.
  int64_t NumberIn(int64_t low, int64_t high) {
    const int64_t number = Number();
    if (number < low || number > high) Lost();
    return number;
  }
  std::string_view Text() { return Next(static_cast<uint64_t>(Number())); }
  std::vector<std::string> Texts() {
    std::vector<std::string> texts;
    for (int64_t left = NumberIn(0, static_cast<int64_t>(bytes_.size())); left > 0; --left)
      texts.emplace_back(Text());
    return texts;
  }
  // The bytes that have not been read.
  std::string_view Rest() const { return bytes_; }
  template <typename T>
  std::vector<T> Records() {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::string_view text = Text();
    if (text.size() % sizeof(T) != 0) Lost();
    std::vector<T> records(text.size() / sizeof(T));
    if (!text.empty()) std::memcpy(static_cast<void*>(records.data()), text.data(), text.size());
    return records;
  }

 private:
  [[noreturn]] static void Lost() {
    Throw(Code::kDataLoss, "a message of another process is broken; do all run the same program?");
  }
  std::string_view Next(uint64_t size) {
    if (size > bytes_.size()) Lost();
    const std::string_view next = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return next;
  }

  std::string_view bytes_;
};

}  // namespace lanescope
