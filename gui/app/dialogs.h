// SPDX-License-Identifier: Apache-2.0
// Windows over the window: opening a trace, saving a placement, running one.
#pragma once

#include <string>
#include <vector>

#include "gui/app/ui.h"

namespace lanescope::gui {

// Browses folders for traces. Belongs to the UI thread.
class OpenDialog {
 public:
  void Draw(const Ui& ui);

 private:
  struct Entry {
    std::string name;
    bool folder = false;
    int64_t bytes = 0;
  };
  void Enter(const std::string& folder);
  void Choose(const Ui& ui, const Entry& entry);

  std::string folder_;
  std::string typed_;
  std::string problem_;
  std::vector<Entry> entries_;
};

// Asks for the files of the edited placement and machine, and again before it replaces one.
class SaveDialog {
 public:
  void Draw(const Ui& ui);

 private:
  void Save(const Ui& ui);

  std::string placement_ = "placement.json", machine_ = "machine.json";
  std::string problem_;
  bool focus_ = false;    // the first field gets the keyboard
  std::string replaced_;  // files that exist and that the next Save replaces; empty: not asked
};

// How the edited placement is run: what `lanescope run` takes beside graph, machine and strategy.
class RunDialog {
 public:
  void Draw(const Ui& ui);

 private:
  std::string seed_;  // as typed; empty: none
  bool focus_ = false;
};

}  // namespace lanescope::gui
