// SPDX-License-Identifier: Apache-2.0
// The jobs of a cluster and the addresses of their tasks, as TensorFlow's ClusterSpec.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lanescope::graphs {

// Value type. Lookups throw NotFound for a job or a task that the cluster does not have.
class ClusterSpec {
 public:
  ClusterSpec() = default;
  // "ps=ps0:1111;worker=worker0:3333,worker1:4444". Throws InvalidArgument for another form.
  static ClusterSpec Parse(std::string_view text);

  // Tasks 0, 1, ... of a job that is not there yet; throws AlreadyExists.
  void AddJob(const std::string& job, const std::vector<std::string>& addresses);
  // One task of a job; throws AlreadyExists, InvalidArgument for a negative number.
  void AddTask(const std::string& job, int task, const std::string& address);

  // Whether there is any job.
  explicit operator bool() const { return !jobs_.empty(); }
  friend bool operator==(const ClusterSpec&, const ClusterSpec&) = default;

  // In the order of their names.
  std::vector<std::string> jobs() const;
  int num_tasks(const std::string& job) const;
  std::vector<int> task_indices(const std::string& job) const;
  // By number; none where the job has no task of that number.
  std::vector<std::optional<std::string>> job_tasks(const std::string& job) const;
  const std::string& task_address(const std::string& job, int task) const;
  // The task's host and port. Throws InvalidArgument for an address without a port.
  std::pair<std::string, uint16_t> task_endpoint(const std::string& job, int task) const;

  // "ClusterSpec({'ps': ['ps0:1111'], 'worker': ['worker0:3333', 'worker1:4444']})"; the tasks of a job with
  // gaps stand with their numbers.
  std::string ToString() const;

 private:
  using Tasks = std::map<int, std::string>;
  const Tasks& TasksOf(const std::string& job) const;

  std::map<std::string, Tasks> jobs_;
};

}  // namespace lanescope::graphs
