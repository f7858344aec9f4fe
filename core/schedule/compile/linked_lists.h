// SPDX-License-Identifier: Apache-2.0
// Lists of numbers in one array that can grow at any time, where Rows<> are made in order.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/id.h"

namespace lanescope::compile {

// Lists by ids of ids of the same kind. Each list is a chain of links in one array. Its items come in no
// order that anyone may rely on, and may repeat.
template <typename Key>
class LinkedLists {
 public:
  explicit LinkedLists(size_t lists = 0) : head_(lists, -1) {}
  void Reserve(size_t lists, size_t items) {
    head_.reserve(lists);
    links_.reserve(items);
  }
  void AddList() { head_.Add(-1); }
  void Add(Key list, Key item) {
    int& head = head_[list];
    links_.push_back({item, head});
    head = static_cast<int>(links_.size()) - 1;
  }
  // Calls visit(item), which may add to any list; what it adds to this one is not visited.
  template <typename Visit>
  void ForEach(Key list, Visit visit) const {
    for (int link = head_[list]; link >= 0;) {
      const Link current = links_[static_cast<size_t>(link)];
      visit(current.item);
      link = current.next;
    }
  }
  size_t num_items() const { return links_.size(); }

 private:
  struct Link {
    Key item;
    int next;
  };
  IdVector<Key, int> head_;  // its last link, -1 none
  std::vector<Link> links_;
};

}  // namespace lanescope::compile
