// Windows over the window: opening a trace, saving a placement.
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

// Asks for the files of the edited placement and machine.
class SaveDialog {
 public:
  void Draw(const Ui& ui);

 private:
  std::string placement_ = "placement.json", machine_ = "machine.json";
  std::string problem_;
};

}  // namespace lanescope::gui
