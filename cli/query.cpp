#include "traces/query.h"

#include <fmt/format.h>

#include "cli/command.h"

namespace lanescope::cli {
namespace {

struct QueryOptions {
  std::string trace, sql;
  bool as_json = false;
};

void PrintQuery(const QueryOptions& options) {
  const QueryResult result = RunQuery(options.trace, options.sql, &Interrupted());
  fmt::print("{}\n", options.as_json ? QueryJson(result) : QueryText(result));
}

}  // namespace

void AddQuery(CLI::App* app) {
  auto* command = app->add_subcommand("query", "Run read-only SQL on a trace");
  auto options = std::make_shared<QueryOptions>();
  command->add_option("trace", options->trace, "Trace file")->required();
  command->add_option("sql", options->sql, "One SELECT statement")->required();
  command->add_flag("--json", options->as_json, "Print {\"columns\": [..], \"rows\": [[..]]}");
  command->callback([options] { PrintQuery(*options); });
}

}  // namespace lanescope::cli
