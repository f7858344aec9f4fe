// SPDX-License-Identifier: Apache-2.0
#include "study/base/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "core/base/error.h"

namespace lanescope::study {
namespace {

namespace fs = std::filesystem;

TEST(TemporaryFolderTest, GoesWithItsOwnerAndWithAKilledOne) {
  std::string path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    EXPECT_TRUE(fs::is_directory(path));
  }
  EXPECT_FALSE(fs::exists(path));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() + "/file") << "x";
    if (write(ends[1], folder.path().data(), folder.path().size()) > 0) kill(getpid(), SIGKILL);
    _exit(1);
  }
  close(ends[1]);
  waitpid(owner, nullptr, 0);
  char text[4096];
  const ssize_t size = read(ends[0], text, sizeof(text));
  close(ends[0]);
  ASSERT_GT(size, 0);
  path.assign(text, static_cast<size_t>(size));
  for (int i = 0; i < 20'000 && fs::exists(path); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(fs::exists(path)) << path;
}

// Input: TMPDIR names a folder that takes no files, or that is not there. Law: the error says where the
// folder should have been, why it is not, and what helps.
TEST(TemporaryFolderTest, AnUnusablePlaceIsAnErrorThatSaysWhatToDo) {
  const char* const before = std::getenv("TMPDIR");
  const std::optional<std::string> kept =
      before != nullptr ? std::optional<std::string>(before) : std::nullopt;
  std::string errors[2];
  const char* const unusable[] = {"/proc", "/nonexistent"};
  for (int i = 0; i < 2; ++i) {
    setenv("TMPDIR", unusable[i], 1);
    try {
      const TemporaryFolder folder;
    } catch (const Error& error) {
      errors[i] = error.what();
    }
  }
  kept ? setenv("TMPDIR", kept->c_str(), 1) : unsetenv("TMPDIR");
  EXPECT_THAT(errors[0], testing::HasSubstr("/proc/lanescope-"));
  for (const std::string& error : errors)
    EXPECT_THAT(error, testing::EndsWith("set TMPDIR to a folder that can be written"));
}

}  // namespace
}  // namespace lanescope::study
