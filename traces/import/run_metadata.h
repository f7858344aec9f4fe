// SPDX-License-Identifier: Apache-2.0
// TensorFlow's RunMetadata (StepStats), and the timeline in JSON that its tools make of it.
// Internal to traces.
#pragma once

#include <string>
#include <string_view>

#include "traces/import/importer.h"

namespace lanescope::traces {

// One row of a device: an op, a kernel or a copy.
struct TensorFlowRow {
  std::string_view device;       // "/device:GPU:0/stream:13"
  std::string_view name, label;  // "dense/MatMul", "dense/MatMul = MatMul(x, w)"
  std::string_view op;           // empty: as the label says
  int64_t start_ns = 0, length_ns = 0, thread = 0;
};

// Rows as events: kernels and copies of GPUs by stream, ops on other devices by thread, what was handed to
// GPUs as ranges. What a device tells twice is counted once.
class TensorFlowRows {
 public:
  explicit TensorFlowRows(ImportTrace* trace) : trace_(*trace), names_(trace) {}
  void Add(const TensorFlowRow& row);
  // After the last row.
  void Finish();

 private:
  struct Doubled {
    std::vector<ImportEvent> events;
    bool told = false;  // by the streams of that GPU
  };
  ImportEvent OnGpu(const TensorFlowRow& row, int64_t gpu, int64_t stream);
  ImportEvent EventOf(const TensorFlowRow& row, std::string_view name);
  int64_t HostOf(std::string_view device);

  ImportTrace& trace_;
  ImportNames names_;
  std::map<std::string, int64_t, std::less<>> hosts_;
  std::map<int64_t, Doubled> kernels_, copies_;  // by GPU
};

// A .pb or .run_metadata file by its first bytes: others of these are graphs.
bool IsRunMetadata(const ForeignFile& file);
// Throws InvalidArgument for a file that is no RunMetadata, DataLoss for a damaged one, Cancelled.
ImportTrace ReadRunMetadata(const ImportSource& source);

}  // namespace lanescope::traces
