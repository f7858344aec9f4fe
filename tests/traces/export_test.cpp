// SPDX-License-Identifier: Apache-2.0
// Exports, read back.
#include "traces/export/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/csv.h"
#include "core/base/error.h"
#include "tests/support/paths.h"
#include "tests/traces/nsys_export.h"
#include "tests/traces/sample_run.h"
#include "traces/export/report_page.h"
#include "traces/export/timeline.h"
#include "traces/export/timeline_svg.h"
#include "traces/export/track_rows.h"
#include "traces/read/trace_reader.h"

namespace lanescope::traces {
namespace {

using testing::HasSubstr;

// nsys_export.h tells what is in it.
TraceRun TwoProcesses() {
  ScratchFile file("export.sqlite");
  const std::vector<ExportVersion> versions = ExportVersions();
  WriteTwoProcesses(file.path(), *std::ranges::find(versions, "3.28", &ExportVersion::name));
  return TraceReader(file.path()).ReadRun(1);
}

TraceRun TwoSteps() {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  sample.WriteTo(&writer, 2);
  writer.Close();
  return TraceReader(file.path()).ReadRun(1);
}

// A step in two processes.
TraceRun TwoTasks() {
  ScratchFile file;
  SampleRun sample(false);
  sample.SplitIntoTasks();
  TraceWriter writer(file.path());
  RunOutcome outcome;
  outcome.tasks = SampleRun::Tasks();
  sample.WriteTo(&writer, 1, outcome);
  writer.Close();
  return TraceReader(file.path()).ReadRun(1);
}

std::string Written(void (*write)(const TraceRun&, const ExportOutput&), const TraceRun& run) {
  std::string text;
  write(run, [&](std::string_view part) { text += part; });
  return text;
}

// Law: in a row slices overlap only where one holds the other, and every slice stands in one row.
TEST(TrackRows, SlicesOfARowNest) {
  // 0-10 holds 2-4 and 4-10; 5-12 crosses it; 10-12 comes after; the empty slice at 10 ends where others do.
  const std::vector<int64_t> starts = {2, 0, 4, 5, 10, 10}, ends = {4, 10, 10, 12, 12, 10};
  const std::vector<std::vector<int>> rows = NestInRows(starts, ends);
  EXPECT_EQ(rows, (std::vector<std::vector<int>>{{1, 0, 2, 4, 5}, {3}}));
}

// Beyond the rows that nest the first free one is taken: as many rows as slices that overlap at once.
TEST(TrackRows, ManyThatOverlapTakeARowEach) {
  std::vector<int64_t> starts, ends;
  for (const int64_t begin : {0, 1000}) {
    for (int64_t i = 0; i < 100; ++i) {
      starts.push_back(begin + i);
      ends.push_back(2 * begin + 200 + i);
    }
  }
  const std::vector<std::vector<int>> rows = NestInRows(starts, ends);
  EXPECT_EQ(rows.size(), 100u);
  size_t placed = 0;
  for (const auto& row : rows) placed += row.size();
  EXPECT_EQ(placed, 200u);
}

TEST(Timeline, ForeignTracesHaveTracksByProcessAndStream) {
  const Timeline timeline = MakeTimeline(TwoProcesses());
  std::set<std::string> tracks;
  for (const Timeline::Track& track : timeline.tracks)
    tracks.insert(timeline.processes[static_cast<size_t>(track.process)].name + "/" + track.name);
  // The two kernels of GPU 0's stream 7 cross; those of GPU 1 touch.
  for (const char* name : {"GPU:0 (Card)/stream 7", "GPU:0 (Card)/stream 7 [2]", "GPU:0 (Card)/stream 8",
                           "GPU:1 (Card)/stream 7", "GPU:1 (Card)/stream 8",
                           "process 100/ranges of the process", "process 200/thread 201"}) {
    EXPECT_TRUE(tracks.contains(name)) << name << " is not among " << testing::PrintToString(tracks);
  }
  EXPECT_EQ(timeline.slices.size(), 4u + 4 + 1 + 7 + 4);  // kernels, copies, memory set, calls, ranges
  // Two of the nine activities have no recorded call.
  ASSERT_EQ(timeline.arrows.size(), 7u);
  for (const Timeline::Arrow& arrow : timeline.arrows) {
    EXPECT_EQ(timeline.slices[static_cast<size_t>(arrow.from)].kind, SliceKind::kApiCall);
    EXPECT_LE(timeline.slices[static_cast<size_t>(arrow.from)].start_ns,
              timeline.slices[static_cast<size_t>(arrow.to)].start_ns);
  }
}

// x -> copy -> a -> copy -> b -> copy in each of two steps.
TEST(Timeline, RunsOfOursHaveArrowsAlongDependencies) {
  const Timeline timeline = MakeTimeline(TwoSteps());
  std::vector<std::string> arrows;
  for (const Timeline::Arrow& arrow : timeline.arrows) {
    arrows.push_back(timeline.Name(timeline.slices[static_cast<size_t>(arrow.from)]) + " => " +
                     timeline.Name(timeline.slices[static_cast<size_t>(arrow.to)]));
  }
  const std::vector<std::string> step = {"x => x CPU:0 -> GPU:0", "x CPU:0 -> GPU:0 => a",
                                         "a => a GPU:0 -> GPU:1", "a GPU:0 -> GPU:1 => b",
                                         "b => b GPU:1 -> CPU:0"};
  std::vector<std::string> both = step;
  both.insert(both.end(), step.begin(), step.end());
  EXPECT_THAT(arrows, testing::UnorderedElementsAreArray(both));
  EXPECT_FALSE(timeline.counters.empty());
}

// Law: each of several tasks is a process, with its devices' tracks below; a copy between them stands in
// both, with an arrow from the sender's end to the receiver's. Both of a step are carried out by the second
// task.
TEST(Timeline, TasksAreProcesses) {
  const Timeline timeline = MakeTimeline(TwoTasks());
  const auto track_of = [&](int slice) {
    return timeline.tracks[static_cast<size_t>(timeline.slices[static_cast<size_t>(slice)].track)];
  };
  std::vector<std::string> tracks;
  for (const Timeline::Track& track : timeline.tracks)
    tracks.push_back(timeline.processes[static_cast<size_t>(track.process)].name + "/" + track.name);
  const std::string first = "/job:worker/task:0 (rank 0 on a)/", second = "/job:worker/task:1 (rank 1 on b)/";
  EXPECT_EQ(tracks, (std::vector<std::string>{"steps/steps", first + "GPU:0 compute", first + "GPU:0 copy in",
                                              first + "GPU:0 sends", first + "CPU:0 compute",
                                              first + "CPU:0 receives", second + "GPU:0 compute",
                                              second + "GPU:0 copy in", second + "GPU:0 copy out"}));
  std::vector<std::string> messages;
  for (const Timeline::Arrow& arrow : timeline.arrows) {
    const Timeline::Slice& from = timeline.slices[static_cast<size_t>(arrow.from)];
    const Timeline::Slice& to = timeline.slices[static_cast<size_t>(arrow.to)];
    if (from.kind != SliceKind::kMessage && to.kind != SliceKind::kMessage) continue;
    messages.push_back(track_of(arrow.from).name + " => " + track_of(arrow.to).name);
    EXPECT_EQ(std::pair(from.start_ns, from.end_ns), std::pair(to.start_ns, to.end_ns));
    EXPECT_EQ(timeline.Name(from), timeline.Name(to));
    EXPECT_EQ(from.bytes, to.bytes);
  }
  EXPECT_EQ(messages,
            (std::vector<std::string>{"GPU:0 sends => GPU:0 copy in", "GPU:0 copy out => CPU:0 receives"}));
  EXPECT_EQ(timeline.arrows.size(), 5u + 2);
  for (const Timeline::Counter& counter : timeline.counters)
    EXPECT_THAT(counter.name, testing::EndsWith(":0 memory (bytes)"));
}

// The fields of a protobuf message, by number.
struct Field {
  uint64_t integer = 0;
  std::string bytes;
};
std::multimap<int, Field> FieldsOf(const std::string& message) {
  std::multimap<int, Field> fields;
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(at++));
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.size()) {
    const uint64_t key = varint();
    Field field;
    if ((key & 7) == 0) {
      field.integer = varint();
    } else if ((key & 7) == 1) {
      for (int i = 0; i < 8; ++i)
        field.integer |= uint64_t{static_cast<unsigned char>(message.at(at++))} << (8 * i);
    } else {
      EXPECT_EQ(key & 7, 2u);
      const uint64_t length = varint();
      field.bytes = message.substr(at, length);
      EXPECT_EQ(field.bytes.size(), length);
      at += length;
    }
    fields.emplace(static_cast<int>(key >> 3), std::move(field));
  }
  return fields;
}
const Field* FieldOf(const std::multimap<int, Field>& fields, int number) {
  const auto found = fields.find(number);
  return found == fields.end() ? nullptr : &found->second;
}

