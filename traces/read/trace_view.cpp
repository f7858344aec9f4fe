// SPDX-License-Identifier: Apache-2.0
#include "traces/read/trace_view.h"

#include <map>
#include <tuple>
#include <utility>

#include "traces/read/activity_names.h"
#include "traces/read/run_sink.h"
#include "traces/read/run_tables.h"

namespace lanescope::traces {
namespace {

class ViewFiller : public RunSink {
 public:
  void Begin(const TraceRun& run) override {
    run_ = &run;
    tables_ = TablesOf(run);
    view_ = std::move(tables_.view);
  }
  void Call(const TraceApiCall&) override {}
  void Launch(const TraceLaunch& launch, const TraceCollective*) override {
    const int command = tables_.numbers.CommandIndex(launch.schedule, launch.command);
    int op = OpOfCommand(command);
    if (op < 0) op = OpOfNode(launch.node);
    Add(launch, kLaunches, op >= 0 ? op : OpOfTexts(launch.name, launch.op), command);
  }
  void Memset(const TraceMemset& memset) override {
    const int command = tables_.numbers.CommandIndex(memset.schedule, memset.command);
    const int op = OpOfCommand(command);
    Add(memset, kLaunches, op >= 0 ? op : OpOfTexts(kMemset, kMemset), command);
  }
  void Copy(const TraceCopy& copy) override {
    const int command = tables_.numbers.CommandIndex(copy.schedule, copy.command);
    int op = OpOfCommand(command);
    if (op < 0) op = OpOfNode(copy.node);
    SliceColumns* slices = Add(copy, kCopies, op, command);
    slices->route.push_back(RouteOf(
        copy, op < 0 ? NvprofCopyName(copy.kind) : std::string(view_.ops[static_cast<size_t>(op)].name)));
  }

  // Texts move while the run is read: what refers to them is set now.
  RunView Finish() {
    for (const TraceRange& range : run_->ranges) view_.ranges.push_back(RangeName(run_->Text(range.text)));
    for (size_t i = 0; i < tables_.signature_texts.size(); ++i)
      view_.signatures[i] = run_->Text(tables_.signature_texts[i]);
    for (const auto& [texts, op] : op_of_texts_) view_.ops[static_cast<size_t>(op)] = OpCalled(texts);
    if (view_.steps.empty()) {
      for (const TraceStep& step : run_->steps)
        view_.steps.push_back({step.step, step.start_ns, step.end_ns, step.counts});
    }
    view_.Settle(tables_.dependencies);
    return std::move(view_);
  }

 private:
  static constexpr int kMemset = -2;  // instead of a text

  // One that only activities name is added.
  int DeviceIndex(int id) {
    const auto [entry, is_new] =
        tables_.numbers.devices.try_emplace(id, static_cast<int>(view_.devices.size()));
    if (is_new) view_.devices.push_back({id, run_->DeviceLabel(id)});
    return entry->second;
  }

  // The kind of things in a lane; commands bring their own queues.
  enum Sort { kLaunches, kCopies };
  template <typename Activity>
  SliceColumns* Add(const Activity& activity, Sort sort, int op, int command) {
    const auto key = std::tuple(activity.device, activity.stream, sort);
    const auto [lane, is_new] = lanes_.try_emplace(key, nullptr);
    if (is_new) lane->second = view_.AddLane(DeviceIndex(activity.device), sort == kCopies);
    SliceColumns* slices = lane->second;
    slices->start_ns.push_back(activity.start_ns);
    slices->end_ns.push_back(activity.end_ns);
    slices->op.push_back(op);
    slices->Say(&SliceColumns::command, command);
    slices->Say(&SliceColumns::step, activity.step);
    slices->Say(&SliceColumns::range, activity.range);
    return slices;
  }
  // A kernel, or whatever else has no node, by its name and what tells its class.
  int OpOfTexts(int name, int type) {
    if (name == -1 && type == -1) return -1;
    const auto [entry, is_new] =
        op_of_texts_.try_emplace(std::pair(name, type), static_cast<int>(view_.ops.size()));
    if (is_new) view_.ops.emplace_back();
    return entry->second;
  }
  RunView::Op OpCalled(std::pair<int, int> texts) const {
    const auto& [name, type] = texts;
    if (name == kMemset) return {kMemsetName, false};
    return {name < 0 ? std::string_view("no name") : run_->Text(name),
            IsCommunication(run_->Text(type >= 0 ? type : name))};
  }
  int OpOfCommand(int command) const {
    return command < 0 ? -1 : view_.commands[static_cast<size_t>(command)].op;
  }
  int OpOfNode(int node) const {
    const auto found = tables_.numbers.ops.find(node);
    return found == tables_.numbers.ops.end() ? -1 : found->second;
  }

  int RouteOf(const TraceCopy& copy, std::string name) {
    const auto key = std::tuple(DeviceIndex(copy.src), DeviceIndex(copy.dst), name);
    const auto [entry, is_new] = routes_.try_emplace(key, static_cast<int>(view_.routes.size()));
    if (is_new) view_.routes.push_back({std::get<0>(key), std::get<1>(key), std::move(name)});
    return entry->second;
  }

  const TraceRun* run_ = nullptr;
  RunTables tables_;  // without its view
  RunView view_;
  std::map<std::tuple<int, int, Sort>, SliceColumns*> lanes_;
  std::map<std::pair<int, int>, int> op_of_texts_;
  std::map<std::tuple<int, int, std::string>, int> routes_;
};

}  // namespace

RunView ViewOfRun(const TraceRun& run) {
  ViewFiller filler;
  Replay(run, &filler);
  return filler.Finish();
}

RunView StreamView(TraceReader& reader, int number, TraceRun* run) {
  ViewFiller filler;
  reader.StreamRun(number, &filler, run);
  return filler.Finish();
}

}  // namespace lanescope::traces
