// SPDX-License-Identifier: Apache-2.0
// The content of traces.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <variant>

#include "python/binding/binding.h"
#include "python/binding/calls.h"
#include "python/binding/interruption.h"
#include "study/predict/calibration.h"
#include "traces/export/timeline_svg.h"
#include "traces/import/import.h"
#include "traces/read/trace_reader.h"
#include "traces/report/summary.h"
#include "traces/store/query.h"

namespace lanescope::python {
namespace {

nb::object ValueOf(const traces::QueryValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return nb::int_(*number);
  if (const auto* number = std::get_if<double>(&value)) return nb::float_(*number);
  if (const auto* text = std::get_if<std::string>(&value))
    return nb::steal(PyUnicode_DecodeUTF8(text->data(), static_cast<Py_ssize_t>(text->size()), "replace"));
  return nb::none();
}

// Names and, for each, the values of all rows.
nb::tuple Query(const std::string& path, const std::string& sql) {
  traces::QueryResult result;
  RunInterruptibly(
      [&](study::Cancellation& cancellation) { result = traces::RunQuery(path, sql, &cancellation.flag()); });
  nb::list names, columns;
  for (size_t c = 0; c < result.columns.size(); ++c) {
    names.append(result.columns[c]);
    nb::list column;
    for (const traces::QueryRow& row : result.rows) column.append(ValueOf(row[c]));
    columns.append(column);
  }
  return nb::make_tuple(names, columns);
}

nb::list Runs(const std::string& path) {
  nb::list runs;
  for (const traces::TraceRunInfo& info : traces::TraceReader(path).Runs()) {
    nb::dict run;
    run["run"] = info.id;
    run["graph"] = info.graph;
    run["strategy"] = info.strategy;
    run["simulated"] = info.simulated;
    run["emulated"] = info.emulated;
    run["oversubscribed"] = info.oversubscribed;
    run["complete"] = info.complete;
    run["steps"] = info.steps;
    run["error"] = info.error;
    runs.append(run);
  }
  return runs;
}

// The picture of each run, all over the same span.
std::vector<std::string> TimelineSvgs(const std::string& path, const std::vector<int>& runs, int step,
                                      int width) {
  traces::TraceReader reader(path);
  std::vector<traces::TraceRun> read;
  traces::TimelineSvgOptions options;
  options.step = step;
  options.width = width;
  for (const int run : runs) {
    read.push_back(reader.ReadRun(run));
    options.span_ns = std::max(options.span_ns, traces::TimelineSvgStepNs(read.back(), step));
  }
  std::vector<std::string> pictures;
  for (const traces::TraceRun& run : read) pictures.push_back(TimelineSvg(run, options));
  return pictures;
}

// Writes a trace of another tool's files, as `lanescope import` does. Gives the sentences that a reader
// should know.
std::vector<std::string> ImportTraces(const std::vector<std::string>& files, const std::string& out) {
  traces::ImportCounts counts;
  RunInterruptibly([&](study::Cancellation& cancellation) {
    counts = traces::ImportTraces(files, out, &cancellation.flag());
  });
  return traces::ImportNotes(counts);
}

}  // namespace

void AddTraces(nb::module_& module) {
  module.def("query", &Query, nb::arg("path"), nb::arg("sql"));
  module.def("runs", &Runs, nb::arg("path"));
  module.def("files_to_import", &traces::FilesToImport, nb::arg("path"));
  module.def("import_traces", &ImportTraces, nb::arg("files"), nb::arg("out"));
  module.def("timeline_svgs", &TimelineSvgs, nb::arg("path"), nb::arg("runs"), nb::arg("step"),
             nb::arg("width"), nb::call_guard<Unlocked>());
  module.def(
      "summary", [](const std::string& path, int run) { return SummaryJson(traces::Summarize(path, run)); },
      nb::arg("path"), nb::arg("run"), nb::call_guard<Unlocked>());
  module.def(
      "calibrate",
      [](const std::string& path, int run) {
        traces::TraceReader reader(path);
        return sims::CostTableToJson(study::CalibrateOnRun(&reader, run));
      },
      nb::arg("path"), nb::arg("run"), nb::call_guard<Unlocked>());
}

}  // namespace lanescope::python
