// SPDX-License-Identifier: Apache-2.0
// The instances of an op in a profile, in columns: a run without steps has as many as it has pieces of work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace lanescope {

// The k-th time in a step that an op runs; means over the steps in which it did (ns).
struct OpInstance {
  int64_t seen = 0;      // steps in which it ran
  double ns = 0;         // its length
  double path_ns = 0;    // the part of it on the step's path
  double shared_ns = 0;  // the part beside other work that competes for the same thing
  double wait_ns = 0;    // waiting on the path right before it
  int device = 0;        // index into devices; of a copy: that executed it
  int signature = -1;    // number of a text
  int range = -1;        // number of the text of its innermost NVTX range
};

// Numbers, most of them all the same or whole and small: one for all, else 4 bytes each while they are whole
// and from -1 to 2^32 - 3, else 8. Exact. Value type.
class NumberColumn {
 public:
  size_t size() const { return size_; }
  double operator[](size_t i) const {
    return form_ == Form::kSame ? same_ : form_ == Form::kSmall ? Decoded(small_[i]) : any_[i];
  }
  void Push(double value);
  void Set(size_t i, double value);

 private:
  enum class Form : uint8_t { kSame, kSmall, kAny };
  static bool Fits(double value);
  static double Decoded(uint32_t cell) { return static_cast<double>(cell) - 1; }
  void MakeRoomFor(double value);

  Form form_ = Form::kSame;
  double same_ = 0;
  size_t size_ = 0;
  std::deque<uint32_t> small_;  // plus 1. Deques grow without a copy
  std::deque<double> any_;
};

// Value type.
class OpInstances {
 public:
  class Iterator {
   public:
    Iterator(const OpInstances* of, size_t at) : of_(of), at_(at) {}
    OpInstance operator*() const { return (*of_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const OpInstances* of_;
    size_t at_;
  };

  size_t size() const { return ns_.size(); }
  bool empty() const { return size() == 0; }
  OpInstance operator[](size_t i) const;
  OpInstance front() const { return (*this)[0]; }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

  void Push(const OpInstance& instance);
  void Set(size_t i, const OpInstance& instance);
  // Adds to what is there.
  void AddPath(size_t i, double ns) { path_ns_.Set(i, path_ns_[i] + ns); }
  void AddWait(size_t i, double ns) { wait_ns_.Set(i, wait_ns_[i] + ns); }
  void AddShared(size_t i, double ns) { shared_ns_.Set(i, shared_ns_[i] + ns); }

 private:
  NumberColumn seen_, ns_, path_ns_, shared_ns_, wait_ns_, device_, signature_, range_;
};

}  // namespace lanescope
