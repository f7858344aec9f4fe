// SPDX-License-Identifier: Apache-2.0
#include "traces/import/import.h"

#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/print.h"
#include "cli/trace_files.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/graph/graph_io.h"
#include "core/graph/op.h"
#include "core/inputs/onnx_model.h"

namespace lanescope::cli {
namespace {

struct ImportOptions {
  std::vector<std::string> files, captures;
  std::string out;
};

// As a GraphDef, with the run configuration beside it.
void ImportModel(const ImportOptions& options) {
  if (options.files.size() > 1 || !options.captures.empty())
    Throw(Code::kInvalidArgument, "an ONNX model is imported by itself");
  const std::filesystem::path path(options.files.front());
  const std::string out = options.out.empty() ? path.stem().string() + ".pb" : options.out;
  const OnnxModel model = ReadOnnxModel(path.string());
  WriteGraph(model.graph, out);
  WriteFile(std::filesystem::path(out).replace_extension(".run.json").string(), RunConfigurationOf(model));
  size_t unknown = 0;
  for (const Node& node : model.graph.nodes()) unknown += OpRegistry::Global().Find(node.op) == nullptr;
  Print("{}: {} nodes, {} of them known by their cost alone\n", out, model.graph.num_nodes(), unknown);
}

// "job" for "a/job.json", "a/job" and "a/job/".
std::string NameOf(const std::string& path) {
  const std::filesystem::path whole = std::filesystem::path(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).stem().string();
}

void ImportTrace(const ImportOptions& options) {
  const std::string out = options.out.empty() ? NameOf(options.files.front()) + ".sqlite" : options.out;
  const study::Cancellation::Watch in_order(&Interruption());
  const traces::ImportCounts counts = ImportWithProgress(options.files, out, options.captures);
  Print("{}: {}\n", out, traces::ImportText(counts));
}

}  // namespace

void AddImport(CLI::App* app) {
  auto* command = app->add_subcommand(
      "import",
      "Make a SQLite trace of other profilers' files: PyTorch (Kineto), TensorFlow (RunMetadata, timeline, "
      "XPlane), JAX (XPlane), nvprof, Chakra; or a graph of an ONNX model");
  auto options = std::make_shared<ImportOptions>();
  command
      ->add_option("files", options->files,
                   "Files to import; several ranks of one job, or the folder with them, make one trace")
      ->required()
      ->expected(1, 1000);
  command->add_option("-o,--output", options->out,
                      "File to write; default: the first file's name, .sqlite or .pb");
  command
      ->add_option(
          "--capture", options->captures,
          "Trace of the program while it recorded its CUDA graphs: says where their kernels come from")
      ->expected(1)
      ->take_all();
  AddExample(command, "lanescope import rank0.json rank1.json -o job.sqlite");
  command->callback(
      [options] { IsOnnxModel(options->files.front()) ? ImportModel(*options) : ImportTrace(*options); });
}

}  // namespace lanescope::cli
