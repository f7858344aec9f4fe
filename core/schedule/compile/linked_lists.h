// Lists of numbers in one array that can grow at any time, where Rows<> are made in order.
#pragma once

#include <cstddef>
#include <vector>

namespace lanescope::compile {

// Each list is a chain of links in one array. Its items come in no order that anyone may rely on, and may
// repeat.
class LinkedLists {
 public:
  explicit LinkedLists(size_t lists = 0) : head_(lists, -1) {}
  void Reserve(size_t lists, size_t items) {
    head_.reserve(lists);
    links_.reserve(items);
  }
  void AddList() { head_.push_back(-1); }
  void Add(int list, int item) {
    int& head = head_[static_cast<size_t>(list)];
    links_.push_back({item, head});
    head = static_cast<int>(links_.size()) - 1;
  }
  // Calls visit(item), which may add to any list; what it adds to this one is not visited.
  template <typename Visit>
  void ForEach(int list, Visit visit) const {
    for (int link = head_[static_cast<size_t>(list)]; link >= 0;) {
      const Link current = links_[static_cast<size_t>(link)];
      visit(current.item);
      link = current.next;
    }
  }
  size_t num_items() const { return links_.size(); }

 private:
  struct Link {
    int item;
    int next;
  };
  std::vector<int> head_;  // by list: its last link, -1 none
  std::vector<Link> links_;
};

}  // namespace lanescope::compile
