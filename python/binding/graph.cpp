// SPDX-License-Identifier: Apache-2.0
// Graphs.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "core/base/error.h"
#include "core/graph/graph_io.h"
#include "core/graph/signature.h"
#include "core/inputs/run_spec.h"
#include "python/binding/calls.h"
#include "python/binding/handles.h"
#include "python/binding/tensors.h"
#include "sims/cost/cost_table.h"

namespace lanescope::python {

GraphHandle::GraphHandle(const std::string& path, const std::string& name, const nb::bytes& graph_def,
                         const std::string& run, const std::string& folder, const nb::dict& feeds,
                         const std::vector<std::string>& fetches, const std::vector<std::string>& targets,
                         bool soft_placement, bool fuse, const Machine* machine)
    : path_(path), name_(name), graph_def_(graph_def.c_str(), graph_def.size()), run_(run), folder_(folder) {
  options_.values = TensorsOf(feeds);
  options_.fetches = fetches;
  options_.targets = targets;
  options_.soft_placement = soft_placement;
  options_.fuse = fuse;
  if (machine != nullptr) machine_ = std::make_shared<const Machine>(*machine);
  options_.machine = machine_.get();
  const Unlocked unlocked;
  workload_ = Make(study::Unconfigured::kWholeGraph, &notes_);
}

std::shared_ptr<const study::Workload> GraphHandle::Make(study::Unconfigured unconfigured,
                                                         std::vector<std::string>* notes) const {
  study::WorkloadOptions options = options_;
  options.unconfigured = unconfigured;
  options.note = [&](const std::string& line) { notes->push_back(line); };
  if (!path_.empty()) return std::make_shared<const study::Workload>(path_, options);
  return std::make_shared<const study::Workload>(name_, ParseGraphBinary(graph_def_),
                                                 ParseRunSpec(run_, folder_), options);
}

const std::shared_ptr<const study::Workload>& GraphHandle::Runnable() const {
  std::vector<std::string> ignored;
  // Notes say what was assumed of its step.
  if (!notes_.empty()) Make(study::Unconfigured::kRefuse, &ignored);
  return workload_;
}

namespace {

// (name, signature, op, flops, bytes): what cost tables tell launches apart by, and the work of each.
using Launch = std::tuple<std::string, std::string, std::string, int64_t, int64_t>;

std::vector<Launch> LaunchesOf(const GraphHandle& handle) {
  const study::Workload& workload = *handle.workload();
  std::vector<Launch> launches;
  for (const NodeId id : workload.graph().node_ids()) {
    const lanescope::Node& node = workload.graph().node(id);
    const auto inputs = workload.InputInfos(id);
    const auto outputs = workload.info().outputs(id);
    const OpWork work = WorkOf(node, inputs, outputs);
    launches.emplace_back(node.name, OpSignature(node, inputs, outputs), node.op, work.flops, work.bytes);
  }
  return launches;
}

// A cost file of launches alone: (signature, op, device, ns, spread in ns, count, flops, bytes).
std::string CostTableOf(const std::string& calibrated_on,
                        const std::vector<std::tuple<std::string, std::string, std::string, int64_t, int64_t,
                                                     int64_t, int64_t, int64_t>>& launches) {
  sims::CostTable table;
  table.calibrated_on = calibrated_on;
  for (const auto& [signature, op, device, ns, spread_ns, count, flops, bytes] : launches) {
    sims::LaunchCost cost{signature, op, device, ns, spread_ns, count, {}};
    cost.work.flops = flops;
    cost.work.bytes = bytes;
    table.launches.push_back(std::move(cost));
  }
  return sims::CostTableToJson(table);
}

std::string CostDeviceOf(const Machine& machine, const std::string& device) {
  const DeviceId id = machine.FindDevice(device);
  if (!id.exists()) Throw(Code::kNotFound, "the machine has no device '{}'", device);
  return sims::CostDevice(machine.device(id));
}

}  // namespace

void AddGraph(nb::module_& module) {
  module.def("cost_table", &CostTableOf, nb::arg("calibrated_on"), nb::arg("launches"));
  module.def("cost_device", &CostDeviceOf, nb::arg("machine"), nb::arg("device"));
  using Node = std::tuple<std::string, std::string, std::string>;
  nb::class_<GraphHandle>(module, "Graph", "A graph with its step.")
      .def(nb::init<const std::string&, const std::string&, const nb::bytes&, const std::string&,
                    const std::string&, const nb::dict&, const std::vector<std::string>&,
                    const std::vector<std::string>&, bool, bool, const Machine*>(),
           nb::arg("path"), nb::arg("name"), nb::arg("graph_def"), nb::arg("run"), nb::arg("folder"),
           nb::arg("feeds"), nb::arg("fetches"), nb::arg("targets"), nb::arg("soft_placement"),
           nb::arg("fuse"), nb::arg("machine").none())
      .def_prop_ro("name", [](const GraphHandle& graph) { return graph.workload()->name(); })
      .def_prop_ro("notes", &GraphHandle::notes, "What is assumed of a step that is not configured.")
      .def_prop_ro("fetches", [](const GraphHandle& graph) { return FetchTitles(graph.workload()->spec()); })
      .def_prop_ro("targets", [](const GraphHandle& graph) { return graph.workload()->spec().targets; })
      .def_prop_ro(
          "feeds",
          [](const GraphHandle& graph) {
            nb::dict feeds;
            const RunSpec& spec = graph.workload()->spec();
            for (const auto& [name, feed] : spec.feeds) {
              nb::list shape;
              for (const Dim dim : feed.shape.dims()) shape.append(dim);
              feeds[TitleOf(spec, name).c_str()] = nb::make_tuple(NumpyName(feed.dtype), nb::tuple(shape));
            }
            return feeds;
          },
          "By name: dtype and shape of what is fed.")
      .def(
          "nodes",
          [](const GraphHandle& graph) {
            std::vector<Node> nodes;
            for (const lanescope::Node& node : graph.workload()->graph().nodes())
              nodes.emplace_back(node.name, node.op, node.device);
            return nodes;
          },
          "(name, op, requested device) of every node.")
      .def("launches", &LaunchesOf, nb::call_guard<Unlocked>(),
           "(name, signature, op, FLOPs, bytes) of every node.")
      .def(
          "to_bytes",
          [](const GraphHandle& graph) {
            const std::string bytes = GraphToBinary(graph.workload()->graph());
            return nb::bytes(bytes.data(), bytes.size());
          },
          "A serialized GraphDef.")
      .def(
          "to_text", [](const GraphHandle& graph) { return GraphToText(graph.workload()->graph()); },
          nb::call_guard<Unlocked>(), "A GraphDef as text.");
}

}  // namespace lanescope::python
