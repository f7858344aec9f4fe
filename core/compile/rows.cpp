#include "core/compile/rows.h"

#include <algorithm>

namespace lanescope::compile {

void Rows::SortOpenRow() {
  const auto begin = items.begin() + first.back();
  if (items.end() - begin < 2) return;
  std::sort(begin, items.end());
  items.erase(std::unique(begin, items.end()), items.end());
}

Rows Transpose(const Rows& rows, size_t count) {
  // While the rows are filled, first[i + 1] is where row i goes on; in the end that is where it ends.
  Rows result;
  result.first.assign(count + 2, 0);
  for (const int item : rows.items) ++result.first[static_cast<size_t>(item) + 2];
  for (size_t i = 2; i < result.first.size(); ++i) result.first[i] += result.first[i - 1];
  result.items.resize(rows.items.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    for (const int item : rows[row]) {
      int& next = result.first[static_cast<size_t>(item) + 1];
      result.items[static_cast<size_t>(next++)] = static_cast<int>(row);
    }
  }
  result.first.pop_back();
  return result;
}

}  // namespace lanescope::compile
