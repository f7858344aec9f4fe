// Claims of the form "this command is complete before that one starts", checked all at once by exact
// reachability. Internal to core.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lanescope {

// Collects claims about the commands of one schedule. Not thread-safe.
class OrderClaims {
 public:
  // `law` is what a broken claim means, and must outlive this.
  void Claim(int before, int after, const char* law) {
    if (before != after) claims_.push_back({before, after, law});
  }
  // Calls broken(law, before, after) for the first claim that fails. `predecessors`: by command, in an order
  // that respects them.
  void Check(const std::vector<std::vector<int>>& predecessors,
             const std::function<void(const char* law, int before, int after)>& broken);

 private:
  struct Item {
    int before;
    int after;
    const char* law;
  };
  std::vector<Item> claims_;
};

}  // namespace lanescope
