// Lists of numbers in one array, for data that would else be a vector of vectors.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lanescope::compile {

// Row r is items[first[r] .. first[r + 1]). Rows are made in order: Append its items, then EndRow.
struct Rows {
  std::vector<int> first{0};
  std::vector<int> items;

  size_t size() const { return first.size() - 1; }
  std::span<const int> operator[](size_t row) const {
    const auto begin = static_cast<size_t>(first[row]);
    return {items.data() + begin, static_cast<size_t>(first[row + 1]) - begin};
  }
  std::span<const int> operator[](int row) const { return (*this)[static_cast<size_t>(row)]; }
  void Append(int item) { items.push_back(item); }
  void EndRow() { first.push_back(static_cast<int>(items.size())); }
  // Sorts the row that is being made and drops repeats.
  void SortOpenRow();
};

// Row i of the result lists the rows that contain i, ascending. All items are in [0, count).
Rows Transpose(const Rows& rows, size_t count);

}  // namespace lanescope::compile
