// SPDX-License-Identifier: Apache-2.0
// Long lists of plain values in bounded memory. Internal to traces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace lanescope::traces {

// A file without a name, in $TMPDIR or /var/tmp. Throws ResourceExhausted where it cannot be made or grow.
// Movable. Thread-compatible.
class NamelessFile {
 public:
  NamelessFile() = default;
  NamelessFile(NamelessFile&& other) noexcept;
  NamelessFile& operator=(NamelessFile&& other) noexcept;
  ~NamelessFile();

  void Append(const void* bytes, size_t size);
  // The bytes must be there.
  void Read(int64_t offset, void* bytes, size_t size) const;

 private:
  int descriptor_ = -1;
};

// Values in the order in which they came: the last ones in memory, those before in a file. Movable.
// Thread-compatible.
template <typename T>
class Spool {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  void push_back(const T& value) {
    if (last_.size() == kInMemory) {
      file_.Append(last_.data(), kInMemory * sizeof(T));
      spilled_ += kInMemory;
      last_.clear();
    }
    last_.push_back(value);
  }
  bool empty() const { return size() == 0; }
  size_t size() const { return spilled_ + last_.size(); }

  template <typename Visit>
  void ForEach(const Visit& visit) const {
    std::vector<T> block(std::min(spilled_, kBlock));
    for (size_t first = 0; first < spilled_; first += block.size()) {
      file_.Read(static_cast<int64_t>(first * sizeof(T)), block.data(), block.size() * sizeof(T));
      for (const T& value : block) visit(value);
    }
    for (const T& value : last_) visit(value);
  }

 private:
  static constexpr size_t kInMemory = size_t{1} << 17, kBlock = size_t{1} << 12;  // a multiple of the other

  NamelessFile file_;
  size_t spilled_ = 0;
  std::vector<T> last_;
};

}  // namespace lanescope::traces
