// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/base/printable.h"
#include "traces/export/report_page.h"
#include "traces/export/timeline_slices.h"
#include "traces/export/track_rows.h"

namespace lanescope::traces {
namespace {

struct Span {
  int64_t first = INT64_MAX, last = INT64_MIN;
  void Add(int64_t start, int64_t end) {
    first = std::min(first, start);
    last = std::max(last, end);
  }
  int64_t length() const { return last > first ? last - first : 0; }
};

// Slices to draw that stand in rows of one name, in columns.
struct DrawnSlices {
  std::vector<int64_t> start_ns, end_ns;
  std::vector<int> name;
  std::vector<SliceKind> kind;
  int64_t length(int slice) const {
    return end_ns[static_cast<size_t>(slice)] - start_ns[static_cast<size_t>(slice)];
  }
};

// Some rows of the page: those of one thread or stream.
struct Track {
  std::string process, name;
  const DrawnSlices* slices = nullptr;
  std::vector<int> row;  // positions among the slices
};

// One or more slices of a row.
struct Drawn {
  int64_t start_ns = 0, end_ns = 0;
  int slice = 0;  // the longest
  int count = 1;
};

// Neighbours that all lie within a stretch of `least` become one. What holds longer ones stays. Ends early
// once there are more than `limit`.
std::vector<Drawn> Joined(const Track& track, int64_t least, size_t limit) {
  std::vector<Drawn> drawn;
  const DrawnSlices& slices = *track.slices;
  for (const int number : track.row) {
    const auto slice = static_cast<size_t>(number);
    if (!drawn.empty() && slices.length(number) < least) {
      Drawn& last = drawn.back();
      if (slices.end_ns[slice] - last.start_ns < least && slices.length(last.slice) < least) {
        if (slices.length(number) > slices.length(last.slice)) last.slice = number;
        last.end_ns = std::max(last.end_ns, slices.end_ns[slice]);
        ++last.count;
        continue;
      }
    }
    if (drawn.size() > limit) break;
    drawn.push_back({slices.start_ns[slice], slices.end_ns[slice], number});
  }
  return drawn;
}

// Rows with the least length that leaves no more than `max_slices`; what still exceeds it is cut.
std::vector<std::vector<Drawn>> Fit(const std::vector<Track>& tracks, const Span& span, size_t max_slices,
                                    size_t* left_out) {
  std::vector<std::vector<Drawn>> rows;
  for (int64_t least = 0;; least = least == 0 ? std::max<int64_t>(1, span.length() >> 20) : least * 2) {
    const bool last = least > span.length() / 2;
    rows.clear();
    size_t count = 0;
    for (const Track& track : tracks) {
      rows.push_back(Joined(track, least, last ? SIZE_MAX : max_slices - count));
      count += rows.back().size();
      if (count > max_slices && !last) break;
    }
    if (count <= max_slices || last) break;
  }
  size_t room = max_slices;
  *left_out = 0;
  for (std::vector<Drawn>& row : rows) {
    const size_t kept = std::min(row.size(), room);
    *left_out += row.size() - kept;
    row.resize(kept);
    room -= kept;
  }
  return rows;
}

// Holds 21 bytes of a slice.
class PageTimeline : public TimelineSlices {
 public:
  std::string Finish(size_t max_slices) {
    AddSteps();
    AddRanges();
    AddAnnotations();
    MoveToZero();
    StandInRows();
    size_t left_out = 0;
    const std::vector<std::vector<Drawn>> rows = Fit(tracks_, span_, max_slices, &left_out);
    return Write(rows, left_out);
  }

 private:
  int Keep(const TrackKey& key, const Timeline::Slice& slice) override {
    const auto [of_key, is_new] = by_key_.try_emplace(key, nullptr);
    if (is_new) of_key->second = &slices_[{names().PlaceOf(key), key}];
    DrawnSlices& slices = *of_key->second;
    slices.start_ns.push_back(slice.start_ns);
    slices.end_ns.push_back(slice.end_ns);
    slices.name.push_back(slice.name);
    slices.kind.push_back(slice.kind);
    return 0;
  }

