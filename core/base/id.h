// SPDX-License-Identifier: Apache-2.0
// Numbers that say what they count, and vectors that only such a number indexes: the number of a value is no
// number of a command.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

namespace lanescope {

// The number of a thing in the table of its kind, or none. As cheap as an int. `Kind` only tells ids apart.
template <typename Kind>
class Id {
 public:
  constexpr Id() = default;  // none
  constexpr explicit Id(std::integral auto number) : number_(static_cast<int>(number)) {}

  // False for none.
  constexpr bool exists() const { return number_ >= 0; }
  // -1 for none.
  constexpr int number() const { return number_; }
  constexpr size_t index() const { return static_cast<size_t>(number_); }
  constexpr Id& operator++() {
    ++number_;
    return *this;
  }
  // None comes first.
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  int number_ = -1;
};

// In JSON an id is its number.
template <typename Json, typename Kind>
void to_json(Json& json, Id<Kind> id) {
  json = id.number();
}

// The first `count` ids, to iterate over.
template <typename Key>
class IdRange {
 public:
  class Iterator {
   public:
    using value_type = Key;
    using difference_type = std::ptrdiff_t;
    constexpr Iterator() = default;
    constexpr explicit Iterator(Key id) : id_(id) {}
    constexpr Key operator*() const { return id_; }
    constexpr Iterator& operator++() {
      ++id_;
      return *this;
    }
    constexpr Iterator operator++(int) { return Iterator(std::exchange(id_, Key(id_.number() + 1))); }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    Key id_;
  };
  constexpr explicit IdRange(size_t count) : count_(count) {}
  constexpr Iterator begin() const { return Iterator(Key(0)); }
  constexpr Iterator end() const { return Iterator(Key(count_)); }

 private:
  size_t count_;
};

// A vector whose items have ids. Iteration gives the items, ids() their ids.
template <typename Key, typename T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(size_t count) : items_(count) {}
  IdVector(size_t count, const T& item) : items_(count, item) {}
  IdVector(std::initializer_list<T> items) : items_(items) {}

  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  bool Contains(Key id) const { return id.exists() && id.index() < items_.size(); }
  typename std::vector<T>::reference operator[](Key id) { return items_[id.index()]; }
  typename std::vector<T>::const_reference operator[](Key id) const { return items_[id.index()]; }
  IdRange<Key> ids() const { return IdRange<Key>(items_.size()); }
  // That the next item will have.
  Key next_id() const { return Key(items_.size()); }

  Key Add(T item) {
    items_.push_back(std::move(item));
    return Key(items_.size() - 1);
  }
  void reserve(size_t count) { items_.reserve(count); }
  void resize(size_t count) { items_.resize(count); }
  void resize(size_t count, const T& item) { items_.resize(count, item); }
  void assign(size_t count, const T& item) { items_.assign(count, item); }
  void clear() { items_.clear(); }

  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  T& back() { return items_.back(); }
  const T& back() const { return items_.back(); }
  T* data() { return items_.data(); }
  const T* data() const { return items_.data(); }
  bool operator==(const IdVector&) const = default;

 private:
  std::vector<T> items_;
};

// The place of a number or an id in an array.
constexpr size_t IndexOf(std::integral auto number) { return static_cast<size_t>(number); }
template <typename Kind>
constexpr size_t IndexOf(Id<Kind> id) {
  return id.index();
}

}  // namespace lanescope

template <typename Kind>
struct std::hash<lanescope::Id<Kind>> {
  size_t operator()(lanescope::Id<Kind> id) const { return std::hash<int>()(id.number()); }
};
