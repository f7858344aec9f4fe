// SPDX-License-Identifier: Apache-2.0
#include "gui/document/document.h"

#include <algorithm>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/place/kernel_table.h"
#include "core/place/placer.h"
#include "gui/document/document_editor.h"
#include "gui/document/import_folder.h"

namespace lanescope::gui {
namespace {

// One name for one file.
std::string Normalised(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

DeviceId DeviceNumber(const Machine& machine, const std::string& label) {
  const DeviceId device = machine.FindDevice(label);
  if (!device.exists()) Throw(Code::kInvalidArgument, "the machine has no device {}", label);
  return device;
}

}  // namespace

class Document::Impl {
 public:
  explicit Impl(std::function<void()> wake)
      : wake_(std::move(wake)), editor(&timeline, wake_), replay(&timeline, wake_) {}

  void Open(const std::string& given) {
    const std::string path = Normalised(given);
    OpenFile* file = FindFile(path);
    if (file == nullptr) {
      files.emplace_back();
      file = &files.back();
      file->path = path;
    }
    file->state = {};
    StopLoad(path);
    loads_.push_back(std::make_unique<TraceLoad>(path, wake_, [this] { return imports_.NewFolder(); }));
  }

  void Close(const std::string& given) {
    const std::string path = Normalised(given);
    OpenFile* file = FindFile(path);
    if (file == nullptr) return;
    StopLoad(path);
    for (const RunKey run : file->runs) Remove(run);
    files.erase(files.begin() + (file - files.data()));
  }

  void Cancel(const std::string& given) {
    const std::string path = Normalised(given);
    for (const auto& load : loads_) {
      if (load->path() == path) load->Cancel();
    }
  }

  bool Poll() {
    bool changed = ReapCancelled();
    for (size_t i = 0; i < loads_.size();) {
      OpenFile* file = FindFile(loads_[i]->path());
      LoadState state = loads_[i]->state();
      if (file != nullptr) {
        changed = changed || state.phase != file->state.phase || state.progress != file->state.progress;
        file->state = state;
      }
      if (state.phase == LoadState::Phase::kLoading) {
        ++i;
        continue;
      }
      if (state.phase == LoadState::Phase::kDone && file != nullptr) Take(loads_[i]->TakeRuns(), file);
      loads_.erase(loads_.begin() + static_cast<ptrdiff_t>(i));
      changed = true;
    }
    if (editor.Poll()) changed = true;
    if (replay.Poll()) changed = true;
    const std::string measured = editor.TakeMeasuredTrace();
    if (!measured.empty()) {
      Open(measured);
      measured_file_ = Normalised(measured);
    }
    return changed;
  }

  bool loading() const { return !loads_.empty(); }

  void Remove(RunKey run) {
    if (editor.IsBase(run)) editor.End();
    if (replay.view().base == run) replay.End();
    timeline.Remove(run);
    for (OpenFile& file : files) std::erase(file.runs, run);
  }

  std::vector<OpenFile> files;
  Timeline timeline;

 private:
  OpenFile* FindFile(const std::string& path) {
    for (OpenFile& file : files) {
      if (file.path == path) return &file;
    }
    return nullptr;
  }

