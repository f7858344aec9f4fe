// SPDX-License-Identifier: Apache-2.0
// Packets of Perfetto's format mean something by those that came before them. Internal to traces.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "traces/import/wire_message.h"

namespace lanescope::traces {

// The fields of a packet that are of use. Views into the file.
struct PerfettoPacket {
  static constexpr int kTrackDescriptor = 60;
  int64_t sequence = 0, process = -1;
  std::optional<int64_t> timestamp, clock;
  bool clears = false;  // what its sequence said before is forgotten
  bool is_compressed = false, is_other = false;
  std::optional<WireMessage> event, interned, defaults, clocks;
};
PerfettoPacket ReadPerfettoPacket(WireMessage packet);

// A sequence's texts, defaults and clocks: one writer's. The file must outlive it.
class PerfettoSequence {
 public:
  // The packet's time in ns. Nothing: it has none.
  std::optional<int64_t> Take(const PerfettoPacket& packet);

  // Empty: no such was written.
  std::string_view Category(int64_t id) const { return Find(categories_, id); }
  std::string_view Name(int64_t id) const { return Find(names_, id); }
  std::string_view Note(int64_t id) const { return Find(notes_, id); }
  std::string_view Text(int64_t id) const { return Find(texts_, id); }
  int64_t default_track() const { return default_track_; }

 private:
  using Texts = std::map<int64_t, std::string_view>;
  struct Clock {
    int64_t last = 0, unit_ns = 1, ahead_ns = 0;  // ahead of the trace's
    bool is_incremental = false;
  };

  static std::string_view Find(const Texts& texts, int64_t id);
  void Intern(WireMessage data);
  void SetDefaults(WireMessage defaults);
  void SetClocks(WireMessage snapshot);

  Texts categories_, names_, notes_, texts_;
  std::map<int64_t, Clock> clocks_;
  int64_t default_track_ = 0;
  std::optional<int64_t> default_clock_;
};

struct PerfettoTrack {
  std::string_view name;
  int64_t process = -1, thread = -1;  // -1: of none
  int64_t number = 0;                 // among the tracks of the file
};

// Where slices stand. The file must outlive it.
class PerfettoTracks {
 public:
  void Add(WireMessage descriptor);
  // A process that it does not name is that of the track it is in.
  PerfettoTrack Of(int64_t id);
  std::set<int64_t> Processes() const;
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const auto& [id, known] : tracks_) visit(known.track);
  }

 private:
  struct Known {
    PerfettoTrack track;
    int64_t parent = 0;
  };
  std::map<int64_t, Known> tracks_;
};

}  // namespace lanescope::traces
