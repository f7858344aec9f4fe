// SPDX-License-Identifier: Apache-2.0
// Hostile bytes as the index and the data of a checkpoint, as they are and as a table whose checksums are
// right, and as the saved_model.pb beside it.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/crc32c.h"
#include "core/inputs/saved_model.h"
#include "core/inputs/tensor_bundle.h"
#include "tests/fuzz/hostile.h"
#include "tests/fuzz/scratch_folder.h"

namespace lanescope {
namespace {

std::string LittleEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xFF);
  return text;
}

std::string Varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}

// With its trailer; the handle says where it is.
std::string Block(const std::string& entries, uint64_t offset, std::string* handle) {
  const std::string block = entries + LittleEndian(0, 4) + LittleEndian(1, 4);
  *handle = Varint(offset) + Varint(block.size());
  const std::string checked = block + '\0';
  return checked + LittleEndian(MaskedCrc32c(checked), 4);
}

// An index whose only block has these entries.
std::string TableOf(const std::string& entries) {
  std::string data_handle, index_handle;
  std::string table = Block(entries, 0, &data_handle);
  table += Block(std::string("\0\1", 2) + Varint(data_handle.size()) + "z" + data_handle, table.size(),
                 &index_handle);
  std::string footer = data_handle + index_handle;
  footer.resize(40);
  return table + footer + LittleEndian(0xDB4775248B80FB57, 8);
}

void TryAll(std::string_view bytes) {
  static const ScratchFolder folder;
  static const std::string prefix = folder.File("variables/variables");
  std::filesystem::create_directories(folder.File("variables"));
  folder.Write("variables/variables.data-00000-of-00001", bytes);
  for (const std::string& index : {std::string(bytes), TableOf(std::string(bytes))}) {
    folder.Write("variables/variables.index", index);
    Try([&] {
      const TensorBundle bundle(prefix);
      for (const std::string& name : bundle.Names()) Try([&] { bundle.Read(name); });
    });
  }
  folder.Write("saved_model.pb", bytes);
  Try([&] { ReadSavedModel(folder.File("")); });
}

}  // namespace
}  // namespace lanescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lanescope::TryAll({reinterpret_cast<const char*>(data), size});
  return 0;
}
