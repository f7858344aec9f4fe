// SPDX-License-Identifier: Apache-2.0
// Traces for tests, made by the program itself.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/base/file.h"
#include "tests/support/paths.h"

namespace lanescope::gui {

// A temporary folder that goes with the object.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "lanescope-gui-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Predictions of a sample graph under some strategies: the same bits every time. Empty on failure, which is
// told.
inline std::string SimulatedTrace(const TestFolder& folder, const std::string& graph,
                                  const std::string& strategies) {
  const std::string trace = folder / (graph + ".db");
  const std::string command = lanescope::test::ProgramPath() + " compare " + lanescope::test::SourceDir() +
                              "/samples/graphs/" + graph + ".pbtxt --no-run --strategies " + strategies +
                              " --machine " + lanescope::test::SourceDir() +
                              "/samples/machines/four-virtual-gpus.json --trace " + trace + " > " +
                              (folder / "compare.log") + " 2>&1";
  const int status = std::system(command.c_str());
  if (status == 0) return trace;
  ADD_FAILURE() << command << " ended with " << status << ":\n" << ReadFile(folder / "compare.log");
  return "";
}

}  // namespace lanescope::gui
