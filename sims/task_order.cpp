#include "sims/task_order.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "core/base/error.h"

namespace lanescope::sims {
namespace {

// The tasks that `id` waits for; a producer that it reads twice comes twice.
template <typename Visit>
void ForEachBefore(const TaskGraph& tasks, int id, const Visit& visit) {
  for (const int before : tasks.task(id).after) visit(before);
  for (const TaskRead& read : tasks.task(id).reads) {
    if (const int producer = tasks.tensor(read.tensor).producer; producer >= 0) visit(producer);
  }
}

}  // namespace

TaskOrder::TaskOrder(const TaskGraph& tasks)
    : tasks_(tasks),
      successors_(MakeRows(static_cast<size_t>(tasks.num_tasks()),
                           [&](const auto& add) {
                             for (int id = 0; id < tasks.num_tasks(); ++id)
                               ForEachBefore(tasks, id, [&](int before) { add(before, id); });
                           })),
      waits_(static_cast<size_t>(tasks.num_tasks()), 0),
      rank_(waits_) {
  for (const int task : successors_.items) ++waits_[static_cast<size_t>(task)];
}

void TaskOrder::Prioritise(const std::vector<int>& priority) {
  if (ranked_ && ranked_for_ == priority) return;
  ranked_ = true;
  ranked_for_ = priority;
  const auto tasks = static_cast<size_t>(tasks_.num_tasks());
  urgency_ = priority.empty() ? std::vector<int>(tasks, 0) : priority;
  for (int id = tasks_.num_tasks() - 1; id >= 0; --id) {
    ForEachBefore(tasks_, id, [&](int before) {
      int& urgency = urgency_[static_cast<size_t>(before)];
      urgency = std::max(urgency, urgency_[static_cast<size_t>(id)]);
    });
  }
  all_equal_ = std::adjacent_find(urgency_.begin(), urgency_.end(), std::not_equal_to<>()) == urgency_.end();
  order_.clear();
  std::vector<int> waiting = waits_;
  using Key = std::pair<int64_t, int>;
  std::priority_queue<Key, std::vector<Key>, std::greater<>> ready;
  const auto arrive = [&](int id) { ready.emplace(-int64_t{urgency(id)}, id); };
  for (int id = 0; id < tasks_.num_tasks(); ++id) {
    if (waiting[static_cast<size_t>(id)] == 0) arrive(id);
  }
  while (!ready.empty()) {
    const int id = ready.top().second;
    ready.pop();
    rank_[static_cast<size_t>(id)] = static_cast<int>(order_.size());
    order_.push_back(id);
    for (const int next : successors_[id]) {
      if (--waiting[static_cast<size_t>(next)] == 0) arrive(next);
    }
  }
  LANESCOPE_CHECK(order_.size() == tasks);
}

// The rank of the launch that the copy comes right before: the first one that is less urgent than the copy,
// or as urgent and made later, among those after what the copy waits for.
int TaskOrder::PositionOf(const CopyOrder& copy) const {
  if (copy.first_reader < 0) return tasks_.num_tasks();
  if (all_equal_) return rank(copy.first_reader);
  int position = copy.after + 1;
  for (; position < rank(copy.first_reader); ++position) {
    const int launch = order_[static_cast<size_t>(position)];
    if (urgency(launch) < copy.priority) break;
    if (urgency(launch) == copy.priority && launch >= copy.first_reader) break;
  }
  return position;
}

void TaskOrder::Merge(const std::vector<CopyOrder>& copies, std::vector<int>* rank, std::vector<int>* items) {
  const auto before = [&](int a, int b) {
    const CopyOrder &x = copies[static_cast<size_t>(a)], &y = copies[static_cast<size_t>(b)];
    if (x.priority != y.priority) return x.priority > y.priority;
    return x.first_reader != y.first_reader ? x.first_reader < y.first_reader : x.number < y.number;
  };
  // A sorted list of copies for each position; hardly ever more than a few.
  copy_at_.assign(order_.size() + 1, -1);
  next_copy_.resize(copies.size());
  for (int c = 0; c < static_cast<int>(copies.size()); ++c) {
    int* at = &copy_at_[static_cast<size_t>(PositionOf(copies[static_cast<size_t>(c)]))];
    while (*at >= 0 && !before(c, *at)) at = &next_copy_[static_cast<size_t>(*at)];
    next_copy_[static_cast<size_t>(c)] = *at;
    *at = c;
  }
  const int tasks = tasks_.num_tasks();
  rank->resize(static_cast<size_t>(tasks) + copies.size());
  items->clear();
  const auto add = [&](int item) {
    (*rank)[static_cast<size_t>(item)] = static_cast<int>(items->size());
    items->push_back(item);
  };
  for (int position = 0; position <= tasks; ++position) {
    for (int c = copy_at_[static_cast<size_t>(position)]; c >= 0; c = next_copy_[static_cast<size_t>(c)])
      add(tasks + c);
    if (position < tasks) add(order_[static_cast<size_t>(position)]);
  }
}

}  // namespace lanescope::sims
