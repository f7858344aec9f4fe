// SPDX-License-Identifier: Apache-2.0
#include "traces/export/export.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/run_pair.h"
#include "cli/trace_files.h"
#include "core/base/error.h"
#include "core/base/output_file.h"
#include "traces/read/trace_reader.h"
#include "traces/store/query.h"
#include "traces/store/query_text.h"

namespace lanescope::cli {
namespace {

struct ExportOptions {
  std::string trace, format, out, table;
  int run = 0;
};

struct ExportFormat {
  std::string_view name, extension;
  void (*write)(const traces::TraceRun&, const traces::ExportOutput&);  // null: a file for each rank
};
constexpr ExportFormat kExportFormats[] = {{"perfetto", ".perfetto-trace", traces::WritePerfetto},
                                           {"chrome", ".json", traces::WriteChrome},
                                           {"csv", ".csv", traces::WriteCsv},
                                           {"graphviz", ".dot", traces::WriteGraphviz},
                                           {"chakra", ".et", nullptr}};

// Larger writes than single lines.
class ExportFile {
 public:
  explicit ExportFile(const std::string& path) : file_(path) {}
  void Write(std::string_view part) {
    pending_ += part;
    if (pending_.size() >= kPart) Flush();
  }
  void Commit() {
    Flush();
    file_.Commit();
  }

 private:
  static constexpr size_t kPart = size_t{1} << 20;
  void Flush() {
    file_.Write(pending_);
    pending_.clear();
  }
  OutputFile file_;
  std::string pending_;
};

// A table of the file as it is.
void WriteTable(const std::string& path, const std::string& table, const traces::ExportOutput& output) {
  std::string quoted;
  for (const char c : table) quoted.append(c == '"' ? 2 : 1, c);
  traces::QueryCsv lines(output);
  traces::RunQuery(path, fmt::format("SELECT * FROM \"{}\"", quoted), {}, &lines, &Interruption().flag());
}

// Whole or not at all.
template <typename Write>
void WriteExport(const std::string& path, const Write& write) {
  ExportFile file(path);
  write([&](std::string_view part) { file.Write(part); });
  file.Commit();
  PrintNote("{}\n", path);
}

// One file, or of several ranks one each: job.et becomes job.0.et, job.1.et.
void WriteChakraFiles(const traces::TraceRun& run, const std::string& trace, const std::string& out) {
  const int ranks = traces::ChakraRanks(run);
  const std::filesystem::path path(out);
  for (int rank = 0; rank < ranks; ++rank) {
    std::filesystem::path name = path;
    if (ranks > 1)
      name.replace_filename(fmt::format("{}.{}{}", path.stem().string(), rank, path.extension().string()));
    RequireNotRead(name.string(), {trace});
    WriteExport(name.string(),
                [&](const traces::ExportOutput& write) { traces::WriteChakra(run, rank, write); });
  }
}

void ExportTrace(const ExportOptions& options) {
  const study::Cancellation::Watch in_order(&Interruption());
  const auto* format = std::ranges::find(kExportFormats, options.format, &ExportFormat::name);
  const bool of_table = !options.table.empty();
  if (of_table && format->name != "csv")
    Throw(Code::kInvalidArgument, "--table is for --to csv; {} shows a run", format->name);
  const RunReference reference =
      of_table ? RunReference{options.trace, 0} : ParseRunReference(options.trace, options.run);
  const std::string out = !options.out.empty() ? options.out
                                               : std::filesystem::path(reference.path).stem().string() +
                                                     std::string(format->extension);
  RequireNotRead(out, {reference.path});
  if (of_table) {
    WriteExport(out, [&](const traces::ExportOutput& write) {
      WriteTable(AsTrace(reference.path), options.table, write);
    });
    return;
  }
  const traces::TraceRun run = traces::TraceReader(AsTrace(reference.path)).ReadRun(reference.run);
  if (format->write == nullptr) return WriteChakraFiles(run, reference.path, out);
  WriteExport(out, [&](const traces::ExportOutput& write) { format->write(run, write); });
}

}  // namespace

void AddExport(CLI::App* app) {
  auto* command = app->add_subcommand("export", "Write a run of a trace in the format of another tool");
  auto options = std::make_shared<ExportOptions>();
  command->add_option("trace", options->trace, "FILE or FILE:RUN")->required();
  command->add_option("--run", options->run, "This run, as FILE:RUN says it too")
      ->check(CLI::Range(1, 65535));
  std::vector<std::string> formats;
  for (const ExportFormat& format : kExportFormats) formats.emplace_back(format.name);
  command->add_option("--to", options->format, "perfetto, chrome, csv, chakra or graphviz")
      ->required()
      ->check(CLI::IsMember(formats));
  command->add_option("-o,--output", options->out,
                      "File to write; default: the trace's name, with an ending");
  command->add_option("--table", options->table, "With --to csv: this table of the trace, not what ran");
  AddExample(command, "lanescope export t.db:1 --to perfetto -o t.perfetto-trace");
  command->callback([options] { ExportTrace(*options); });
}

}  // namespace lanescope::cli
