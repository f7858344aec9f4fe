// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>

#include "traces/report/summary.h"

namespace lanescope::traces {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson RowsJson(const std::vector<SummaryRow>& rows) {
  OrderedJson list = OrderedJson::array();
  for (const SummaryRow& row : rows) {
    list.push_back({{"name", row.name},
                    {"type", row.type},
                    {"time_percent", row.time_percent},
                    {"total_ns", row.total_ns},
                    {"calls", row.calls},
                    {"avg_ns", row.avg_ns},
                    {"min_ns", row.min_ns},
                    {"max_ns", row.max_ns}});
  }
  return list;
}

OrderedJson TasksJson(const std::vector<RunTask>& tasks) {
  OrderedJson list = OrderedJson::array();
  for (const RunTask& task : tasks) {
    list.push_back({{"name", task.name},
                    {"process", task.process.empty() ? OrderedJson(nullptr) : OrderedJson(task.process)},
                    {"clock_ahead_ns", task.clock_ahead_ns},
                    {"clock_uncertainty_ns", task.clock_uncertainty_ns}});
  }
  return list;
}

OrderedJson TrafficJson(const std::vector<TrafficRow>& rows) {
  OrderedJson list = OrderedJson::array();
  for (const TrafficRow& row : rows) {
    list.push_back({{"src", row.src},
                    {"dst", row.dst},
                    {"count", row.count},
                    {"bytes", row.bytes_known ? OrderedJson(row.bytes) : OrderedJson()},
                    {"ns", row.ns},
                    {"class", CopyClassName(row.copy_class)}});
  }
  return list;
}

OrderedJson DevicesJson(const std::vector<DeviceTime>& devices) {
  OrderedJson list = OrderedJson::array();
  for (const DeviceTime& time : devices) {
    list.push_back({{"device", time.device},
                    {"window_ns", time.window_ns},
                    {"compute_ns", time.compute_ns},
                    {"communication_ns", time.communication_ns},
                    {"overlapped_ns", time.overlapped_ns},
                    {"exposed_ns", time.exposed_ns},
                    {"copies_ns", time.copies_ns},
                    {"hidden_copies_ns", time.hidden_copies_ns},
                    {"exposed_copies_ns", time.exposed_copies_ns},
                    {"exposed_memsets_ns", time.exposed_memsets_ns},
                    {"idle_ns", time.idle_ns}});
  }
  return list;
}

OrderedJson StepsJson(const std::vector<StepUsage>& steps) {
  OrderedJson list = OrderedJson::array();
  for (const StepUsage& step : steps) {
    list.push_back({{"step", step.step},
                    {"start_ns", step.start_ns},
                    {"end_ns", step.end_ns},
                    {"disturbed", !step.counts},
                    {"devices", DevicesJson(step.devices)}});
    const auto add = [&](const char* key, int64_t count) {
      if (count >= 0) list.back()[key] = count;
    };
    add("prefill", step.work.prefill);
    add("decode", step.work.decode);
    add("tokens", step.work.tokens);
  }
  return list;
}

OrderedJson SumsJson(const std::vector<OperationSum>& sums) {
  OrderedJson list = OrderedJson::array();
  for (const OperationSum& sum : sums) {
    list.push_back({{"name", sum.name},
                    {"percent", sum.percent},
                    {"total", sum.total},
                    {"count", sum.count},
                    {"avg", sum.average},
                    {"med", sum.median},
                    {"min", sum.min},
                    {"max", sum.max},
                    {"stddev", sum.stddev}});
    if (!sum.style.empty()) list.back()["style"] = sum.style;
  }
  return list;
}

OrderedJson RangesJson(const std::vector<RangeRow>& rows) {
  OrderedJson list = OrderedJson::array();
  for (const RangeRow& row : rows) {
    list.push_back({{"name", row.name},
                    {"kernels", row.kernels},
                    {"kernel_ns", row.kernel_ns},
                    {"copies", row.copies},
                    {"copy_ns", row.copy_ns},
                    {"copy_bytes", row.copies > 0 && row.copy_bytes == 0 ? OrderedJson(nullptr)
                                                                         : OrderedJson(row.copy_bytes)},
                    {"top_kernel", row.top_kernel}});
  }
  return list;
}

OrderedJson BoundJson(const std::optional<Bound>& bound) {
  if (!bound) return nullptr;
  const auto known = [](double value) { return value > 0 ? OrderedJson(value) : OrderedJson(); };
  return {{"name", bound->name},
          {"coverage", bound->coverage},
          {"most", bound->most},
          {"bytes_per_second", known(bound->bytes_per_second)},
          {"ceiling_bytes_per_second", known(bound->ceiling_per_second)},
          {"devices", bound->devices}};
}

OrderedJson DroppedJson(const std::vector<std::pair<std::string, int64_t>>& dropped) {
  OrderedJson object = OrderedJson::object();
  for (const auto& [what, count] : dropped) {
    object[what] = object.value(what, int64_t{0}) + count;
  }
  return object;
}

void AddWaits(const Waits& waits, OrderedJson* json) {
  OrderedJson devices = OrderedJson::array(), streams = OrderedJson::array(),
              stragglers = OrderedJson::array();
  for (const DeviceWaits& device : waits.devices) {
    devices.push_back({{"device", device.label},
                       {"model", device.model},
                       {"host", device.host},
                       {"window_ns", device.window_ns},
                       {"compute_ns", device.compute_ns},
                       {"exposed_ns", device.exposed_ns},
                       {"hidden_ns", device.hidden_ns},
                       {"idle_ns", device.idle_ns},
                       {"idle_in_calls_ns", device.in_calls_ns},
                       {"idle_host_ns", device.host_ns},
                       {"idle_for_streams_ns", device.for_streams_ns},
                       {"idle_queued_ns", device.queued_ns},
                       {"idle_edges_ns", device.edges_ns},
                       {"collectives", device.collectives},
                       {"transfer_ns", device.transfer_ns},
                       {"waiting_ns", device.waiting_ns},
                       {"idle_for_ranks_ns", device.for_ranks_ns},
                       {"last", device.last}});
  }
  for (const StreamWaits& stream : waits.streams) {
    streams.push_back({{"device", stream.label},
                       {"stream", stream.stream},
                       {"operations", stream.operations},
                       {"busy_ns", stream.busy_ns},
                       {"host_wait_ns", stream.host_ns},
                       {"kernel_wait_ns", stream.kernel_ns},
                       {"other_wait_ns", stream.other_ns},
                       {"for_streams_ns", stream.for_streams_ns},
                       {"for_ranks_ns", stream.for_ranks_ns},
                       {"launched", stream.launched},
                       {"mean_delay_ns", stream.mean_delay_ns},
                       {"max_delay_ns", stream.max_delay_ns},
                       {"max_queue", stream.max_queue},
                       {"name", stream.name}});
  }
  for (const Straggler& straggler : waits.stragglers) {
    stragglers.push_back({{"step", straggler.step},
                          {"device", straggler.label},
                          {"collectives", straggler.collectives},
                          {"of", straggler.of},
                          {"others_waited_ns", straggler.others_waited_ns}});
  }
  OrderedJson collectives = OrderedJson::array();
  const auto rate = [](double bandwidth) {
    return bandwidth > 0 ? OrderedJson(bandwidth) : OrderedJson(nullptr);
  };
  for (const CollectiveRow& row : waits.collectives) {
    collectives.push_back({{"kind", row.kind},
                           {"ranks", row.ranks},
                           {"bytes", row.bytes > 0 ? OrderedJson(row.bytes) : OrderedJson(nullptr)},
                           {"count", row.count},
                           {"ns", row.ns},
                           {"includes_waiting", row.waits},
                           {"algorithm_bytes_per_second", rate(row.algorithm_bandwidth)},
                           {"bus_bytes_per_second", rate(row.bus_bandwidth)},
                           {"link_bytes_per_second", rate(waits.link.Of(row.ranks))}});
  }
  (*json)["waits"] = {{"devices", devices},
                      {"streams", streams},
                      {"stragglers", stragglers},
                      {"collectives", collectives},
                      {"link", waits.link.within > 0 ? OrderedJson(waits.link.source) : OrderedJson(nullptr)},
                      {"peer_copy_bytes_per_second", rate(waits.peer_copy_bandwidth)},
                      {"partial_collectives", waits.partial},
                      {"verdict", waits.verdict}};
}

OrderedJson InputJson(const InputUse& use) {
  OrderedJson queues = OrderedJson::array(), threads = OrderedJson::array();
  for (const QueueUse& queue : use.queues) {
    queues.push_back(
        {{"name", queue.name},
         {"capacity", queue.capacity < 0 ? OrderedJson(nullptr) : OrderedJson(queue.capacity)},
         {"kept", queue.kept},
         {"mean_fill", queue.mean_fill < 0 ? OrderedJson(nullptr) : OrderedJson(queue.mean_fill)},
         {"starved_ns", queue.starved_ns},
         {"full_ns", queue.full_ns},
         {"threads", queue.threads}});
  }
  for (const InputThreadUse& thread : use.threads) {
    threads.push_back({{"op", thread.op},
                       {"queue", thread.queue},
                       {"steps", thread.steps},
                       {"step_ns", std::llround(thread.step_ns)},
                       {"work_ns", std::llround(thread.work_ns)},
                       {"waited_ns", thread.waited_ns},
                       {"blocked_ns", thread.blocked_ns}});
  }
  return {{"window_ns", use.window_ns},
          {"wait_ns", use.wait_ns},
          {"queues", queues},
          {"threads", threads},
          {"verdict", use.verdict}};
}

bool HasSums(const Summary& summary) {
  return !summary.kernel_sums.empty() || !summary.memory_time_sums.empty() || !summary.api_sums.empty() ||
         !summary.nvtx_sums.empty();
}

}  // namespace

