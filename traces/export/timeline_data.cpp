#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "traces/export/report_page.h"
#include "traces/export/timeline.h"

namespace lanescope::traces {
namespace {

// One or more slices of a row.
struct Drawn {
  int64_t start_ns = 0, end_ns = 0;
  int slice = 0;  // the longest
  int count = 1;
};

// Neighbours that all lie within a stretch of `least` become one. What holds longer ones stays.
std::vector<Drawn> Joined(const Timeline& timeline, const Timeline::Track& track, int64_t least) {
  std::vector<Drawn> drawn;
  for (const int number : track.slices) {
    const Timeline::Slice& slice = timeline.slices[static_cast<size_t>(number)];
    if (!drawn.empty() && slice.end_ns - slice.start_ns < least) {
      Drawn& last = drawn.back();
      const Timeline::Slice& longest = timeline.slices[static_cast<size_t>(last.slice)];
      if (slice.end_ns - last.start_ns < least && longest.end_ns - longest.start_ns < least) {
        if (slice.end_ns - slice.start_ns > longest.end_ns - longest.start_ns) last.slice = number;
        last.end_ns = std::max(last.end_ns, slice.end_ns);
        ++last.count;
        continue;
      }
    }
    drawn.push_back({slice.start_ns, slice.end_ns, number});
  }
  return drawn;
}

struct Span {
  int64_t first = INT64_MAX, last = INT64_MIN;
  void Add(int64_t start, int64_t end) {
    first = std::min(first, start);
    last = std::max(last, end);
  }
  int64_t length() const { return last > first ? last - first : 0; }
};

// Rows with the least length that leaves no more than `max_slices`; what still exceeds it is cut.
std::vector<std::vector<Drawn>> Fit(const Timeline& timeline, const Span& span, size_t max_slices,
                                    size_t* left_out) {
  std::vector<std::vector<Drawn>> rows;
  for (int64_t least = 0;; least = least == 0 ? std::max<int64_t>(1, span.length() >> 20) : least * 2) {
    rows.clear();
    size_t count = 0;
    for (const Timeline::Track& track : timeline.tracks) {
      rows.push_back(Joined(timeline, track, least));
      count += rows.back().size();
    }
    if (count <= max_slices || least > span.length() / 2) break;
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

std::string HeadingOf(const Timeline::Process& process) {
  return process.clock.empty() ? process.name : process.name + ", " + process.clock;
}

}  // namespace

std::string TimelineData(const TraceRun& run, size_t max_slices) {
  Timeline timeline = MakeTimeline(run);
  Span span;
  for (Timeline::Track& track : timeline.tracks) {
    // A profiler's own span around all of the trace is worth no row.
    if (timeline.processes[static_cast<size_t>(track.process)].of_profiler && track.slices.size() == 1)
      track.slices.clear();
    for (const int number : track.slices) {
      const Timeline::Slice& slice = timeline.slices[static_cast<size_t>(number)];
      span.Add(slice.start_ns, slice.end_ns);
    }
  }
  size_t left_out = 0;
  const std::vector<std::vector<Drawn>> rows = Fit(timeline, span, max_slices, &left_out);
  nlohmann::json names = nlohmann::json::array(), tracks = nlohmann::json::array();
  std::unordered_map<int, int64_t> name_of;
  bool joined = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    // Of each: start, length, name, kind, number of slices.
    nlohmann::json slices = nlohmann::json::array();
    for (const Drawn& drawn : rows[i]) {
      const Timeline::Slice& slice = timeline.slices[static_cast<size_t>(drawn.slice)];
      const auto [name, is_new] = name_of.try_emplace(slice.name, static_cast<int64_t>(names.size()));
      if (is_new) names.push_back(timeline.Name(slice));
      for (const int64_t value : {drawn.start_ns - span.first, drawn.end_ns - drawn.start_ns, name->second,
                                  static_cast<int64_t>(slice.kind), int64_t{drawn.count}})
        slices.push_back(value);
      joined |= drawn.count > 1;
    }
    if (slices.empty()) continue;
    const Timeline::Process& process = timeline.processes[static_cast<size_t>(timeline.tracks[i].process)];
    tracks.push_back(
        {{"process", HeadingOf(process)}, {"name", timeline.tracks[i].name}, {"slices", std::move(slices)}});
  }
  if (tracks.empty()) return "";
  std::string note;
  if (joined) note = "Short neighbours are drawn as one.";
  if (left_out > 0) note += fmt::format(" {} slices are left out.", left_out);
  return nlohmann::json{{"length", span.length()}, {"names", names}, {"tracks", tracks}, {"note", note}}
      .dump();
}

}  // namespace lanescope::traces
