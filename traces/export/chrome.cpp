// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "traces/export/export.h"
#include "traces/export/timeline.h"

namespace lanescope::traces {
namespace {

using ChromeJson = nlohmann::ordered_json;

// Microseconds with the ns after the point: a double would round them.
std::string Microseconds(int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

class ChromeWriter {
 public:
  ChromeWriter(const Timeline& timeline, const ExportOutput& output) : timeline_(timeline), output_(output) {}

  void Write() {
    output_(R"({"displayTimeUnit":"ns","traceEvents":[)");
    for (size_t i = 0; i < timeline_.processes.size(); ++i) NameProcess(i);
    for (size_t i = 0; i < timeline_.tracks.size(); ++i)
      Name("thread", timeline_.tracks[i].process, static_cast<int>(i), timeline_.tracks[i].name, i);
    for (const Timeline::Track& track : timeline_.tracks) {
      for (const int slice : track.slices) WriteSlice(timeline_.slices[static_cast<size_t>(slice)]);
    }
    for (size_t i = 0; i < timeline_.arrows.size(); ++i) WriteArrow(i);
    for (const Timeline::Counter& counter : timeline_.counters) {
      for (const auto& [time, value] : counter.points) {
        Event(R"("ph":"C","ts":{},"pid":{},"name":{},"args":{{"bytes":{}}})", Microseconds(time),
              counter.process, Quoted(counter.name), value);
      }
    }
    output_("\n]}\n");
  }

 private:
  template <typename... T>
  void Event(fmt::format_string<const T&...> format, const T&... values) {
    output_(any_ ? ",\n{" : "\n{");
    output_(fmt::vformat(format, fmt::make_format_args(values...)) + "}");
    any_ = true;
  }
  static std::string Quoted(const std::string& text) { return ChromeJson(text).dump(); }
  // Where an event stands.
  std::string Place(const Timeline::Slice& slice) const {
    return fmt::format(R"("pid":{},"tid":{},"ts":{})",
                       timeline_.tracks[static_cast<size_t>(slice.track)].process, slice.track,
                       Microseconds(slice.start_ns));
  }

  void Name(std::string_view what, int process, int track, const std::string& name, size_t rank) {
    Event(R"("ph":"M","name":"{}_name","pid":{},"tid":{},"args":{{"name":{}}})", what, process, track,
          Quoted(name));
    Event(R"("ph":"M","name":"{0}_sort_index","pid":{1},"tid":{2},"args":{{"sort_index":{3}}})", what,
          process, track, rank);
  }

  void NameProcess(size_t number) {
    const Timeline::Process& process = timeline_.processes[number];
    Name("process", static_cast<int>(number), 0, process.name, number);
    if (process.clock.empty()) return;
    Event(R"("ph":"M","name":"process_labels","pid":{},"args":{{"labels":{}}})", number,
          Quoted(process.clock));
  }

  void WriteSlice(const Timeline::Slice& slice) {
    ChromeJson arguments = ChromeJson::object();
    const auto text = [&](const char* name, int number) {
      if (number >= 0) arguments[name] = timeline_.texts[static_cast<size_t>(number)];
    };
    text("op", slice.op);
    text("counted", slice.counted);
    text("shapes", slice.signature);
    text("range", slice.range);
    if (slice.step >= 0) arguments["step"] = slice.step;
    if (slice.bytes >= 0) arguments["bytes"] = slice.bytes;
    Event(R"("ph":"X",{},"dur":{},"cat":"{}","name":{},"args":{})", Place(slice),
          Microseconds(slice.end_ns - slice.start_ns), SliceKindName(slice.kind),
          Quoted(timeline_.Name(slice)), arguments.dump());
  }

  // Bound to the slices that enclose its ends.
  void WriteArrow(size_t number) {
    const Timeline::Arrow& arrow = timeline_.arrows[number];
    Event(R"("ph":"s","id":{},{},"cat":"flow","name":"flow")", number,
          Place(timeline_.slices[static_cast<size_t>(arrow.from)]));
    Event(R"("ph":"f","bp":"e","id":{},{},"cat":"flow","name":"flow")", number,
          Place(timeline_.slices[static_cast<size_t>(arrow.to)]));
  }

  const Timeline& timeline_;
  const ExportOutput& output_;
  bool any_ = false;
};

}  // namespace

void WriteChrome(const TraceRun& run, const ExportOutput& output) {
  const Timeline timeline = MakeTimeline(run);
  ChromeWriter(timeline, output).Write();
}

}  // namespace lanescope::traces
