// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "core/base/printable.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "traces/report/waits.h"

namespace lanescope::traces {
namespace {

std::string CollectivesText(const Waits& waits, int width) {
  if (waits.collectives.empty()) return "";
  TextTable table;
  table.Name("Collective").Number("Ranks").Number("Message").Number("Count").Number("Time");
  table.Group("Bandwidth").Number("algorithm").Number("bus").Number("link").Number("of it");
  const auto rate = [](const CollectiveRow& row, double bandwidth) {
    if (bandwidth <= 0) return std::string("?");
    return (row.waits ? ">= " : "") + FormatBandwidth(bandwidth);
  };
  for (const CollectiveRow& row : waits.collectives) {
    const double link = waits.link.Of(row.ranks);
    table.Row({row.kind, row.ranks > 0 ? std::to_string(row.ranks) : "?",
               row.bytes > 0 ? FormatBytes(row.bytes) : "?", std::to_string(row.count), TimeText(row.ns),
               rate(row, row.algorithm_bandwidth), rate(row, row.bus_bandwidth),
               link > 0 ? FormatBandwidth(link) : "?",
               link > 0 && row.bus_bandwidth > 0
                   ? (row.waits ? ">= " : "") + PercentText(row.bus_bandwidth / link, 0)
                   : "?"});
  }
  std::string out = "\n" + table.Take(width);
  if (std::ranges::any_of(waits.collectives, &CollectiveRow::waits))
    out += "(>=: not all ranks are in the trace, so waiting for them is in the time)\n";
  out += waits.link.within > 0
             ? fmt::format("Link: {} of a GPU each way ({}).\n", FormatBandwidth(waits.link.within),
                           Printable(waits.link.source))
             : "Nothing in the trace says what its links carry: --link RATE or --machine FILE does.\n";
  if (waits.peer_copy_bandwidth > 0) {
    out += fmt::format("Copies between GPUs reach {} at best.\n", FormatBandwidth(waits.peer_copy_bandwidth));
  }
  return out;
}

}  // namespace

std::string WaitsText(const Waits& waits, int width) {
  TextTable devices;
  devices.Text("Device").Number("Window").Number("Compute").Number("Exposed").Number("Hidden").Number("Idle");
  devices.Group("Idle for")
      .Number("calls")
      .Number("host")
      .Number("streams")
      .Number("queued")
      .Number("edges")
      .Number("ranks");
  devices.Group("Collectives").Number("count").Number("transfer").Number("waiting").Number("last in");
  const bool hosts =
      std::ranges::any_of(waits.devices, [](const DeviceWaits& device) { return !device.host.empty(); });
  devices.Group("");
  if (hosts) devices.Name("Host");
  devices.Name("Model");
  for (const DeviceWaits& device : waits.devices) {
    const auto share = [&](int64_t ns) {
      return PercentText(
          device.window_ns <= 0 ? 0 : static_cast<double>(ns) / static_cast<double>(device.window_ns));
    };
    std::vector<std::string> cells = {device.label,
                                      TimeText(device.window_ns),
                                      share(device.compute_ns),
                                      share(device.exposed_ns),
                                      share(device.hidden_ns),
                                      share(device.idle_ns),
                                      share(device.in_calls_ns),
                                      share(device.host_ns),
                                      share(device.for_streams_ns),
                                      share(device.queued_ns),
                                      share(device.edges_ns),
                                      share(device.for_ranks_ns),
                                      std::to_string(device.collectives),
                                      TimeText(device.transfer_ns),
                                      TimeText(device.waiting_ns),
                                      std::to_string(device.last)};
    if (hosts) cells.push_back(device.host);
    cells.push_back(device.model);
    devices.Row(std::move(cells));
  }
  std::string out = "\n" + devices.Take(width);
  if (!waits.verdict.empty()) out += waits.verdict + "\n";
  TextTable streams;
  streams.Text("Device").Number("Stream").Number("Operations").Number("Busy");
  streams.Group("Gaps for").Number("host").Number("kernel").Number("streams").Number("ranks").Number("other");
  streams.Group("Launch delay").Number("mean").Number("longest").Group("").Number("Queue");
  const bool named =
      std::ranges::any_of(waits.streams, [](const StreamWaits& stream) { return !stream.name.empty(); });
  if (named) streams.Name("Name");
  for (const StreamWaits& stream : waits.streams) {
    const bool known = stream.launched > 0;
    std::vector<std::string> cells = {stream.label,
                                      std::to_string(stream.stream),
                                      std::to_string(stream.operations),
                                      TimeText(stream.busy_ns),
                                      TimeText(stream.host_ns),
                                      TimeText(stream.kernel_ns),
                                      TimeText(stream.for_streams_ns),
                                      TimeText(stream.for_ranks_ns),
                                      TimeText(stream.other_ns - stream.for_streams_ns - stream.for_ranks_ns),
                                      known ? TimeText(stream.mean_delay_ns) : "-",
                                      known ? TimeText(stream.max_delay_ns) : "-",
                                      known ? std::to_string(stream.max_queue) : "-"};
    if (named) cells.push_back(stream.name);
    streams.Row(std::move(cells));
  }
  out += "\n" + streams.Take(width);
  for (const Straggler& straggler : waits.stragglers) {
    out += fmt::format("{}{} came last to {} of {} collectives; the others waited {} in all\n",
                       straggler.step < 0 ? "" : fmt::format("step {}: ", straggler.step), straggler.label,
                       straggler.collectives, straggler.of, TimeText(straggler.others_waited_ns));
  }
  if (waits.partial > 0) {
    out += fmt::format(
        "Of {} collectives not all ranks are in the trace: what those here waited for the others counts as "
        "transfer\n",
        waits.partial);
  }
  return out + CollectivesText(waits, width);
}

}  // namespace lanescope::traces
