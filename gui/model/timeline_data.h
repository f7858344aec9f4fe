// SPDX-License-Identifier: Apache-2.0
// The runs that are shown, side by side, and what is the same op in all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gui/model/run_data.h"

namespace lanescope::gui {

// The key of a shown run; never reused. 0: none.
using RunKey = uint32_t;
// An op in all runs: what has the same name. -1: none.
using OpIdentity = int32_t;

struct SliceRef {
  RunKey run = 0;
  int lane = -1;
  uint32_t slice = kNoSlice;
  bool valid() const { return run != 0 && lane >= 0 && slice != kNoSlice; }
  friend bool operator==(const SliceRef&, const SliceRef&) = default;
};

struct ShownRun {
  RunKey key = 0;
  std::shared_ptr<const RunData> data;
  std::vector<OpIdentity> identities;  // by index into data->ops
  std::string title;                   // data->title, with the file where several are open
};

// Belongs to the UI thread. Runs are shared and immutable; adding one costs a hash lookup per op, whatever
// the number of slices. Every change raises version().
class Timeline {
 public:
  RunKey Add(std::shared_ptr<const RunData> run);
  // Shows new data under the same key, at the same place (a re-simulated what-if).
  void Replace(RunKey key, std::shared_ptr<const RunData> run);
  void Remove(RunKey key);
  // Moves a run to position `index`.
  void Move(RunKey key, size_t index);

  const std::vector<ShownRun>& runs() const { return runs_; }
  const ShownRun* Find(RunKey key) const;
  // Position in runs(); -1: none.
  int IndexOf(RunKey key) const;
  uint64_t version() const { return version_; }

  // The run that others are compared with: the one chosen, else the first. 0: no runs.
  RunKey baseline() const;
  void SetBaseline(RunKey key);
  // Step time against the baseline's, as a fraction (+0.1: 10% longer). Empty for the baseline itself and
  // where either time is unknown.
  std::optional<double> ChangeAgainstBaseline(RunKey key) const;
  // Whether the run's steps and the baseline's (predicted: the interval; measured: the middle half) overlap
  // by more than the two step times differ. False where either is unknown.
  bool CannotTell(RunKey key) const;

  OpIdentity FindIdentity(std::string_view name) const;
  const std::string& NameOf(OpIdentity identity) const;
  size_t num_identities() const { return names_.size(); }
  // Index into the run's ops; -1: the run lacks the op.
  int OpIn(const ShownRun& run, OpIdentity identity) const;
  // -1 for a slice without op, or an invalid one.
  OpIdentity IdentityOf(const SliceRef& slice) const;

 private:
  std::vector<OpIdentity> Identify(const RunData& run);

  std::vector<ShownRun> runs_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, OpIdentity> identity_of_;
  RunKey next_key_ = 1;
  RunKey baseline_ = 0;
  uint64_t version_ = 1;
};

}  // namespace lanescope::gui
