#include "gui/document_workload.h"

#include <filesystem>

#include "core/graph_io.h"
#include "core/step_request.h"

namespace lanescope::gui {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::shared_ptr<const StepGraph> ReadStepGraph(const std::string& path) {
  auto made = std::make_shared<StepGraph>();
  made->path = path;
  made->graph = ReadGraph(path);
  made->spec = ReadRunSpecBeside(path);
  if (made->spec.fetches.empty() && made->spec.targets.empty()) ConfigureWholeGraph(made->graph, &made->spec);
  made->request = StepRequestOf(made->graph, made->spec);
  made->info = InferGraph(made->graph, made->request.feeds);
  return made;
}

std::string FindGraphFile(const std::string& name, const std::string& trace_path,
                          const std::vector<std::string>& folders) {
  // A trace may say anything; only a plain file name is looked for.
  if (name.empty() || name.find('/') != std::string::npos || name == "." || name == "..") return {};
  std::vector<fs::path> places(folders.begin(), folders.end());
  std::error_code error;
  const auto add_with_parents = [&](fs::path folder) {
    for (int i = 0; i < 6 && !folder.empty(); ++i) {
      places.push_back(folder);
      places.push_back(folder / "graphs");
      places.push_back(folder / "samples" / "graphs");
      if (folder == folder.parent_path()) break;
      folder = folder.parent_path();
    }
  };
  if (!trace_path.empty()) add_with_parents(fs::absolute(trace_path, error).parent_path());
  add_with_parents(fs::current_path(error));
  for (const fs::path& place : places) {
    const fs::path candidate = place / name;
    if (fs::is_regular_file(candidate, error)) return candidate.string();
  }
  return {};
}

}  // namespace lanescope::gui
