// SPDX-License-Identifier: Apache-2.0
#include "traces/store/query.h"

#include <fmt/core.h>

#include <memory>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/line_width.h"
#include "cli/print.h"
#include "cli/trace_files.h"
#include "core/base/error.h"
#include "traces/store/query_text.h"

namespace lanescope::cli {
namespace {

struct QueryOptions {
  std::string trace, sql;
  int64_t limit = 100'000;
  double timeout_s = 60;
  bool as_json = false, as_csv = false;
};

traces::QueryEnd PrintAnswer(const QueryOptions& options) {
  const std::string trace = AsTrace(options.trace);
  const traces::QueryLimits limits{options.limit, static_cast<int64_t>(options.timeout_s * 1e9)};
  if (options.as_json) {
    traces::QueryJson answer([](std::string_view part) { PrintText(PrintableJson(part)); });
    const traces::QueryEnd end =
        traces::RunQuery(trace, options.sql, limits, &answer, &Interruption().flag());
    answer.Finish(end);
    PrintText("\n");
    return end;
  }
  if (options.as_csv) {
    traces::QueryCsv answer(PrintText);
    return traces::RunQuery(trace, options.sql, limits, &answer, &Interruption().flag());
  }
  traces::QueryTable table(PrintText, LineWidth());
  const traces::QueryEnd end = traces::RunQuery(trace, options.sql, limits, &table, &Interruption().flag());
  table.Finish();
  return end;
}

void PrintQuery(const QueryOptions& options) {
  switch (PrintAnswer(options)) {
    case traces::QueryEnd::kAll:
      return;
    case traces::QueryEnd::kRowLimit:
      std::fflush(stdout);
      PrintNote("note: these are the first {} rows; --limit 0 prints all\n", options.limit);
      return;
    case traces::QueryEnd::kTimeout:
      Throw(Code::kDeadlineExceeded,
            "the query was ended after {} s, and its answer is not complete; --timeout 0 lets it run on",
            options.timeout_s);
  }
}

}  // namespace

void AddQuery(CLI::App* app) {
  auto* command = app->add_subcommand("query", "Run read-only SQL on a trace");
  auto options = std::make_shared<QueryOptions>();
  command->add_option("trace", options->trace, "Trace file")->required();
  command->add_option("sql", options->sql, "One SELECT statement")->required();
  command->add_option("--limit,--top", options->limit, "Rows to print at most; 0: all")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{0}, INT64_MAX));
  command->add_option("--timeout", options->timeout_s, "Seconds that the query may take; 0: any time")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  auto* json = command->add_flag("--json", options->as_json, "Print {\"columns\": [..], \"rows\": [[..]]}");
  command->add_flag("--csv", options->as_csv, "Print comma-separated values")->excludes(json);
  AddLineWidth(command);
  AddExample(command, "lanescope query t.db \"SELECT runId, graph, strategy FROM LANESCOPE_RUN\"");
  command->callback([options] { PrintQuery(*options); });
}

}  // namespace lanescope::cli
