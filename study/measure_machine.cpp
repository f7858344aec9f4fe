#include "study/measure_machine.h"

#include <utility>

namespace lanescope::study {

MachineMeasurement MeasureMachine(const Machine& machine, Cancellation* cancellation) {
  constexpr int64_t kLargestCopy = 8 << 20;
  const std::atomic<bool>* cancelled = cancellation != nullptr ? &cancellation->flag() : nullptr;
  MachineMeasurement measured;
  measured.host = exec::MeasureHost(machine, 1500, cancelled);
  if (exec::HasPhysicalGpus(machine)) {
    Machine filled = machine;
    exec::GpuMeasurement gpus = exec::MeasureGpus(&filled, kLargestCopy, 7, cancelled);
    measured.links = std::move(gpus.links);
    measured.gpus = std::move(gpus.interference);
    return measured;
  }
  measured.links = exec::MeasureLinks(machine, kLargestCopy, 7, cancelled);
  measured.fetches = exec::MeasureFetches(9, cancelled);
  return measured;
}

MeasuredRates MeasureRates(Machine* machine) {
  MeasuredRates measured;
  if (exec::HasPhysicalGpus(*machine)) {
    measured.gpus = exec::MeasureGpus(machine, int64_t{64} << 20, 7);
    return measured;
  }
  measured.host = exec::MeasureHost(*machine, 1500);
  for (DeviceSpec& device : machine->devices) {
    if (device.kind != DeviceKind::kHost && device.kind != DeviceKind::kVirtual) continue;
    device.peak_flops[DataType::kFloat] = measured.host->flops_per_second * device.workers;
    device.memory_bandwidth = measured.host->bytes_per_second;
  }
  for (LinkSpec& link : machine->links) link.table.clear();
  for (const exec::LinkTime& time : exec::MeasureLinks(*machine, 4 << 20, 7)) {
    for (LinkSpec& link : machine->links) {
      if (link.a == time.src && link.b == time.dst) link.table.emplace_back(time.bytes, time.ns);
    }
  }
  return measured;
}

}  // namespace lanescope::study
