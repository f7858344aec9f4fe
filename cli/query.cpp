#include "traces/query.h"

#include <fmt/format.h>

#include "cli/command.h"

namespace lanescope::cli {
namespace {

struct Options {
  std::string trace, sql;
  bool as_json = false;
};

void Run(const Options& options) {
  const QueryResult result = RunQuery(options.trace, options.sql, &Interrupted());
  fmt::print("{}\n", options.as_json ? QueryJson(result) : QueryText(result));
}

}  // namespace

void AddQuery(CLI::App* app) {
  auto* command = app->add_subcommand("query", "Run read-only SQL on a trace");
  auto options = std::make_shared<Options>();
  command->add_option("trace", options->trace, "Trace file")->required();
  command->add_option("sql", options->sql, "One SELECT statement")->required();
  command->add_flag("--json", options->as_json, "Print {\"columns\": [..], \"rows\": [[..]]}");
  command->callback([options] { Run(*options); });
}

}  // namespace lanescope::cli