  std::string ProcessOf(const TrackKey& key) const {
    const std::string name = Printable(names().ProcessName(key));
    const int task = names().TaskOf(key);
    const std::string clock = task < 0 ? "" : ClockText(run().tasks[static_cast<size_t>(task)]);
    return clock.empty() ? name : name + ", " + clock;
  }

  // So that lengths are no larger than times can be.
  void MoveToZero() {
    int64_t first = 0;
    for (const auto& [place, slices] : slices_) {
      for (const int64_t start : slices.start_ns) first = std::min(first, start);
    }
    if (first == 0) return;
    for (auto& [place, slices] : slices_) {
      for (std::vector<int64_t>* times : {&slices.start_ns, &slices.end_ns}) {
        for (int64_t& time : *times) {
          if (__builtin_sub_overflow(time, first, &time)) time = INT64_MAX;
        }
      }
    }
  }

  void StandInRows() {
    for (const auto& [place, slices] : slices_) {
      const TrackKey& key = place.second;
      const std::string process = ProcessOf(key), name = Printable(names().TrackName(key));
      const bool of_profiler = key.group == TrackKey::Group::kHost && IsNoProcess(key.process);
      int row = 0;
      for (std::vector<int>& of_row : NestInRows(slices.start_ns, slices.end_ns)) {
        ++row;
        // A profiler's own span around all of the trace is worth no row.
        if (of_profiler && of_row.size() == 1) continue;
        for (const int slice : of_row)
          span_.Add(slices.start_ns[static_cast<size_t>(slice)], slices.end_ns[static_cast<size_t>(slice)]);
        tracks_.push_back(
            {process, row == 1 ? name : fmt::format("{} [{}]", name, row), &slices, std::move(of_row)});
      }
    }
  }

  std::string NameOf(int number) const {
    return number >= kOwnTexts ? own_texts()[static_cast<size_t>(number - kOwnTexts)]
                               : Printable(run().Text(number));
  }

  std::string Write(const std::vector<std::vector<Drawn>>& rows, size_t left_out) const {
    nlohmann::json names = nlohmann::json::array(), tracks = nlohmann::json::array();
    std::unordered_map<int, int64_t> name_of;
    bool joined = false;
    for (size_t i = 0; i < rows.size(); ++i) {
      // Each has: start, length, name, kind, number of slices.
      nlohmann::json slices = nlohmann::json::array();
      for (const Drawn& drawn : rows[i]) {
        const auto slice = static_cast<size_t>(drawn.slice);
        const int name = tracks_[i].slices->name[slice];
        const auto [entry, is_new] = name_of.try_emplace(name, static_cast<int64_t>(names.size()));
        if (is_new) names.push_back(NameOf(name));
        for (const int64_t value :
             {drawn.start_ns - span_.first, drawn.end_ns - drawn.start_ns, entry->second,
              static_cast<int64_t>(tracks_[i].slices->kind[slice]), int64_t{drawn.count}})
          slices.push_back(value);
        joined |= drawn.count > 1;
      }
      if (slices.empty()) continue;
      tracks.push_back(
          {{"process", tracks_[i].process}, {"name", tracks_[i].name}, {"slices", std::move(slices)}});
    }
    if (tracks.empty()) return "";
    std::string note;
    if (joined) note = "Short neighbours are drawn as one.";
    if (left_out > 0) note += fmt::format(" {} slices are left out.", left_out);
    return nlohmann::json{{"length", span_.length()}, {"names", names}, {"tracks", tracks}, {"note", note}}
        .dump();
  }

  std::map<std::pair<int64_t, TrackKey>, DrawnSlices> slices_;  // by TrackNames::PlaceOf
  std::map<TrackKey, DrawnSlices*> by_key_;
  std::vector<Track> tracks_;
  Span span_;
};

}  // namespace

std::string TimelineData(const TraceRun& run, size_t max_slices) {
  PageTimeline page;
  Replay(run, &page);
  return page.Finish(max_slices);
}

std::string TimelineData(TraceReader& reader, int number, size_t max_slices) {
  PageTimeline page;
  TraceRun run;
  reader.StreamRun(number, &page, &run);
  return page.Finish(max_slices);
}

}  // namespace lanescope::traces
