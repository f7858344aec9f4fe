// SPDX-License-Identifier: Apache-2.0
#include "profiler/program_file.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/traces/sample_run.h"

namespace lanescope::profiler {
namespace {

// A program with these segments, and nothing in them.
std::string ProgramOf(const std::vector<uint32_t>& types) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_phoff = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = static_cast<uint16_t>(types.size());
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  for (const uint32_t type : types) {
    Elf64_Phdr segment{};
    segment.p_type = type;
    bytes.append(reinterpret_cast<const char*>(&segment), sizeof(segment));
  }
  return bytes;
}

class ProgramFileTest : public testing::Test {
 protected:
  bool IsStatic(const std::string& bytes) {
    const std::string path = (file_.folder() / "program").string();
    std::ofstream(path, std::ios::binary) << bytes;
    return IsStaticProgram(path);
  }

  traces::ScratchFile file_;
};

// Law: a program is static that has something to load and no dynamic linker.
TEST_F(ProgramFileTest, OfItsSegments) {
  EXPECT_TRUE(IsStatic(ProgramOf({PT_LOAD})));
  EXPECT_TRUE(IsStatic(ProgramOf({PT_LOAD, PT_DYNAMIC}))) << "position-independent";
  EXPECT_FALSE(IsStatic(ProgramOf({PT_PHDR, PT_INTERP, PT_LOAD})));
  EXPECT_FALSE(IsStatic(ProgramOf({PT_LOAD, PT_INTERP})));
  EXPECT_FALSE(IsStatic(ProgramOf({})));
  EXPECT_FALSE(IsStaticProgram("/proc/self/exe"));
}

// Law: whatever is no whole program is none.
TEST_F(ProgramFileTest, BrokenFilesAreNoPrograms) {
  const std::string whole = ProgramOf({PT_LOAD});
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(IsStatic(whole.substr(0, size))) << size;
  for (const uint64_t offset : {UINT64_MAX, uint64_t{1} << 63, uint64_t{1} << 40}) {
    std::string far = whole;
    std::memcpy(far.data() + offsetof(Elf64_Ehdr, e_phoff), &offset, sizeof(offset));
    EXPECT_FALSE(IsStatic(far)) << offset;
  }
  EXPECT_FALSE(IsStatic("#!/bin/sh\nexit 0\n"));
  EXPECT_FALSE(IsStaticProgram(file_.folder().string()));
  EXPECT_FALSE(IsStaticProgram("/nonexistent/program"));
}

TEST_F(ProgramFileTest, NamesAreSearchedInPath) {
  const std::string here = (file_.folder() / "tool").string();
  std::ofstream(here) << "#!/bin/sh\n";
  std::filesystem::permissions(here, std::filesystem::perms::owner_all);
  const std::string before = std::getenv("PATH");
  setenv("PATH", ("/nonexistent:" + file_.folder().string()).c_str(), 1);
  EXPECT_EQ(ProgramFile("tool"), here);
  EXPECT_EQ(ProgramFile("./tool"), "./tool");
  EXPECT_EQ(ProgramFile("another"), "another");
  setenv("PATH", before.c_str(), 1);
}

}  // namespace
}  // namespace lanescope::profiler
