// SPDX-License-Identifier: Apache-2.0
#include "core/base/output_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"

namespace lanescope {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    folder_ = testing::TempDir() + "lanescope-output-XXXXXX";
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  }
  ~OutputFileTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  std::string In(const std::string& name) const { return folder_ + "/" + name; }
  std::string Put(const std::string& name, const std::string& text) const {
    std::ofstream(In(name), std::ios::binary) << text;
    return In(name);
  }
  static std::string Contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  bool HasNamelessFiles() const {
    const int file = open(folder_.c_str(), O_TMPFILE | O_WRONLY, 0600);
    return file >= 0 && close(file) == 0;
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    return names;
  }
  static Code CodeOf(const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& error) {
      EXPECT_EQ(error.message().find('\n'), std::string::npos);
      return error.code();
    }
    return Code::kUnknown;
  }
  // The exit status of a process of its own that does `work`.
  static int StatusOf(const std::function<void()>& work) {
    const pid_t child = fork();
    if (child == 0) {
      work();
      std::fflush(stdout);
      _exit(0);
    }
    int how = 0;
    waitpid(child, &how, 0);
    return WEXITSTATUS(how);
  }
  std::string folder_;
};

TEST_F(OutputFileTest, NothingHappensWithoutCommit) {
  const std::string path = Put("out.json", "old");
  {
    OutputFile file(path);
    file.Write("new");
    EXPECT_EQ(Contents(path), "old");
    EXPECT_EQ(fs::path(file.temporary_path()).parent_path(), folder_);
  }
  EXPECT_EQ(Contents(path), "old");
  EXPECT_THAT(Names(), testing::ElementsAre("out.json"));
  {
    OutputFile file(path);
    file.Write("ne");
    file.Write("w");
    file.Commit();
  }
  EXPECT_EQ(Contents(path), "new");
  EXPECT_THAT(Names(), testing::ElementsAre("out.json"));
}

TEST_F(OutputFileTest, AKilledProcessLeavesTheOldFile) {
  const std::string path = Put("out.json", "old");
  StatusOf([&] {
    OutputFile file(path);
    file.Write("half");
    _exit(0);
  });
  EXPECT_EQ(Contents(path), "old");
  StatusOf([&] {
    OutputFile file(In("new.json"));
    file.Write("half");
    _exit(0);
  });
  EXPECT_FALSE(fs::exists(In("new.json")));
  if (!HasNamelessFiles()) GTEST_SKIP() << "no files without names here";
  EXPECT_THAT(Names(), testing::ElementsAre("out.json"));
}

TEST_F(OutputFileTest, AFullDiskLeavesTheOldFile) {
  const std::string path = Put("out.json", "old");
  EXPECT_EQ(StatusOf([&] {
              signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{1000, 1000};
              setrlimit(RLIMIT_FSIZE, &limit);
              const Code code = CodeOf([&] { WriteFile(path, std::string(10'000, 'x')); });
              _exit(code == Code::kResourceExhausted ? 7 : 1);
            }),
            7);
  EXPECT_EQ(Contents(path), "old");
  EXPECT_THAT(Names(), testing::ElementsAre("out.json"));
  EXPECT_EQ(CodeOf([] { WriteFile("/dev/full", "x"); }), Code::kResourceExhausted);
}

TEST_F(OutputFileTest, LinksLeadToTheFileAndPermissionsStay) {
  const std::string path = Put("real.json", "old");
  chmod(path.c_str(), 0640);
  fs::create_symlink("real.json", In("link.json"));
  WriteFile(In("link.json"), "new");
  EXPECT_TRUE(fs::is_symlink(In("link.json")));
  EXPECT_EQ(Contents(path), "new");
  EXPECT_EQ(static_cast<int>(fs::status(path).permissions()), 0640);
  const mode_t before = umask(027);
  WriteFile(In("fresh.json"), "new");
  umask(before);
  EXPECT_EQ(static_cast<int>(fs::status(In("fresh.json")).permissions()), 0640);
}

TEST_F(OutputFileTest, ANameMayBeAsLongAsNamesCanBe) {
  WriteFile(In(std::string(255, 'n')), "x");
  EXPECT_EQ(Contents(In(std::string(255, 'n'))), "x");
  EXPECT_EQ(CodeOf([&] { WriteFile(In(std::string(256, 'n')), "x"); }), Code::kInvalidArgument);
  EXPECT_THAT(Names(), testing::SizeIs(1));
}

TEST_F(OutputFileTest, WhatIsThereCanBeKept) {
  const std::string path = In("out.json");
  OutputFile file(path, Existing::kRefuse);
  file.Write("new");
  Put("out.json", "meanwhile");
  EXPECT_EQ(CodeOf([&] { file.Commit(); }), Code::kAlreadyExists);
  EXPECT_EQ(Contents(path), "meanwhile");
  EXPECT_EQ(CodeOf([&] { OutputFile(path, Existing::kRefuse); }), Code::kAlreadyExists);
}

TEST_F(OutputFileTest, APipeIsWrittenTo) {
  const std::string path = In("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = Contents(path); });
  WriteFile(path, "through");
  reader.join();
  EXPECT_EQ(read, "through");
  EXPECT_TRUE(fs::is_fifo(path));
}

TEST_F(OutputFileTest, StandardOutputKeepsItsOrder) {
  const std::string path = In("printed");
  StatusOf([&] {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(file, STDOUT_FILENO);
    std::fputs("a", stdout);
    WriteFile("/dev/stdout", "b");
    std::fputs("c", stdout);
  });
  EXPECT_THAT(Contents(path), testing::EndsWith("abc"));
  EXPECT_THAT(Names(), testing::ElementsAre("printed"));
}

TEST_F(OutputFileTest, WhatCannotBeMadeIsOneError) {
  EXPECT_EQ(CodeOf([&] { WriteFile(In("no/such/folder"), "x"); }), Code::kNotFound);
  EXPECT_EQ(CodeOf([&] { WriteFile(folder_, "x"); }), Code::kFailedPrecondition);
  EXPECT_EQ(CodeOf([&] { OutputFile("/dev/null").temporary_path(); }), Code::kFailedPrecondition);
}

TEST_F(OutputFileTest, WhatHasNoEndIsNotRead) {
  EXPECT_EQ(CodeOf([] { ReadFile("/dev/zero"); }), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf([&] { ReadFile(folder_); }), Code::kInvalidArgument);
  const std::string path = Put("ten", "0123456789");
  EXPECT_EQ(ReadFile(path, 10), "0123456789");
  EXPECT_EQ(CodeOf([&] { ReadFile(path, 9); }), Code::kInvalidArgument);
  // Sparse: its size is known without reading it.
  fs::resize_file(path, uintmax_t{1} << 40);
  EXPECT_EQ(CodeOf([&] { ReadFile(path); }), Code::kInvalidArgument);
  ASSERT_EQ(mkfifo(In("pipe").c_str(), 0600), 0);
  for (const size_t limit : {10u, 9u}) {
    std::thread writer([&] { std::ofstream(In("pipe")) << "0123456789"; });
    const Code code = CodeOf([&] { EXPECT_EQ(ReadFile(In("pipe"), limit), "0123456789"); });
    writer.join();
    EXPECT_EQ(code, limit == 10 ? Code::kUnknown : Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace lanescope