// Law: on every track slices begin and end like brackets, at times that do not go back; every name that is
// used was given; flows that begin also end.
TEST(ExportTest, PerfettoReadsBack) {
  const TraceRun run = TwoProcesses();
  const Timeline timeline = MakeTimeline(run);
  std::map<uint64_t, std::vector<uint64_t>> open;
  std::map<uint64_t, uint64_t> last;
  std::map<uint64_t, std::string> names;
  std::set<uint64_t> begun, ended, tracks;
  size_t slices = 0;
  for (const auto& [number, packet] : FieldsOf(Written(WritePerfetto, run))) {
    ASSERT_EQ(number, 1);
    const auto fields = FieldsOf(packet.bytes);
    if (const Field* interned = FieldOf(fields, 12)) {
      const auto name = FieldsOf(FieldOf(FieldsOf(interned->bytes), 2)->bytes);
      names[FieldOf(name, 1)->integer] = FieldOf(name, 2)->bytes;
    }
    if (const Field* track = FieldOf(fields, 60)) tracks.insert(FieldOf(FieldsOf(track->bytes), 1)->integer);
    const Field* event = FieldOf(fields, 11);
    if (event == nullptr) continue;
    const auto of_event = FieldsOf(event->bytes);
    const uint64_t track = FieldOf(of_event, 11)->integer, time = FieldOf(fields, 8)->integer;
    EXPECT_TRUE(tracks.contains(track));
    EXPECT_GE(time, last[track]);
    last[track] = time;
    if (FieldOf(of_event, 9)->integer == 1) {
      ++slices;
      EXPECT_TRUE(names.contains(FieldOf(of_event, 10)->integer));
      open[track].push_back(time);
    } else {
      ASSERT_FALSE(open[track].empty());
      open[track].pop_back();
    }
    for (auto [flow, end] = of_event.equal_range(47); flow != end; ++flow) begun.insert(flow->second.integer);
    for (auto [flow, end] = of_event.equal_range(48); flow != end; ++flow) ended.insert(flow->second.integer);
  }
  EXPECT_EQ(slices, timeline.slices.size());
  for (const auto& [track, left] : open) EXPECT_TRUE(left.empty());
  EXPECT_EQ(begun.size(), 7u);
  EXPECT_EQ(begun, ended);
}

