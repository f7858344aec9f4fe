// SPDX-License-Identifier: Apache-2.0
#include "study/compare/module_search.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/stop_point.h"
#include "study/compare/placement_search_json.h"
#include "study/workload/placing.h"

namespace lanescope::study {
namespace {

// Modules that a cut leaves whole, in the order in which they work: blocks of lists, and what stands beside
// those.
class Units {
 public:
  Units(const ModuleTree& modules, const std::set<std::string>& whole) : modules_(modules), whole_(whole) {
    holds_.assign(modules.size(), -1);
    Add(modules.root());
    std::stable_sort(units_.begin(), units_.end(),
                     [&](size_t a, size_t b) { return modules_[a].first_use < modules_[b].first_use; });
    for (size_t unit = 0; unit < units_.size(); ++unit) bytes_.push_back(NameNodes(units_[unit], unit));
  }

  size_t count() const { return units_.size(); }
  const std::string& type(size_t unit) const { return modules_[units_[unit]].type; }
  int64_t bytes(size_t unit) const { return bytes_[unit]; }
  // The unit of a parameter's node; those of none are of the first.
  size_t Of(const std::string& node) const {
    const auto found = unit_of_.find(node);
    return found == unit_of_.end() ? 0 : found->second;
  }

 private:
  bool HoldsList(size_t module) {
    int& known = holds_[module];
    if (known < 0) {
      known = HoldsBlocks(modules_[module]) ? 1 : 0;
      for (const size_t child : modules_[module].children) known = HoldsList(child) || known == 1 ? 1 : 0;
    }
    return known == 1;
  }

  void Add(size_t number) {
    const TorchModule& module = modules_[number];
    const bool opens = number == modules_.root() || HoldsBlocks(module) || HoldsList(number);
    if (!opens || module.children.empty() || whole_.contains(module.type)) {
      units_.push_back(number);
      return;
    }
    for (const size_t child : module.children) {
      // A block stays whole whatever it is made of; a list in a list does not.
      const bool is_block = HoldsBlocks(module) && !HoldsBlocks(modules_[child]);
      if (is_block) {
        units_.push_back(child);
      } else {
        Add(child);
      }
    }
  }

  // Bytes of the parameters in it.
  int64_t NameNodes(size_t number, size_t unit) {
    int64_t bytes = 0;
    for (const TorchParameter& parameter : modules_[number].parameters) {
      if (parameter.tied_to.empty()) unit_of_.emplace(parameter.NodeName(), unit);
      bytes += parameter.bytes;
    }
    for (const size_t child : modules_[number].children) bytes += NameNodes(child, unit);
    return bytes;
  }

  const ModuleTree& modules_;
  const std::set<std::string>& whole_;
  std::vector<int> holds_;  // by module, whether a list is in it; -1: nobody asked
  std::vector<size_t> units_;
  std::vector<int64_t> bytes_;
  std::map<std::string, size_t> unit_of_;  // by node of a parameter
};

class ModuleSearcher {
 public:
  ModuleSearcher(const Workload& workload, const Predictor& predictor, const ModuleTree& modules,
                 const ModuleSearchRequest& request)
      : workload_(workload),
        predictor_(predictor),
        machine_(predictor.machine()),
        modules_(modules),
        request_(request),
        units_(modules, request.whole),
        whole_(request.whole),
        base_(Place(workload, "annotated", machine_, predictor.costs()).placement) {
    for (size_t unit = 0; unit < units_.count(); ++unit) whole_.insert(units_.type(unit));
  }

  FoundModuleMaps Search() {
    const StopScope scope(request_.interrupted, NowNs() + request_.budget_ns);
    gpus_ = machine_.Gpus();
    try {
      if (!gpus_.empty()) found_.one_gpu_ns = Try([&](const std::string&) { return NameOf(gpus_[0]); });
      for (const Placement& placement : request_.also) TryMapOf(placement);
      for (size_t parts = 2; parts < MostParts(); parts *= 2) FindCuts(parts);
      if (MostParts() > 1) FindCuts(MostParts());
    } catch (const Error& error) {
      if (error.code() != Code::kDeadlineExceeded) throw;
    }
    if (!has_best_) {
      if (refusal_) throw *refusal_;
      Throw(Code::kDeadlineExceeded, "there was no time to try a map of the modules");
    }
    return std::move(found_);
  }

 private:
  size_t MostParts() const { return std::min(gpus_.size(), units_.count()); }
  std::string NameOf(DeviceId device) const { return machine_.device(device).name; }

  // Modules on a host go to the first GPU where there are any: launches of a host have no cost in a machine
  // that was not measured.
  void TryMapOf(const Placement& placement) {
    const Graph& graph = workload_.graph();
    Try([&](const std::string& node) {
      const NodeId id = graph.FindNode(node);
      if (!id.exists()) return std::string();
      const DeviceId device = placement.device[id];
      return NameOf(gpus_.empty() || machine_.device(device).is_gpu() ? device : gpus_[0]);
    });
  }