std::string SummaryJson(const Summary& summary) {
  const Communication& c = summary.communication;
  OrderedJson json = {{"run", summary.run},
                      {"hosts", summary.hosts},
                      {"tasks", TasksJson(summary.tasks)},
                      {"gpu_activities", RowsJson(summary.gpu_activities)},
                      {"host_activities", RowsJson(summary.host_activities)},
                      {"api_calls", RowsJson(summary.api_calls)},
                      {"traffic", TrafficJson(summary.traffic)},
                      {"communication",
                       {{"devices", c.devices},
                        {"compute_ns", c.compute_ns},
                        {"overlapped_ns", c.overlapped_ns},
                        {"exposed_ns", c.exposed_ns},
                        {"idle_ns", c.idle_ns},
                        {"nccl_ns", c.nccl_ns},
                        {"copies_ns", c.copies_ns}}},
                      {"devices", DevicesJson(summary.devices)},
                      {"steps", StepsJson(summary.steps)},
                      {"dropped", summary.dropped},
                      {"dropped_by", DroppedJson(summary.dropped_by)},
                      {"invalid_rows", summary.invalid_rows},
                      {"notes", summary.notes},
                      {"bound", BoundJson(summary.bound)},
                      {"verdict", summary.verdict}};
  if (summary.step >= 0) json["step"] = summary.step;
  if (summary.waits) AddWaits(*summary.waits, &json);
  if (summary.input) json["input"] = InputJson(*summary.input);
  if (!summary.ranges.empty()) {
    json[summary.place == ProgramPlace::kRange    ? "nvtx"
         : summary.place == ProgramPlace::kModule ? "modules"
                                                  : "lines"] = RangesJson(summary.ranges);
  }
  if (HasSums(summary)) {
    json["kernel_sum"] = SumsJson(summary.kernel_sums);
    json["memory_time_sum"] = SumsJson(summary.memory_time_sums);
    json["memory_size_sum"] = SumsJson(summary.memory_size_sums);
    json["api_sum"] = SumsJson(summary.api_sums);
    json["nvtx_sum"] = SumsJson(summary.nvtx_sums);
  }
  // Names come from files: what is no UTF-8 is replaced.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace lanescope::traces
