// SPDX-License-Identifier: Apache-2.0
// Field numbers are those of xplane.proto.
#include "traces/import/xplane_trace.h"

#include <cmath>
#include <unordered_map>

#include "core/base/error.h"
#include "traces/import/early_events.h"
#include "traces/import/gzip_stream.h"
#include "traces/import/wire_message.h"
#include "traces/import/xla_events.h"

namespace lanescope::traces {
namespace {

using Texts = std::unordered_map<int64_t, std::string_view>;

// An entry of map<int64, X*Metadata>.
void AddName(WireMessage entry, Texts* names) {
  int64_t key = 0;
  std::string_view name;
  while (entry.Next()) {
    if (entry.field() == 1) key = entry.Integer();
    if (entry.field() != 2) continue;
    WireMessage metadata = entry.Nested();
    while (metadata.Next()) {
      if (metadata.field() == 2) name = metadata.Bytes();
    }
  }
  names->insert_or_assign(key, name);
}

std::string_view Find(const Texts& texts, int64_t key) {
  const auto found = texts.find(key);
  return found == texts.end() ? std::string_view() : found->second;
}

// A statistic of an event, or of a plane.
struct Stat {
  std::string_view name, text;
  int64_t number = 0;
};

constexpr std::string_view kEnvironment = "Task Environment";

// -1: it is none.
int64_t RoundedNumber(double number) {
  constexpr double kMost = 1e15;
  return std::abs(number) < kMost ? std::llround(number) : -1;
}

class XPlaneReader {
 public:
  XPlaneReader(const std::string& path, const std::atomic<bool>* cancelled)
      : path_(path), cancelled_(cancelled), names_(&trace_) {
    trace_.format = "XPlane";
  }

  ImportTrace Read(std::string_view bytes) {
    WireMessage space(bytes, &path_);
    while (space.Next()) {
      if (space.field() == 1) ReadPlane(space.Nested());
      if (space.field() == 4 && trace_.host.empty()) trace_.host = space.Text();
    }
    // Times are behind the start of the profile, or since 1970 as that is.
    if (early_.first_ns() < profile_start_ns_ / 2) trace_.base_ns = UsableBase(profile_start_ns_);
    for (const ImportEvent& step : events_.TakeSteps()) early_.Add(step);
    early_.Finish();
    if (trace_.events.empty() && trace_.skipped == 0)
      Throw(Code::kInvalidArgument, "{} holds no events of devices or threads", path_);
    return std::move(trace_);
  }

 private:
  void ReadPlane(WireMessage plane) {
    event_names_.clear();
    stat_names_.clear();
    std::string_view name;
    std::vector<WireMessage> lines, stats;
    while (plane.Next()) {
      if (plane.field() == 2) name = plane.Bytes();
      if (plane.field() == 6) stats.push_back(plane.Nested());
      if (plane.field() == 3) lines.push_back(plane.Nested());
      if (plane.field() == 4) AddName(plane.Nested(), &event_names_);
      if (plane.field() == 5) AddName(plane.Nested(), &stat_names_);
    }
    const XlaPlane about = events_.Plane(name);
    for (const WireMessage& line : lines) ReadLine(line, about);
    for (const WireMessage& each : stats) {
      const Stat stat = StatOf(each);
      if (name == kEnvironment && stat.name == "profile_start_time") profile_start_ns_ = stat.number;
    }
  }

  void ReadLine(WireMessage line, const XlaPlane& plane) {
    int64_t id = 0, begin_ns = 0;
    std::string_view name;
    std::vector<WireMessage> events;
    while (line.Next()) {
      if (line.field() == 1) id = line.Integer();
      if (line.field() == 2) name = line.Bytes();
      if (line.field() == 3) begin_ns = line.Integer();
      if (line.field() == 4) events.push_back(line.Nested());
    }
    if (events.empty()) return;
    const XlaLine about = events_.Line(plane, id, name);
    if (about.use == XlaLine::Use::kNone)
      return trace_.LeaveOut(about.unused, static_cast<int64_t>(events.size()));
    for (const WireMessage& event : events) {
      CheckImportGoesOn(cancelled_);
      AddEvent(event, about, begin_ns);
    }
  }

  Stat StatOf(WireMessage message) const {
    Stat stat;
    int64_t key = 0;
    while (message.Next()) {
      if (message.field() == 1) key = message.Integer();
      if (message.field() == 2) stat.number = RoundedNumber(message.Real());
      if (message.field() == 3 || message.field() == 4) stat.number = message.Integer();
      if (message.field() == 5) stat.text = message.Bytes();
      if (message.field() == 7) stat.text = Find(stat_names_, message.Integer());
    }
    stat.name = Find(stat_names_, key);
    return stat;
  }

  void AddEvent(WireMessage message, const XlaLine& line, int64_t begin_ns) {
    int64_t metadata = 0, offset_ps = 0, length_ps = 0;
    bool timed = true;
    XlaFacts facts;
    while (message.Next()) {
      if (message.field() == 1) metadata = message.Integer();
      if (message.field() == 2) offset_ps = message.Integer();
      if (message.field() == 3) length_ps = message.Integer();
      if (message.field() == 4) {
        const Stat stat = StatOf(message.Nested());
        facts.Add(stat.name, stat.number, stat.text);
      }
      if (message.field() == 5) timed = false;  // a count, of no time
    }
    const std::string_view name = Find(event_names_, metadata);
    constexpr int64_t kMostPs = int64_t{1} << 62;
    const bool usable = timed && !name.empty() && UsableTimes(begin_ns, 0) && offset_ps > -kMostPs &&
                        offset_ps < kMostPs && length_ps >= 0 && length_ps < kMostPs;
    const int64_t start_ns = usable ? begin_ns + offset_ps / 1000 : 0;
    if (!usable || !UsableTimes(start_ns, length_ps / 1000)) {
      ++trace_.skipped;
      return;
    }
    ImportEvent event;
    event.start_ns = start_ns;
    event.end_ns = begin_ns + (offset_ps + length_ps) / 1000;
    if (events_.Describe(line, name, facts, &event)) early_.Add(event);
  }

  const std::string& path_;
  const std::atomic<bool>* cancelled_;
  ImportTrace trace_;
  ImportNames names_;
  XlaEvents events_{&trace_, &names_};
  int64_t profile_start_ns_ = 0;
  EarlyEvents early_{&trace_};
  Texts event_names_, stat_names_;
};

}  // namespace

bool IsXPlane(const ForeignFile& file) {
  return file.name.ends_with(".xplane.pb") || file.name.ends_with(".xplane.pb.gz");
}

ImportTrace ReadXPlane(const ImportSource& source) {
  return XPlaneReader(source.path, source.cancelled).Read(InflatedFile(source.path, source.cancelled));
}

}  // namespace lanescope::traces
