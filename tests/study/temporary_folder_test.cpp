#include "study/base/temporary_folder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

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

}  // namespace
}  // namespace lanescope::study