// The export by the schema that Perfetto publishes, where its Python package is installed.
TEST(ExportTest, PerfettosOwnSchemaReadsIt) {
  const std::string python = "'" + test::PythonPath() + "' ";
  const std::string look =
      python + "-c 'import perfetto.protos.perfetto.trace.perfetto_trace_pb2' 2>/dev/null";
  if (std::system(look.c_str()) != 0)
    GTEST_SKIP() << "needs the Python package perfetto (scripts/python-env.sh)";
  ScratchFile file("trace.perfetto-trace");
  std::ofstream(file.path(), std::ios::binary) << Written(WritePerfetto, TwoSteps());
  const std::string script = test::SourceDir() + "/tests/scripts/read_perfetto.py";
  // 2 steps, 6 activities in each, 5 arrows.
  EXPECT_EQ(
      std::system((python + script + " " + file.path() + " --slices 14 --flows 10 --counters 1").c_str()), 0);
}

TEST(ExportTest, ChromeReadsBack) {
  const auto trace = nlohmann::json::parse(Written(WriteChrome, TwoProcesses()));
  std::map<std::string, int> phases;
  std::map<int, std::set<std::string>> flows;
  for (const auto& event : trace["traceEvents"]) {
    ++phases[event["ph"]];
    if (event.contains("id")) flows[event["id"]].insert(event["ph"]);
    if (event["name"] != "void gemm<float>(float*)" || event["pid"] != 0) continue;
    EXPECT_EQ(event["ts"], 1.0);
    EXPECT_EQ(event["dur"], 1.0);
    EXPECT_EQ(event["cat"], "kernel");
    EXPECT_EQ(event["args"]["op"], "gemm");
    EXPECT_EQ(event["args"]["range"], "forward");
  }
  EXPECT_EQ(phases["X"], 20);
  EXPECT_EQ(phases["s"], 7);
  EXPECT_EQ(flows.size(), 7u);
  for (const auto& [id, ends] : flows) EXPECT_EQ(ends, (std::set<std::string>{"s", "f"}));
  // Memory is a counter in runs of ours, which have steps.
  const std::string ours = Written(WriteChrome, TwoSteps());
  EXPECT_THAT(ours, HasSubstr(R"("ph":"C")"));
  EXPECT_THAT(ours, HasSubstr(R"("name":"step 1")"));
}

