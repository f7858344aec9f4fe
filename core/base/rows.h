// SPDX-License-Identifier: Apache-2.0
// Lists in one array, for data that would else be a vector of vectors: dependencies, users, lists by number.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/id.h"

namespace lanescope {

// Row r is items[first[r] .. first[r + 1]). Rows are numbered, or have ids (`Row`). Value type.
template <typename Item = int, typename Row = int>
struct Rows {
  std::vector<int> first{0};
  std::vector<Item> items;

  size_t size() const { return first.size() - 1; }
  template <typename Key>
  requires std::same_as<Key, Row> ||(std::integral<Key>&& std::integral<Row>)std::span<const Item> operator[](
      Key row) const {
    const auto begin = static_cast<size_t>(first[IndexOf(row)]);
    return {items.data() + begin, static_cast<size_t>(first[IndexOf(row) + 1]) - begin};
  }
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
template <typename Item = int, typename Row = int, typename ForEach>
Rows<Item, Row> MakeRows(size_t count, ForEach for_each) {
  // While the rows are filled, first[i + 1] is where row i goes on; in the end that is where it ends.
  Rows<Item, Row> rows;
  rows.first.assign(count + 2, 0);
  for_each([&](Row row, const Item&) { ++rows.first[IndexOf(row) + 2]; });
  for (size_t i = 2; i < rows.first.size(); ++i) rows.first[i] += rows.first[i - 1];
  rows.items.resize(static_cast<size_t>(rows.first.back()));
  for_each([&](Row row, const Item& item) {
    int& next = rows.first[IndexOf(row) + 1];
    rows.items[static_cast<size_t>(next++)] = item;
  });
  rows.first.pop_back();
  return rows;
}

// Row i of the result lists the rows that contain i, ascending. All items are in [0, count).
template <typename Item, typename Row>
Rows<Row, Item> Transpose(const Rows<Item, Row>& rows, size_t count) {
  return MakeRows<Row, Item>(count, [&](const auto& add) {
    for (size_t row = 0; row < rows.size(); ++row) {
      for (const Item item : rows[static_cast<Row>(row)]) add(item, static_cast<Row>(row));
    }
  });
}

}  // namespace lanescope
