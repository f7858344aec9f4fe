#include "gui/document_workload.h"

#include <filesystem>

#include "core/graph_io.h"

namespace lanescope::gui {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> UnusedNodes(const Graph& graph) {
  std::vector<char> used(static_cast<size_t>(graph.num_nodes()), 0);
  for (const Node& node : graph.nodes()) {
    for (const Endpoint& input : node.inputs) used[static_cast<size_t>(input.node)] = 1;
    for (const int control : node.control_inputs) used[static_cast<size_t>(control)] = 1;
  }
  std::vector<std::string> names;
  for (int id = 0; id < graph.num_nodes(); ++id) {
    if (!used[static_cast<size_t>(id)]) names.push_back(graph.node(id).name);
  }
  return names;
}

CompileRequest RequestOf(const Graph& graph, const RunSpec& spec) {
  CompileRequest request;
  for (const auto& [name, feed] : spec.feeds) {
    TensorInfo info;
    info.dtype = feed.dtype;
    info.shape = feed.shape;
    request.feeds.emplace_back(graph.FindEndpoint(name), info);
  }
  for (const std::string& fetch : spec.fetches) request.fetches.push_back(graph.FindEndpoint(fetch));
  for (const std::string& target : spec.targets) {
    request.fetches.push_back({graph.FindEndpoint(target).node, -1});
  }
  return request;
}

}  // namespace

std::shared_ptr<const StepGraph> ReadStepGraph(const std::string& path) {
  auto made = std::make_shared<StepGraph>();
  made->path = path;
  made->graph = ReadGraph(path);
  made->spec = ReadRunSpecBeside(path);
  if (made->spec.fetches.empty() && made->spec.targets.empty()) made->spec.targets = UnusedNodes(made->graph);
  made->request = RequestOf(made->graph, made->spec);
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
