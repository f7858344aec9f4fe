// SPDX-License-Identifier: Apache-2.0
// How the activities of a run stand on a timeline: what is in which row, and what it is called. One rule for
// those who keep all that is known of a slice and those who only draw it. Internal to traces.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "traces/export/timeline.h"
#include "traces/export/track_names.h"
#include "traces/read/run_sink.h"

namespace lanescope::traces {

// Gives what derives from it the slices of a run one by one.
class TimelineSlices : public RunSink {
 public:
  void Begin(const TraceRun& run) override;
  void Call(const TraceApiCall& call) override;
  void Launch(const TraceLaunch& launch, const TraceCollective* moved) override;
  void Copy(const TraceCopy& copy) override;
  void Memset(const TraceMemset& memset) override;

 protected:
  // Names of slices from here on are own_texts(), before that the run's.
  static constexpr int kOwnTexts = 1 << 30;

  // When the run has them all.
  void AddSteps();
  void AddRanges();
  void AddAnnotations();

  const TraceRun& run() const { return *run_; }
  const TrackNames& names() const { return *names_; }
  const std::vector<std::string>& own_texts() const { return own_texts_; }  // printable

  // A slice; its number.
  virtual int Keep(const TrackKey& key, const Timeline::Slice& slice) = 0;
  virtual void KeepCall(int /*slice*/) {}
  // The launch and the command that a slice comes from. -1: unknown.
  struct Cause {
    int api = -1, step = -1, schedule = -1, command = -1;
  };
  virtual void KeepCause(int /*slice*/, const Cause&) {}
  // The ends of a copy between tasks.
  virtual void KeepMessage(int /*from*/, int /*to*/) {}

 private:
  int Text(std::string text);
  int Shared(const std::string& text);
  int NameOr(int text, const char* none) { return text >= 0 ? text : Shared(none); }
  int RangeText(int range) const;
  bool Communicates(int text);
  int CopyName(const TraceCopy& copy);
  int TaskOf(int device) const { return names_->TaskOf({TrackKey::Group::kDevice, device}); }
  template <typename Activity>
  int AddActivity(const Activity& activity, Timeline::Slice* slice);
  void AddOtherEnd(const TraceCopy& copy, Timeline::Slice slice, int number);

  const TraceRun* run_ = nullptr;
  std::unique_ptr<TrackNames> names_;
  std::unordered_map<int, const TraceNode*> nodes_;
  std::vector<std::string> own_texts_;
  std::unordered_map<std::string, int> shared_;
  std::map<std::tuple<int, int, int, int>, int> copy_names_;  // by node, kind and ends
  std::vector<signed char> communicates_;                     // by text; -1: nobody asked
};

}  // namespace lanescope::traces
