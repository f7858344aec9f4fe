// SPDX-License-Identifier: Apache-2.0
#include "core/graph/foreign_model.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace lanescope {
namespace {

namespace fs = std::filesystem;
using std::string_view_literals::operator""sv;

constexpr std::string_view kExport =
    "load it into its model and make a graph of that: lanescope.torch.export";
constexpr std::string_view kSavedModel =
    "load it and write a SavedModel, `model.export(FOLDER)` or `tf.saved_model.save(model, FOLDER)`, and "
    "give "
    "that folder";

// Where a ZIP archive's directory is looked for: its end with the longest comment, and names before that.
constexpr uint64_t kHeadBytes = 4096, kTailBytes = uint64_t{1} << 20;

// The bytes from there on, as many as there are.
std::string BytesAt(std::ifstream& file, uint64_t begin, uint64_t size) {
  std::string bytes(size, '\0');
  file.clear();
  file.seekg(static_cast<std::streamoff>(begin));
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  bytes.resize(static_cast<size_t>(std::max<std::streamsize>(0, file.gcount())));
  return bytes;
}

// Little-endian; 0 beyond the end.
uint64_t LittleEndian(std::string_view bytes, size_t at, size_t size) {
  uint64_t number = 0;
  for (size_t i = size; i-- > 0;)
    number = number << 8 | (at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : 0);
  return number;
}

// Names in an archive: the first, and those that its end lists.
std::vector<std::string_view> NamesInZip(std::string_view head, std::string_view tail) {
  constexpr size_t kFirst = 30, kEntry = 46;
  std::vector<std::string_view> names;
  if (head.size() > kFirst) names.push_back(head.substr(kFirst, LittleEndian(head, 26, 2)));
  size_t at = tail.find("PK\x01\x02"sv);
  while (at != std::string_view::npos && tail.size() - at > kEntry) {
    const size_t size = LittleEndian(tail, at + 28, 2);
    names.push_back(tail.substr(at + kEntry, size));
    at = tail.find("PK\x01\x02"sv, at + kEntry + size);
  }
  return names;
}

bool AnyEndsWith(const std::vector<std::string_view>& names, std::string_view end) {
  return std::ranges::any_of(names, [&](std::string_view name) { return name.ends_with(end); });
}

bool AnyHas(const std::vector<std::string_view>& names, std::string_view part) {
  return std::ranges::any_of(names, [&](std::string_view name) { return name.find(part) != name.npos; });
}

std::string WhatZipIs(std::string_view head, std::string_view tail) {
  const std::vector<std::string_view> names = NamesInZip(head, tail);
  if (AnyEndsWith(names, "model.weights.h5") || AnyEndsWith(names, "/variables.h5"))
    return fmt::format("is a model of Keras, which holds no graph; {}", kSavedModel);
  if (AnyEndsWith(names, "archive_format") || AnyEndsWith(names, "serialized_exported_program.json"))
    return "is a program of torch.export, which holds no GraphDef; make a graph of its model: "
           "lanescope.torch.export";
  if (AnyHas(names, "/code/"))
    return "is a TorchScript archive, which holds no GraphDef; make a graph of its model: "
           "lanescope.torch.export";
  if (AnyEndsWith(names, "/data.pkl"))
    return fmt::format("was written by torch.save and holds no graph; {}", kExport);
  if (AnyEndsWith(names, "saved_model.pb"))
    return "is an archive of a SavedModel; unpack it and give its folder";
  return "is a ZIP archive; unpack it and give the model in it";
}

// A header in JSON of the size that stands before it.
bool IsSafetensors(std::string_view head, uint64_t file_size) {
  constexpr size_t kBegin = 8;
  const uint64_t header = LittleEndian(head, 0, kBegin);
  if (head.size() < kBegin + 2 || header < 2 || header > file_size - kBegin) return false;
  const std::string_view json = head.substr(kBegin, header);
  return json.starts_with("{\"") &&
         (json.find("\"data_offsets\"") != json.npos || json.find("\"__metadata__\"") != json.npos);
}

// Its schema version, then a meta graph; or that alone, in a file of that name.
bool IsSavedModelProto(const fs::path& path, std::string_view head) {
  return head.starts_with("\x08\x01\x12"sv) ||
         (head.starts_with('\x12') && path.filename() == "saved_model.pb");
}

// The protocols of Python's pickle that torch.save ever wrote.
bool IsPickle(std::string_view head) {
  return head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

// Empty where it is none.
std::string WhatItIs(const fs::path& path, std::ifstream& file, uint64_t size) {
  const std::string head = BytesAt(file, 0, std::min(size, kHeadBytes));
  if (head.starts_with("PK\x03\x04"sv)) {
    const uint64_t tail = std::min(size, kTailBytes);
    return WhatZipIs(head, BytesAt(file, size - tail, tail));
  }
  if (head.starts_with("\x89HDF\r\n\x1a\n"sv))
    return fmt::format("is an HDF5 file, as Keras writes models and weights, and holds no graph; {}",
                       kSavedModel);
  if (std::string_view(head).substr(0, 8).ends_with("TFL3") && LittleEndian(head, 1, 3) == 0)
    return "is a model of TensorFlow Lite; give the folder of the SavedModel that it was converted from";
  if (IsSavedModelProto(path, head)) {
    const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
    return fmt::format("is one file of a SavedModel; give its folder, '{}'", folder);
  }
  if (IsPickle(head))
    return fmt::format("is a pickle, as torch.save wrote them, and holds no graph; {}", kExport);
  if (IsSafetensors(head, size) || path.extension() == ".safetensors")
    return fmt::format("holds weights alone (safetensors); {}", kExport);
  if (head.starts_with("GGUF") || path.extension() == ".gguf")
    return fmt::format("holds weights alone (GGUF); {}", kExport);
  return "";
}

}  // namespace

void RefuseForeignModel(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return;  // a pipe can be read once
  const uint64_t size = fs::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) return;
  const std::string text = WhatItIs(path, file, size);
  if (!text.empty()) Throw(Code::kInvalidArgument, "'{}' {}", path, text);
}

}  // namespace lanescope
