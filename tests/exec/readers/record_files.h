// SPDX-License-Identifier: Apache-2.0
// Files for tests of readers, and what readers make of them.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "exec/readers/reader.h"

namespace lanescope::exec {

// A folder of its own, gone with the test.
class RecordFiles : public testing::Test {
 protected:
  RecordFiles() {
    std::string name = (std::filesystem::temp_directory_path() / "lanescope-records-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for the test");
    folder_ = name;
  }
  ~RecordFiles() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  // Returns the path.
  std::string File(const std::string& name, std::string_view bytes) const {
    WriteFile(Path(name), bytes);
    return Path(name);
  }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  // "key=value" of every record of these files, without the folder; errors where they come.
  std::vector<std::string> ReadAll(Reader* reader, const std::vector<std::string>& files) const {
    std::vector<std::string> texts;
    for (const std::string& file : files) {
      try {
        EXPECT_TRUE(reader->needs_work());
        reader->StartWork(file);
        for (Record record; reader->Next(&record);) texts.push_back(Short(record.key + "=" + record.value));
      } catch (const Error& error) {
        texts.push_back(Short(error.what()));
      }
    }
    return texts;
  }
  std::vector<std::string> ReadAll(std::unique_ptr<RecordFormat> format,
                                   const std::vector<std::string>& files) const {
    Reader reader(std::move(format));
    return ReadAll(&reader, files);
  }

 private:
  std::string Short(std::string text) const {
    const std::string prefix = folder_.string() + "/";
    for (size_t at; (at = text.find(prefix)) != text.npos;) text.erase(at, prefix.size());
    return text;
  }

  std::filesystem::path folder_;
};

inline std::string LittleEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xFF);
  return text;
}

inline std::string TfRecord(std::string_view data) {
  const std::string length = LittleEndian(data.size(), 8);
  return length + LittleEndian(MaskedCrc32c(length), 4) + std::string(data) +
         LittleEndian(MaskedCrc32c(data), 4);
}

inline std::string Packed(std::string_view bytes, Compression compression) {
  z_stream zlib{};
  deflateInit2(&zlib, 6, Z_DEFLATED, compression == Compression::kGzip ? 31 : 15, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&zlib, bytes.size()) + 64, '\0');
  std::string input(bytes);
  zlib.next_in = reinterpret_cast<Bytef*>(input.data());
  zlib.avail_in = static_cast<uInt>(input.size());
  zlib.next_out = reinterpret_cast<Bytef*>(packed.data());
  zlib.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&zlib, Z_FINISH), Z_STREAM_END);
  packed.resize(zlib.total_out);
  deflateEnd(&zlib);
  return packed;
}

}  // namespace lanescope::exec
