#include "traces/import/import.h"

#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/print.h"
#include "cli/trace_files.h"

namespace lanescope::cli {
namespace {

struct ImportOptions {
  std::vector<std::string> files;
  std::string out;
};

void ImportTrace(const ImportOptions& options) {
  const std::string out = options.out.empty()
                              ? std::filesystem::path(options.files.front()).stem().string() + ".sqlite"
                              : options.out;
  const study::Cancellation::Watch in_order(&Interruption());
  const traces::ImportCounts counts = ImportWithProgress(options.files, out);
  Print("{}: {}\n", out, CountsText(counts));
}

}  // namespace

void AddImport(CLI::App* app) {
  auto* command = app->add_subcommand(
      "import",
      "Make a SQLite trace of other profilers' files: PyTorch (Kineto), TensorFlow (RunMetadata, timeline, "
      "XPlane), JAX (XPlane), nvprof, Chakra");
  auto options = std::make_shared<ImportOptions>();
  command->add_option("files", options->files, "Files to import; several ranks of one job make one trace")
      ->required()
      ->expected(1, 1000);
  command->add_option("-o,--output", options->out, "Trace to write; default: the first file's name, .sqlite");
  AddExample(command, "lanescope import rank0.json rank1.json -o job.sqlite");
  command->callback([options] { ImportTrace(*options); });
}

}  // namespace lanescope::cli
