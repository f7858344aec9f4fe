// SPDX-License-Identifier: Apache-2.0
#include "profiler/program_file.h"

#include <elf.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace lanescope::profiler {
namespace {

template <typename T>
bool ReadAt(std::ifstream& file, uint64_t offset, T* values, size_t count) {
  if (offset > static_cast<uint64_t>(INT64_MAX)) return false;
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(values), static_cast<std::streamsize>(count * sizeof(T)));
  return file.good();
}

bool IsProgram(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB && (header.e_type == ET_EXEC || header.e_type == ET_DYN) &&
         header.e_phentsize == sizeof(Elf64_Phdr);
}

}  // namespace

std::string ProgramFile(const std::string& name) {
  const char* path = std::getenv("PATH");
  if (path == nullptr || name.find('/') != std::string::npos) return name;
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return name;
}

bool IsStaticProgram(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header;
  if (!ReadAt(file, 0, &header, 1) || !IsProgram(header)) return false;
  std::vector<Elf64_Phdr> segments(header.e_phnum);  // 16 bits: at most 3.5 MB
  if (!ReadAt(file, header.e_phoff, segments.data(), segments.size())) return false;
  bool runs = false;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_INTERP) return false;
    runs |= segment.p_type == PT_LOAD;
  }
  return runs;
}

}  // namespace lanescope::profiler