  // The step of the map of such a placement; empty: it does not fit.
  std::optional<int64_t> Try(const DeviceOfNode& device, bool splits = false) {
    StopPoint();
    ModuleMap map;
    map.parts = PartsOnOneDevice(modules_, device, whole_);
    nlohmann::json nodes = nlohmann::json::object();
    for (const auto& [node, on] :
         WithNodesOfHosts(workload_.graph(), NodesOfParts(workload_.graph(), map.parts)))
      nodes[node] = {{"device", on}};
    const std::string text = nlohmann::json{{"nodes", std::move(nodes)}}.dump();
    const auto [known, is_new] = tried_.try_emplace(text);
    if (is_new) {
      map.placement = ParsePlacement(text, workload_.graph(), machine_, base_);
      known->second = StepOf(map.placement);
    } else {
      map.placement = ParsePlacement(text, workload_.graph(), machine_, base_);
    }
    if (!known->second) return std::nullopt;
    map.step_ns = *known->second;
    if (splits && (!found_.best_split || map.step_ns < found_.best_split->step_ns)) found_.best_split = map;
    if (!std::exchange(has_best_, true) || map.step_ns < found_.best.step_ns) found_.best = std::move(map);
    return known->second;
  }

  std::optional<int64_t> StepOf(const Placement& placement) {
    try {
      const PlacedGraph placed{&workload_, "modules", placement};
      const Schedule schedule = CompileStep(placed, machine_);
      ++found_.simulations;
      PredictOptions options;
      options.finds_path = false;
      options.cancelled = request_.interrupted;
      return predictor_.Predict(workload_, schedule, options).step_ns;
    } catch (const Error& error) {
      if (error.code() != Code::kResourceExhausted) throw;
      if (!refusal_) refusal_ = error;
      return std::nullopt;
    }
  }

  // Begins with parts of equal bytes, and moves cuts by fewer and fewer modules as long as that helps.
  void FindCuts(size_t parts) {
    std::vector<size_t> cuts = EvenCuts(parts);
    std::optional<int64_t> now = TryCuts(cuts);
    for (size_t step = std::max<size_t>(1, units_.count() / (2 * parts)); step > 0; step /= 2) {
      for (bool better = true; better;) {
        better = false;
        for (size_t c = 0; c < cuts.size(); ++c) {
          for (const bool up : {false, true}) better = Move(c, step, up, &cuts, &now) || better;
        }
      }
    }
  }

  bool Move(size_t cut, size_t step, bool up, std::vector<size_t>* cuts, std::optional<int64_t>* now) {
    const size_t low = cut == 0 ? 0 : (*cuts)[cut - 1];
    const size_t high = cut + 1 < cuts->size() ? (*cuts)[cut + 1] : units_.count();
    const size_t at = (*cuts)[cut];
    if (up ? at + step >= high : at <= low + step) return false;
    std::vector<size_t> moved = *cuts;
    moved[cut] = up ? at + step : at - step;
    const auto step_ns = TryCuts(moved);
    if (!step_ns || (*now && *step_ns >= **now)) return false;
    *cuts = std::move(moved);
    *now = step_ns;
    return true;
  }

  std::vector<size_t> EvenCuts(size_t parts) const {
    double all = 0, before = 0;
    for (size_t u = 0; u < units_.count(); ++u) all += static_cast<double>(units_.bytes(u));
    std::vector<size_t> cuts;
    for (size_t u = 0; u < units_.count() && cuts.size() + 1 < parts; ++u) {
      before += static_cast<double>(units_.bytes(u));
      const size_t left = parts - 1 - cuts.size();  // to be made behind this one's end
      const bool is_due = before * static_cast<double>(parts) >= all * static_cast<double>(cuts.size() + 1);
      if (is_due || units_.count() - u - 1 == left) cuts.push_back(u + 1);
    }
    return cuts;
  }

  std::optional<int64_t> TryCuts(const std::vector<size_t>& cuts) {
    const auto device = [&](const std::string& node) {
      const size_t part =
          static_cast<size_t>(std::upper_bound(cuts.begin(), cuts.end(), units_.Of(node)) - cuts.begin());
      return NameOf(gpus_[part]);
    };
    return Try(device, cuts.size() + 1 == MostParts());
  }

  const Workload& workload_;
  const Predictor& predictor_;
  const Machine& machine_;
  const ModuleTree& modules_;
  const ModuleSearchRequest& request_;
  const Units units_;
  std::set<std::string> whole_;  // classes of units, too
  const Placement base_;
  std::vector<DeviceId> gpus_;
  std::map<std::string, std::optional<int64_t>> tried_;  // by placement file
  FoundModuleMaps found_;
  bool has_best_ = false;
  std::optional<Error> refusal_;  // the first that does not fit
};

}  // namespace

FoundModuleMaps SearchModuleMaps(const Workload& workload, const Predictor& predictor,
                                 const ModuleTree& modules, const ModuleSearchRequest& request) {
  return ModuleSearcher(workload, predictor, modules, request).Search();
}

nlohmann::json ModuleMapsJson(const FoundModuleMaps& maps, const Graph& graph, const Machine& machine) {
  const auto of = [&](const ModuleMap& map) {
    nlohmann::json parts = nlohmann::json::object();
    for (const ModulePart& part : map.parts) parts[part.path] = part.device;
    return nlohmann::json{
        {"step_ns", map.step_ns},
        {"parts", std::move(parts)},
        {"placement", nlohmann::json::parse(PlacementToJson(map.placement, graph, machine))}};
  };
  nlohmann::json result = of(maps.best);
  result["one_gpu_ns"] = maps.one_gpu_ns ? nlohmann::json(*maps.one_gpu_ns) : nlohmann::json(nullptr);
  result["split"] = maps.best_split ? of(*maps.best_split) : nlohmann::json(nullptr);
  return result;
}

}  // namespace lanescope::study
