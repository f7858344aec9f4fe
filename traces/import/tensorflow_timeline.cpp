// SPDX-License-Identifier: Apache-2.0
#include "traces/import/tensorflow_timeline.h"

#include <map>
#include <string>

#include "traces/import/kineto_fields.h"
#include "traces/import/run_metadata.h"

namespace lanescope::traces {

bool TensorFlowTimeline::Add(const ChromeEvent& event) {
  const auto start = JsonNanoseconds(event, "ts"), length = JsonNanoseconds(event, "dur");
  const auto op = JsonText(event, "name");
  if (!start || !length || *length < 0 || !op || !event.has_args) return false;
  const auto node = JsonText(event.args, "name");
  ops_.push_back({JsonInteger(event, "pid").value_or(0), JsonInteger(event, "tid").value_or(0), *start,
                  *length, names_.Intern(node.value_or(*op)), names_.Intern(*op)});
  return true;
}

void TensorFlowTimeline::Finish() {
  if (ops_.empty()) return;
  trace_.format = "TensorFlow's timeline";
  std::map<int64_t, std::string> devices;
  constexpr std::string_view kCompute = " Compute";
  for (const ImportProcess& process : trace_.processes) {
    const std::string& name = trace_.names[static_cast<size_t>(process.name)];
    if (name.ends_with(kCompute)) devices[process.pid] = name.substr(0, name.size() - kCompute.size());
  }
  trace_.processes.clear();
  TensorFlowRows rows(&trace_);
  for (const Op& op : ops_) {
    const std::string node = trace_.names[static_cast<size_t>(op.node)],
                      type = trace_.names[static_cast<size_t>(op.op)];
    const auto device = devices.find(op.pid);
    rows.Add({device == devices.end() ? std::string_view() : std::string_view(device->second), node, "", type,
              op.start_ns, op.length_ns, op.tid});
  }
  rows.Finish();
}

}  // namespace lanescope::traces
