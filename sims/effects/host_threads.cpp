// Devices that are made of host threads: drivers that sleep and wake, cores that all share.
#include "sims/effects/effect.h"

namespace lanescope::sims {
namespace {

constexpr DeviceKind kThreads[] = {DeviceKind::kHost, DeviceKind::kVirtual};

InterferenceMatrix* HostOf(PredictionSettings* settings) {
  return settings->interference.has_value() ? &settings->interference->host : nullptr;
}

constexpr Effect kHostThreadEffects[] = {
    {"step", "host threads", "the step begins and ends", "the calibrated run",
     [](PredictionSettings* s) { s->gaps.step_start_ns = s->gaps.step_finish_ns = 0; }},
    {"dispatch", "host threads", "a driver takes its next command", "the calibrated run",
     [](PredictionSettings* s) {
       for (const DeviceKind kind : kThreads) s->gaps.gap_ns[static_cast<size_t>(kind)] = {};
     }},
    {"hand-off", "host threads", "a driver notices what it waited for",
     "a chain of commands made for it, else the calibrated run",
     [](PredictionSettings* s) {
       s->gaps.handoff_ns = {};
       s->gaps.signal_ns = 0;
     }},
    {"wake-up", "host threads", "a driver that slept since the last step wakes", "the calibrated run",
     [](PredictionSettings* s) { s->gaps.wake_ns = {}; }},
    {"core wait", "host threads", "a woken driver waits for a core", "the system's time slice",
     [](PredictionSettings* s) {
       if (InterferenceMatrix* host = HostOf(s)) host->slice_ns = 0;
     }},
    {"copies' cores", "host threads", "copies take part of a core", "a paced copy, measured",
     [](PredictionSettings* s) {
       if (InterferenceMatrix* host = HostOf(s)) host->copy_cores = 0;
     }},
    {"cores", "host threads", "commands ask for more cores than there are", "the system",
     [](PredictionSettings* s) {
       if (!s->interference.has_value()) return;
       s->interference->host.cores = 0;
       for (OtherComputer& computer : s->interference->other_computers) computer.cores = 0;
     }},
    {"messengers", "host threads", "a task's messages keep the thread busy that moves them",
     "chains of messages between the tasks",
     [](PredictionSettings* s) {
       s->gaps.message_overhead_ns = 0;
       s->gaps.message_byte_ns = 0;
     }},
    {"fetches", "host threads", "what another core wrote is fetched from there",
     "two threads that hand bytes over, measured", [](PredictionSettings* s) { s->fetches = FetchCurve(); }},
};

}  // namespace

std::span<const Effect> HostThreadEffects() { return kHostThreadEffects; }

}  // namespace lanescope::sims