  // A load that is stopped ends on its own time; it is dropped when it has.
  void StopLoad(const std::string& path) {
    for (size_t i = 0; i < loads_.size();) {
      if (loads_[i]->path() != path) {
        ++i;
        continue;
      }
      loads_[i]->Cancel();
      stopped_.push_back(std::move(loads_[i]));
      loads_.erase(loads_.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  bool ReapCancelled() {
    std::erase_if(stopped_,
                  [](const auto& load) { return load->state().phase != LoadState::Phase::kLoading; });
    return false;
  }

  // Runs stand in the order of their files, whichever was read first.
  size_t PlaceFor(const OpenFile& file) const {
    int last = -1;
    for (const OpenFile& each : files) {
      for (const RunKey run : each.runs) last = std::max(last, timeline.IndexOf(run));
      if (&each == &file) break;
    }
    return static_cast<size_t>(last + 1);
  }

  // Runs that were shown before keep their place and key.
  void Take(std::vector<std::shared_ptr<const RunData>> runs, OpenFile* file) {
    const size_t place = PlaceFor(*file);
    std::vector<RunKey> kept, added;
    for (auto& run : runs) {
      RunKey key = 0;
      for (const RunKey old : file->runs) {
        const ShownRun* shown = timeline.Find(old);
        if (shown != nullptr && shown->data->id == run->id) key = old;
      }
      if (key == 0) {
        key = timeline.Add(std::move(run));
        added.push_back(key);
      } else {
        timeline.Replace(key, std::move(run));
      }
      kept.push_back(key);
    }
    for (size_t i = 0; i < added.size(); ++i) timeline.Move(added[i], place + i);
    if (file->path == measured_file_) {
      measured_file_.clear();
      editor.PlaceMeasured(added);
    }
    const std::vector<RunKey> before = std::exchange(file->runs, kept);
    for (const RunKey old : before) {
      if (std::find(kept.begin(), kept.end(), old) == kept.end()) Remove(old);
    }
  }

  const std::function<void()> wake_;
  ImportFolder imports_;  // before the loads, which write into it
  std::vector<std::unique_ptr<TraceLoad>> loads_, stopped_;
  std::string measured_file_;  // read again for what was measured; empty: none

 public:
  // Last: they refer to the timeline.
  WhatIfEditor editor;
  ReplayEditor replay;

  // An edit of one run ends the edit of another.
  WhatIfEditor& EditorOf(RunKey base) {
    replay.End();
    editor.Begin(base);
    return editor;
  }
};

Document::Document(std::function<void()> wake) : impl_(std::make_unique<Impl>(std::move(wake))) {}
Document::~Document() = default;

void Document::Open(const std::string& path) { impl_->Open(path); }
void Document::CloseFile(const std::string& path) { impl_->Close(path); }
void Document::CancelLoad(const std::string& path) { impl_->Cancel(path); }
const std::vector<OpenFile>& Document::files() const { return impl_->files; }
bool Document::loading() const { return impl_->loading(); }
bool Document::Poll() { return impl_->Poll(); }
bool Document::busy() const { return impl_->loading() || impl_->editor.busy() || impl_->replay.busy(); }
Timeline& Document::timeline() { return impl_->timeline; }
const Timeline& Document::timeline() const { return impl_->timeline; }
void Document::RemoveRun(RunKey run) { impl_->Remove(run); }

void Document::BeginWhatIf(RunKey base) { impl_->EditorOf(base); }

void Document::MoveOps(RunKey base, const std::vector<std::string>& nodes, const std::string& device_label) {
  impl_->EditorOf(base).Apply(
      [nodes, device_label](const WhatIfBase& of, const WhatIfEdit& from, std::string* note) {
        std::vector<NodeId> ids;
        for (const std::string& name : nodes) {
          const NodeId id = of.graph().FindNode(name);
          if (id.exists()) ids.push_back(id);
        }
        if (ids.empty())
          Throw(Code::kInvalidArgument, "nothing to move: the selection has no node of the graph");
        return MoveNodes(of, from, ids, DeviceNumber(from.machine, device_label), note);
      });
}

void Document::MoveScope(RunKey base, const std::string& scope, const std::string& device_label) {
  impl_->EditorOf(base).Apply(
      [scope, device_label](const WhatIfBase& of, const WhatIfEdit& from, std::string* note) {
        std::vector<NodeId> ids;
        const std::string prefix = scope + "/";
        for (const NodeId id : of.graph().node_ids()) {
          const std::string& name = of.graph().node(id).name;
          if (name == scope || name.starts_with(prefix)) ids.push_back(id);
        }
        if (ids.empty()) Throw(Code::kInvalidArgument, "the graph has no name scope '{}'", scope);
        return MoveNodes(of, from, ids, DeviceNumber(from.machine, device_label), note);
      });
}

void Document::SetLinkBandwidth(RunKey base, int link, double bytes_per_second) {
  impl_->EditorOf(base).Apply([=](const WhatIfBase& of, const WhatIfEdit& from, std::string*) {
    return SetBandwidth(of, from, link, bytes_per_second);
  });
}

void Document::SetDeviceSpeed(RunKey base, DeviceId device, double speed) {
  impl_->EditorOf(base).Apply([=](const WhatIfBase& of, const WhatIfEdit& from, std::string*) {
    return SetSpeed(of, from, device, speed);
  });
}

void Document::ResetMachine(RunKey base) {
  impl_->EditorOf(base).Apply([](const WhatIfBase& of, const WhatIfEdit& from, std::string*) {
    auto edit = std::make_shared<WhatIfEdit>(from);
    edit->machine = of.start.machine;
    edit->speed = of.start.speed;
    edit->gesture.clear();
    edit->text = "reset the machine";
    return std::shared_ptr<const WhatIfEdit>(std::move(edit));
  });
}

void Document::SetFusion(RunKey base, bool fused) {
  impl_->EditorOf(base).Apply([fused](const WhatIfBase&, const WhatIfEdit& from, std::string*) {
    return gui::SetFusion(from, fused);
  });
}

void Document::EndGesture() {
  impl_->replay.view().base != 0 ? impl_->replay.EndGesture() : impl_->editor.EndGesture();
}
void Document::Undo() { impl_->replay.view().base != 0 ? impl_->replay.Undo() : impl_->editor.Undo(); }
void Document::Redo() { impl_->replay.view().base != 0 ? impl_->replay.Redo() : impl_->editor.Redo(); }
void Document::KeepResult() {
  impl_->replay.view().base != 0 ? impl_->replay.KeepResult() : impl_->editor.KeepResult();
}
void Document::BeginReplay(RunKey base) {
  impl_->editor.End();
  impl_->replay.Begin(base);
}
void Document::SetKnob(size_t knob, const ReplaySetting& setting) { impl_->replay.Set(knob, setting); }
void Document::SetKnobByText(const std::string& change) { impl_->replay.SetByText(change); }
void Document::ResetReplay() { impl_->replay.Reset(); }
void Document::EndReplay() { impl_->replay.End(); }
const ReplayView& Document::replay() const { return impl_->replay.view(); }
void Document::EndWhatIf() { impl_->editor.End(); }
const WhatIfView& Document::what_if() const { return impl_->editor.view(); }

std::string Document::DeviceOfNode(const std::string& node) const {
  const auto edit = impl_->editor.current();
  const NodeId id = edit == nullptr ? NodeId() : impl_->editor.base()->graph().FindNode(node);
  if (!id.exists()) return {};
  return edit->machine.device(edit->placement.device[id]).local_name();
}

std::vector<std::string> Document::FeasibleDevicesOf(const std::string& node) const {
  std::vector<std::string> labels;
  const auto edit = impl_->editor.current();
  const NodeId id = edit == nullptr ? NodeId() : impl_->editor.base()->graph().FindNode(node);
  if (!id.exists()) return labels;
  const Node& of = impl_->editor.base()->graph().node(id);
  for (const DeviceId device : FeasibleDevices(of, edit->machine, KernelTable::Global())) {
    labels.push_back(edit->machine.device(device).local_name());
  }
  return labels;
}

void Document::AddGraphFolder(const std::string& folder) { impl_->editor.AddGraphFolder(folder); }

void Document::UseGraph(RunKey base, const std::string& graph_path) {
  impl_->replay.End();
  impl_->editor.UseGraph(base, graph_path);
}

void Document::SavePlacement(const std::string& path) const {
  const auto edit = impl_->editor.current();
  if (edit == nullptr)
    Throw(Code::kFailedPrecondition, "there is no placement to save: begin a what-if first");
  WriteFile(path, PlacementToJson(edit->placement, impl_->editor.base()->graph(), edit->machine));
}

void Document::SaveMachine(const std::string& path) const {
  const auto edit = impl_->editor.current();
  if (edit == nullptr) Throw(Code::kFailedPrecondition, "there is no machine to save: begin a what-if first");
  WriteFile(path, MachineToJson(PredictorOf(*impl_->editor.base(), *edit).machine()));
}

void Document::RunIt(const MeasureOptions& options) { impl_->editor.Measure(options); }
void Document::CancelRun() { impl_->editor.CancelMeasurement(); }

}  // namespace lanescope::gui