TEST(ExportTest, CsvHasALineForEachSlice) {
  const std::string csv = Written(WriteCsv, TwoProcesses());
  EXPECT_EQ(std::ranges::count(csv, '\n'), 1 + 20);
  EXPECT_THAT(
      csv, testing::StartsWith("kind,name,op,process,track,start_ns,duration_ns,bytes,step,range,shapes\n"));
  EXPECT_THAT(
      csv, HasSubstr("\nkernel,void gemm<float>(float*),gemm,GPU:0 (Card),stream 7,1000,1000,,,forward,\n"));
  EXPECT_THAT(csv,
              HasSubstr("memcpy,[CUDA memcpy HtoD] host -> GPU:0,,GPU:0 (Card),stream 8,500,400,4000,,"));
}

TEST(ExportTest, CellsWithCommasStandInQuotes) {
  EXPECT_EQ(CsvLine({"a", "b,c", "say \"x\"", "", "two\nlines"}),
            "a,\"b,c\",\"say \"\"x\"\"\",,\"two\nlines\"\n");
  EXPECT_EQ(CsvLine({"", "x"}), ",x\n");
}

TEST(ExportTest, GraphvizHasTheScheduleOfARunOfOurs) {
  const std::string dot = Written(WriteGraphviz, TwoSteps());
  EXPECT_THAT(dot, HasSubstr("label=\"GPU:0\";"));
  EXPECT_THAT(dot, HasSubstr("c3 [label=\"a GPU:0 -> GPU:1, 32 B\", shape=oval];"));
  for (const char* edge : {"c0 -> c1;", "c1 -> c2;", "c2 -> c3;", "c3 -> c4;", "c4 -> c5;"})
    EXPECT_THAT(dot, HasSubstr(edge));
  try {
    Written(WriteGraphviz, TwoProcesses());
    FAIL() << "a foreign trace has no dependencies";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  }
}

