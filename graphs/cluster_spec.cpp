// SPDX-License-Identifier: Apache-2.0
#include "graphs/cluster_spec.h"

#include <charconv>

#include "core/base/error.h"

namespace lanescope::graphs {
namespace {

std::vector<std::string> PartsOf(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

ClusterSpec ClusterSpec::Parse(std::string_view text) {
  ClusterSpec spec;
  if (text.empty()) return spec;
  for (const std::string& part : PartsOf(text, ';')) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size()) {
      Throw(Code::kInvalidArgument, "'{}' is not of the form JOB=HOST:PORT,HOST:PORT", part);
    }
    spec.AddJob(part.substr(0, equals), PartsOf(std::string_view(part).substr(equals + 1), ','));
  }
  return spec;
}

void ClusterSpec::AddJob(const std::string& job, const std::vector<std::string>& addresses) {
  if (jobs_.contains(job)) Throw(Code::kAlreadyExists, "the cluster has a job '{}' already", job);
  Tasks& tasks = jobs_[job];
  for (const std::string& address : addresses) tasks.emplace(static_cast<int>(tasks.size()), address);
}

void ClusterSpec::AddTask(const std::string& job, int task, const std::string& address) {
  if (task < 0) Throw(Code::kInvalidArgument, "tasks are numbered from 0, not from {}", task);
  if (!jobs_[job].emplace(task, address).second)
    Throw(Code::kAlreadyExists, "job '{}' has a task {} already", job, task);
}

const ClusterSpec::Tasks& ClusterSpec::TasksOf(const std::string& job) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) Throw(Code::kNotFound, "No such job in cluster: '{}'", job);
  return found->second;
}

std::vector<std::string> ClusterSpec::jobs() const {
  std::vector<std::string> names;
  for (const auto& [job, tasks] : jobs_) names.push_back(job);
  return names;
}

int ClusterSpec::num_tasks(const std::string& job) const { return static_cast<int>(TasksOf(job).size()); }

std::vector<int> ClusterSpec::task_indices(const std::string& job) const {
  std::vector<int> indices;
  for (const auto& [task, address] : TasksOf(job)) indices.push_back(task);
  return indices;
}

std::vector<std::optional<std::string>> ClusterSpec::job_tasks(const std::string& job) const {
  std::vector<std::optional<std::string>> addresses;
  for (const auto& [task, address] : TasksOf(job)) {
    addresses.resize(static_cast<size_t>(task));
    addresses.emplace_back(address);
  }
  return addresses;
}

const std::string& ClusterSpec::task_address(const std::string& job, int task) const {
  const Tasks& tasks = TasksOf(job);
  const auto found = tasks.find(task);
  if (found == tasks.end()) Throw(Code::kNotFound, "No task with index {} in job '{}'", task, job);
  return found->second;
}

std::pair<std::string, uint16_t> ClusterSpec::task_endpoint(const std::string& job, int task) const {
  const std::string& address = task_address(job, task);
  const size_t colon = address.rfind(':');
  uint16_t port = 0;
  if (colon != std::string::npos) {
    const char* end = address.data() + address.size();
    const auto parsed = std::from_chars(address.data() + colon + 1, end, port);
    if (parsed.ec == std::errc() && parsed.ptr == end && colon > 0) return {address.substr(0, colon), port};
  }
  Throw(Code::kInvalidArgument, "task {} of job '{}' has the address '{}', which is no HOST:PORT with a port",
        task, job, address);
}

std::string ClusterSpec::ToString() const {
  std::string text = "ClusterSpec({";
  for (const auto& [job, tasks] : jobs_) {
    const bool has_gaps = !tasks.empty() && tasks.rbegin()->first + 1 != static_cast<int>(tasks.size());
    if (job != jobs_.begin()->first) text += ", ";
    text += "'" + job + (has_gaps ? "': {" : "': [");
    for (const auto& [task, address] : tasks) {
      if (task != tasks.begin()->first) text += ", ";
      if (has_gaps) text += std::to_string(task) + ": ";
      text += "'" + address + "'";
    }
    text += has_gaps ? "}" : "]";
  }
  return text + "})";
}

}  // namespace lanescope::graphs
