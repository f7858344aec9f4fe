// SPDX-License-Identifier: Apache-2.0
#include "traces/import/perfetto_state.h"

#include "traces/import/import_trace.h"

namespace lanescope::traces {
namespace {

// The clock of a trace, and the first number of those that a sequence has for itself.
constexpr int64_t kBootClock = 6, kFirstOwnClock = 64;

constexpr int64_t Bounded(int64_t number) { return number >= 0 && number < kMaxImportNs ? number : 0; }

}  // namespace

PerfettoPacket ReadPerfettoPacket(WireMessage packet) {
  constexpr int64_t kCleared = 1;
  PerfettoPacket read;
  while (packet.Next()) {
    switch (packet.field()) {
      case 6:
        read.clocks = packet.Nested();
        break;
      case 8:
        read.timestamp = packet.Integer();
        break;
      case 10:
        read.sequence = packet.Integer();
        break;
      case 11:
        read.event = packet.Nested();
        break;
      case 12:
        read.interned = packet.Nested();
        break;
      case 13:
        read.clears = read.clears || (packet.Integer() & kCleared) != 0;
        break;
      case 41:
        read.clears = read.clears || packet.Integer() != 0;
        break;
      case 50:
      case 133:
        read.is_compressed = true;
        break;
      case 58:
        read.clock = packet.Integer();
        break;
      case 59:
        read.defaults = packet.Nested();
        break;
      case 79:
        read.process = packet.Integer();
        break;
      case 1:   // ftrace
      case 52:  // counters of GPUs
      case 53:  // their stages
        read.is_other = true;
        break;
      default:
        break;
    }
  }
  return read;
}

std::optional<int64_t> PerfettoSequence::Take(const PerfettoPacket& packet) {
  if (packet.clears) *this = PerfettoSequence();
  if (packet.clocks) SetClocks(*packet.clocks);
  if (packet.defaults) SetDefaults(*packet.defaults);
  if (packet.interned) Intern(*packet.interned);
  if (!packet.timestamp) return std::nullopt;
  const auto clock = clocks_.find(packet.clock.value_or(default_clock_.value_or(kBootClock)));
  if (clock == clocks_.end()) return Bounded(*packet.timestamp);
  Clock& of = clock->second;
  const int64_t units = Bounded(*packet.timestamp);
  of.last = Bounded(of.is_incremental ? of.last + units : units);
  const int64_t most_units = kMaxImportNs / of.unit_ns;
  if (of.last > most_units) return std::nullopt;
  return of.last * of.unit_ns - of.ahead_ns;
}

std::string_view PerfettoSequence::Find(const Texts& texts, int64_t id) {
  const auto found = texts.find(id);
  return found == texts.end() ? std::string_view() : found->second;
}

void PerfettoSequence::Intern(WireMessage data) {
  while (data.Next()) {
    Texts* texts = data.field() == 1    ? &categories_
                   : data.field() == 2  ? &names_
                   : data.field() == 3  ? &notes_
                   : data.field() == 29 ? &texts_
                                        : nullptr;
    if (texts == nullptr) continue;
    WireMessage entry = data.Nested();
    int64_t id = 0;
    std::string_view text;
    while (entry.Next()) {
      if (entry.field() == 1) id = entry.Integer();
      if (entry.field() == 2) text = entry.Bytes();
    }
    texts->insert_or_assign(id, text);
  }
}

void PerfettoSequence::SetDefaults(WireMessage defaults) {
  while (defaults.Next()) {
    if (defaults.field() == 58) default_clock_ = defaults.Integer();
    if (defaults.field() != 11) continue;
    WireMessage of_events = defaults.Nested();
    while (of_events.Next()) {
      if (of_events.field() == 11) default_track_ = of_events.Integer();
    }
  }
}

// All clocks at one time: those of the sequence itself are known by them.
void PerfettoSequence::SetClocks(WireMessage snapshot) {
  std::optional<int64_t> boot_ns;
  std::map<int64_t, Clock> own;
  while (snapshot.Next()) {
    if (snapshot.field() != 1) continue;
    WireMessage clock = snapshot.Nested();
    int64_t id = 0;
    Clock read;
    while (clock.Next()) {
      if (clock.field() == 1) id = clock.Integer();
      if (clock.field() == 2) read.last = Bounded(clock.Integer());
      if (clock.field() == 3) read.is_incremental = clock.Integer() != 0;
      if (clock.field() == 4) read.unit_ns = clock.Integer();
    }
    if (id == kBootClock) boot_ns = read.last;
    if (id >= kFirstOwnClock && read.unit_ns > 0 && read.unit_ns <= kMaxImportNs) own[id] = read;
  }
  for (auto& [id, clock] : own) {
    if (clock.last > kMaxImportNs / clock.unit_ns) continue;
    if (boot_ns) clock.ahead_ns = clock.last * clock.unit_ns - *boot_ns;
    clocks_[id] = clock;
  }
}

void PerfettoTracks::Add(WireMessage descriptor) {
  int64_t id = 0;
  Known known;
  while (descriptor.Next()) {
    switch (descriptor.field()) {
      case 1:
        id = descriptor.Integer();
        break;
      case 2:
      case 10:
        known.track.name = descriptor.Bytes();
        break;
      case 3: {
        WireMessage process = descriptor.Nested();
        while (process.Next()) {
          if (process.field() == 1) known.track.process = process.Integer();
          if (process.field() == 6 && known.track.name.empty()) known.track.name = process.Bytes();
        }
        break;
      }
      case 4: {
        WireMessage thread = descriptor.Nested();
        while (thread.Next()) {
          if (thread.field() == 1) known.track.process = thread.Integer();
          if (thread.field() == 2) known.track.thread = thread.Integer();
          if (thread.field() == 5 && known.track.name.empty()) known.track.name = thread.Bytes();
        }
        break;
      }
      case 5:
        known.parent = descriptor.Integer();
        break;
      default:
        break;
    }
  }
  known.track.number = static_cast<int64_t>(tracks_.size());
  const auto [entry, is_new] = tracks_.try_emplace(id, known);
  if (is_new) return;
  known.track.number = entry->second.track.number;
  entry->second = known;
}

PerfettoTrack PerfettoTracks::Of(int64_t id) {
  constexpr int kDeepest = 16;  // they may stand in circles
  const auto [entry, is_new] = tracks_.try_emplace(id);
  if (is_new) entry->second.track.number = static_cast<int64_t>(tracks_.size()) - 1;
  PerfettoTrack track = entry->second.track;
  int64_t parent = entry->second.parent;
  for (int depth = 0; depth < kDeepest && parent != 0; ++depth) {
    const auto around = tracks_.find(parent);
    if (around == tracks_.end()) break;
    if (track.process < 0) track.process = around->second.track.process;
    parent = around->second.parent;
  }
  return track;
}

std::set<int64_t> PerfettoTracks::Processes() const {
  std::set<int64_t> processes;
  for (const auto& [id, known] : tracks_) {
    if (known.track.process >= 0) processes.insert(known.track.process);
  }
  return processes;
}

}  // namespace lanescope::traces
