// SPDX-License-Identifier: Apache-2.0
// TensorFlow's table of kernels: which op runs on which device type for which dtypes, which arguments stay in
// host memory, and the kernel's priority. Recorded from TensorFlow 2.15 (core/place/kernels.tsv, embedded at
// build time).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace lanescope {

struct KernelEntry {
  std::string device_type;                                                 // "CPU", "GPU"
  std::vector<std::pair<std::string, std::vector<DataType>>> constraints;  // attribute in one of these types
  std::vector<std::string> host_memory_args;
  int priority = 0;
};

// Shared by all threads: the recorded table parses the rows of an op when it is first asked for them, under a
// lock of that op. One that is built row by row (by tests) is immutable once it is built.
class KernelTable {
 public:
  KernelTable();
  ~KernelTable();
  KernelTable(KernelTable&&) noexcept;

  static const KernelTable& Global();
  void Add(std::string op, KernelEntry entry);
  // Makes the op known without any kernel: it then cannot be placed, instead of being served everywhere.
  void Declare(std::string op);
  // Every entry of an op; empty if the op has no kernel at all.
  const std::vector<KernelEntry>& Entries(std::string_view op) const;
  // The entry that serves this node on this device type, or null. An op that the table lacks altogether, and
  // that no registry knows, is served everywhere if the node carries `_lanescope_cost` or the op is unknown
  // (it can be placed and simulated).
  const KernelEntry* Find(const Node& node, std::string_view device_type) const;
  // Flat input (output) numbers of the node that live in host memory when it runs on this device type.
  std::vector<bool> HostInputs(const Node& node, std::string_view device_type) const;
  std::vector<bool> HostOutputs(const Node& node, std::string_view device_type) const;

 private:
  // The entries of an op, or null when the table does not list it at all.
  const std::vector<KernelEntry>* FindOp(std::string_view op) const;

  struct Op;

  Op& Slot(std::string_view op);

  std::vector<std::unique_ptr<Op>> ops_;  // sorted by name
};

}  // namespace lanescope
