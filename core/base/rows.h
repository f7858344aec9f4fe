// Lists in one array, for data that would else be a vector of vectors: dependencies, users, lists by number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace lanescope {

// Row r is items[first[r] .. first[r + 1]). Value type.
template <typename Item = int>
struct Rows {
  std::vector<int> first{0};
  std::vector<Item> items;

  size_t size() const { return first.size() - 1; }
  std::span<const Item> operator[](size_t row) const {
    const auto begin = static_cast<size_t>(first[row]);
    return {items.data() + begin, static_cast<size_t>(first[row + 1]) - begin};
  }
  std::span<const Item> operator[](int row) const { return (*this)[static_cast<size_t>(row)]; }
  bool operator==(const Rows&) const = default;

  // Rows that are made in order: append the items of one, then end it.
  void Append(const Item& item) { items.push_back(item); }
  void EndRow() { first.push_back(static_cast<int>(items.size())); }
  // Sorts the row that is being made and drops repeats.
  void SortOpenRow() {
    const auto begin = items.begin() + first.back();
    std::sort(begin, items.end());
    items.erase(std::unique(begin, items.end()), items.end());
  }
};

// Rows that are made in any order: `for_each(add)` calls add(row, item) for every item, and does the same
// when it is called a second time. The items of a row keep their order.
template <typename Item = int, typename ForEach>
Rows<Item> MakeRows(size_t count, ForEach for_each) {
  // While the rows are filled, first[i + 1] is where row i goes on; in the end that is where it ends.
  Rows<Item> rows;
  rows.first.assign(count + 2, 0);
  for_each([&](int row, const Item&) { ++rows.first[static_cast<size_t>(row) + 2]; });
  for (size_t i = 2; i < rows.first.size(); ++i) rows.first[i] += rows.first[i - 1];
  rows.items.resize(static_cast<size_t>(rows.first.back()));
  for_each([&](int row, const Item& item) {
    int& next = rows.first[static_cast<size_t>(row) + 1];
    rows.items[static_cast<size_t>(next++)] = item;
  });
  rows.first.pop_back();
  return rows;
}

// Row i of the result lists the rows that contain i, ascending. All items are in [0, count).
inline Rows<> Transpose(const Rows<>& rows, size_t count) {
  return MakeRows(count, [&](const auto& add) {
    for (size_t row = 0; row < rows.size(); ++row) {
      for (const int item : rows[row]) add(item, static_cast<int>(row));
    }
  });
}

}  // namespace lanescope