// Each format's tasks, and the second one's clock; a copy's other end is told from the copy.
TEST(ExportTest, FormatsTellTasks) {
  const TraceRun run = TwoTasks();
  const auto chrome = nlohmann::json::parse(Written(WriteChrome, run));
  std::map<std::string, std::string> label_of_process, name_of_process;
  for (const auto& event : chrome["traceEvents"]) {
    const std::string pid = event["pid"].dump();
    if (event["name"] == "process_name") name_of_process[pid] = event["args"]["name"];
    if (event["name"] == "process_labels") label_of_process[pid] = event["args"]["labels"];
  }
  ASSERT_EQ(name_of_process.size(), 3u);  // and the steps
  ASSERT_EQ(label_of_process.size(), 1u);
  EXPECT_EQ(name_of_process[label_of_process.begin()->first], "/job:worker/task:1 (rank 1 on b)");
  EXPECT_EQ(label_of_process.begin()->second, "clock within 3.2 us");
  std::set<std::string> labels;
  for (const auto& [number, packet] : FieldsOf(Written(WritePerfetto, run))) {
    const auto fields = FieldsOf(packet.bytes);
    const Field* track = FieldOf(fields, 60);
    if (track == nullptr) continue;
    const auto of_track = FieldsOf(track->bytes);
    const Field* process = FieldOf(of_track, 3);
    if (process == nullptr) continue;
    const auto of_process = FieldsOf(process->bytes);
    if (const Field* label = FieldOf(of_process, 8))
      labels.insert(FieldOf(of_process, 6)->bytes + ": " + label->bytes);
  }
  EXPECT_EQ(labels, (std::set<std::string>{"/job:worker/task:1 (rank 1 on b): clock within 3.2 us"}));
  const std::string name = ",a /job:worker/task:0/GPU:0 -> /job:worker/task:1/GPU:0,,",
                    csv = Written(WriteCsv, run);
  EXPECT_THAT(csv,
              HasSubstr("\nmessage" + name + "/job:worker/task:0 (rank 0 on a),GPU:0 sends,400,200,32,0"));
  EXPECT_THAT(csv,
              HasSubstr("\nmemcpy" + name + "/job:worker/task:1 (rank 1 on b),GPU:0 copy in,400,200,32,0"));
  EXPECT_THAT(Written(WriteGraphviz, run),
              HasSubstr("subgraph cluster_task_1 {\n    label=\"/job:worker/task:1 (rank 1 on b)\";\n"));
  EXPECT_THAT(TimelineData(run, 1000),
              HasSubstr("\"/job:worker/task:1 (rank 1 on b), clock within 3.2 us\""));
  EXPECT_THAT(TimelineSvg(run), HasSubstr("font-weight=\"bold\">/job:worker/task:1 (rank 1 on b)</text>"));
}

// Names are texts of files: nothing in them becomes part of a page, or of a script in it.
TEST(ReportPage, NamesAreEscaped) {
  TraceRun run = TwoSteps();
  for (std::string& text : run.texts) text = "</script><script>alert(1)</script>\x1b[2J";
  PageSection section;
  section.heading = "<b>&\"";
  section.timeline = TimelineData(run, 1000);
  section.tables = {{"<i>", {"<u>"}, {{"<img src=x>"}}}};
  std::string page;
  WritePage("<title>", {section}, [&](std::string_view part) { page += part; });
  for (const char* text : {"<b>&\"", "<i>", "<u>", "<img", "<script>alert", "\x1b"})
    EXPECT_EQ(page.find(text), std::string::npos) << text;
  EXPECT_THAT(page, HasSubstr("&lt;img src=x&gt;"));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>"));
  for (const char* loads : {"src=\"", "href=", "url(", "@import", "http:", "https:"})
    EXPECT_EQ(page.find(loads), std::string::npos) << loads;
}

// Ten thousand kernels of 10 ns with gaps of 10 ns in at most a hundred slices, none of them lost.
TEST(ReportPage, ATimelineIsBounded) {
  TraceRun run;
  run.texts = {"kernel"};
  for (int i = 0; i < 10'000; ++i) {
    TraceLaunch launch;
    launch.start_ns = 20 * i;
    launch.end_ns = 20 * i + 10;
    launch.name = 0;
    run.launches.push_back(launch);
  }
  const auto data = nlohmann::json::parse(TimelineData(run, 100));
  ASSERT_EQ(data["tracks"].size(), 1u);
  const auto& slices = data["tracks"][0]["slices"];
  EXPECT_LE(slices.size(), 5u * 100);
  EXPECT_GE(slices.size(), 5u * 40);
  int64_t count = 0;
  for (size_t i = 4; i < slices.size(); i += 5) count += slices[i].get<int64_t>();
  EXPECT_EQ(count, 10'000);
  EXPECT_EQ(data["length"], 20 * 9'999 + 10);
  EXPECT_EQ(data["note"], "Short neighbours are drawn as one.");
}

}  // namespace
}  // namespace lanescope::traces
