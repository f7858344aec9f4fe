// SPDX-License-Identifier: Apache-2.0
// Events of ONNX Runtime's own profiler, as Chrome traces have them. Internal to traces.
#pragma once

#include <cstdint>
#include <string_view>

#include "traces/import/event_fields.h"
#include "traces/import/import_trace.h"

namespace lanescope::traces {

// Nodes that ran on the host are its kernels, those of other providers ranges that handed work to a GPU, and
// every run of the model is a step. Kernels of GPUs stand on the first one: their records name none. The
// trace and the names must outlive it. Of one thread.
class OnnxRuntimeProfile {
 public:
  OnnxRuntimeProfile(ImportTrace* trace, ImportNames* names) : trace_(*trace), names_(*names) {}

  // Events of category "Session" and "Node", and "Kernel" of no process, are of this profiler. False: the
  // event is another's.
  bool Add(const ChromeEvent& event, std::string_view category);

 private:
  void AddNode(const JsonFields& args, std::string_view name, ImportEvent event);
  void AddKernel(const JsonFields& args, std::string_view name, ImportEvent event);
  void AddSession(std::string_view name, ImportEvent event);
  int64_t Host();

  ImportTrace& trace_;
  ImportNames& names_;
  int64_t runs_ = 0;
  int64_t host_ = -1;
};

}  // namespace lanescope::traces
