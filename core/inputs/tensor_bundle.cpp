// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/tensor_bundle.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/protobuf_wire.h"
#include "core/graph/tensor_proto.h"
#include "lanescope_saved_model.pb.h"

namespace lanescope {
namespace {

constexpr size_t kFooter = 48, kTrailer = 5;
constexpr uint64_t kTableMagic = 0xDB4775248B80FB57;

template <typename T>
T LittleEndian(std::string_view bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(static_cast<uint8_t>(bytes[i])) << 8 * i;
  return value;
}

uint64_t TakeNumber(std::string_view* bytes) {
  const std::optional<uint64_t> value = TakeVarint(bytes);
  if (!value.has_value()) Throw(Code::kDataLoss, "a number in the table has no end");
  return *value;
}

std::string_view TakeBytes(std::string_view* bytes, uint64_t count) {
  if (count > bytes->size()) Throw(Code::kDataLoss, "an entry of the table goes beyond its block");
  const std::string_view taken = bytes->substr(0, count);
  bytes->remove_prefix(count);
  return taken;
}

// The block that a handle says: an offset and a size.
std::string_view BlockAt(std::string_view table, std::string_view* handle) {
  const uint64_t offset = TakeNumber(handle), size = TakeNumber(handle);
  if (offset > table.size() || size > table.size() - offset || table.size() - offset - size < kTrailer) {
    Throw(Code::kDataLoss, "a block of the table goes beyond the file");
  }
  const std::string_view block = table.substr(offset, size);
  if (table[offset + size] != 0) Throw(Code::kUnimplemented, "the table's blocks are compressed");
  const auto checksum = LittleEndian<uint32_t>(table.substr(offset + size + 1, 4));
  if (checksum != MaskedCrc32c(table.substr(offset, size + 1))) {
    Throw(Code::kDataLoss, "a block of the table is damaged: its checksum is another one");
  }
  return block;
}

// Calls fn(key, value) for the entries of a block: each key shares its first bytes with the one before it.
template <typename Fn>
void ForEachEntry(std::string_view block, const Fn& fn) {
  if (block.size() < 4) Throw(Code::kDataLoss, "a block of the table is too short");
  const auto restarts = LittleEndian<uint32_t>(block.substr(block.size() - 4));
  if (restarts > (block.size() - 4) / 4) Throw(Code::kDataLoss, "a block of the table is too short");
  std::string_view left = block.substr(0, block.size() - 4 - size_t{restarts} * 4);
  std::string key;
  while (!left.empty()) {
    const uint64_t shared = TakeNumber(&left), own = TakeNumber(&left), size = TakeNumber(&left);
    if (shared > key.size()) Throw(Code::kDataLoss, "a key of the table shares more than there is");
    key.resize(shared);
    key += TakeBytes(&left, own);
    fn(key, TakeBytes(&left, size));
  }
}

std::string ShardPath(const std::string& prefix, int shard, int shards) {
  return fmt::format("{}.data-{:05}-of-{:05}", prefix, shard, shards);
}

std::string ReadRange(const std::string& path, int64_t offset, int64_t size) {
  RefuseEndlessFile(path);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    Throw(Code::kNotFound, "'{}' cannot be opened; a checkpoint has its data beside its index", path);
  const auto whole = static_cast<int64_t>(file.tellg());
  if (offset < 0 || size < 0 || offset > whole || size > whole - offset) {
    Throw(Code::kDataLoss, "'{}' has {} bytes; the index says that {} more begin at {}", path, whole, size,
          offset);
  }
  std::string bytes(static_cast<size_t>(size), '\0');
  file.seekg(offset);
  file.read(bytes.data(), size);
  if (!file) Throw(Code::kDataLoss, "'{}' cannot be read", path);
  return bytes;
}

// Lengths, their checksum, and then the texts one after the other.
Tensor TextsIn(std::string_view bytes, const Shape& shape) {
  const int64_t count = shape.NumElements();
  if (count > static_cast<int64_t>(bytes.size()))
    Throw(Code::kDataLoss, "has less texts than its shape says");
  std::vector<uint64_t> lengths(static_cast<size_t>(count));
  for (uint64_t& length : lengths) length = TakeNumber(&bytes);
  TakeBytes(&bytes, 4);
  Tensor tensor(DataType::kString, shape);
  for (size_t i = 0; i < lengths.size(); ++i) tensor.data<std::string>()[i] = TakeBytes(&bytes, lengths[i]);
  return tensor;
}

}  // namespace

std::map<std::string, std::string> ParseIndexTable(std::string_view bytes) {
  if (bytes.size() < kFooter || LittleEndian<uint64_t>(bytes.substr(bytes.size() - 8)) != kTableMagic) {
    Throw(Code::kDataLoss, "is no index of a checkpoint, or is cut short");
  }
  const std::string_view table = bytes.substr(0, bytes.size() - kFooter);
  std::string_view footer = bytes.substr(bytes.size() - kFooter, kFooter - 8);
  BlockAt(table, &footer);  // what describes the table, which is empty
  std::map<std::string, std::string> entries;
  ForEachEntry(BlockAt(table, &footer), [&](const std::string&, std::string_view handle) {
    ForEachEntry(BlockAt(table, &handle),
                 [&](const std::string& key, std::string_view value) { entries[key] = value; });
  });
  return entries;
}

TensorBundle::TensorBundle(std::string prefix) : prefix_(std::move(prefix)) {
  const std::string path = prefix_ + ".index";
  const std::string bytes = ReadFile(path);
  try {
    for (const auto& [name, value] : ParseIndexTable(bytes)) {
      if (name.empty()) {
        tf::BundleHeader header;
        if (!header.ParseFromString(value) || header.num_shards() < 1) {
          Throw(Code::kDataLoss, "has a header that cannot be read");
        }
        if (header.endianness() != 0) Throw(Code::kUnimplemented, "is of a big-endian machine");
        shards_ = header.num_shards();
        continue;
      }
      tf::BundleEntry entry;
      if (!entry.ParseFromString(value))
        Throw(Code::kDataLoss, "has an entry that cannot be read: '{}'", name);
      entries_[name] = {static_cast<DataType>(entry.dtype()),
                        ShapeFromProto(entry.shape()),
                        entry.shard_id(),
                        entry.offset(),
                        entry.size(),
                        entry.crc32c(),
                        entry.slices_size() > 0};
    }
  } catch (const Error& error) {
    Throw(error.code(), "'{}': {}", path, error.message());
  }
}

std::vector<std::string> TensorBundle::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

std::map<std::string, std::string> TensorBundle::TensorsOfVariables() const {
  constexpr const char* kObjects = "_CHECKPOINTABLE_OBJECT_GRAPH";
  std::map<std::string, std::string> tensors;
  if (!Has(kObjects)) return tensors;
  const Tensor text = Read(kObjects);
  tf::SavedObjectGraph objects;
  if (text.dtype() != DataType::kString || text.NumElements() != 1 ||
      !objects.ParseFromString(*text.data<std::string>()))
    Throw(Code::kDataLoss, "'{}' holds objects that cannot be read", prefix_);
  for (const auto& object : objects.nodes()) {
    for (const auto& value : object.attributes()) {
      if (value.name() != "VARIABLE_VALUE" || value.full_name().empty()) continue;
      const auto [known, first] = tensors.emplace(value.full_name(), value.checkpoint_key());
      if (!first && known->second != value.checkpoint_key()) known->second.clear();
    }
  }
  std::erase_if(tensors, [](const auto& tensor) { return tensor.second.empty(); });
  return tensors;
}

Tensor TensorBundle::Read(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) Throw(Code::kNotFound, "'{}' holds no tensor '{}'", prefix_, name);
  const Entry& entry = found->second;
  if (entry.sliced) Throw(Code::kUnimplemented, "'{}' holds '{}' in slices", prefix_, name);
  if (entry.shard < 0 || entry.shard >= shards_ || !entry.shape.IsExact()) {
    Throw(Code::kDataLoss, "'{}' says of '{}' what cannot be", prefix_, name);
  }
  const size_t element = ElementSize(entry.dtype);
  if (element == 0 && entry.dtype != DataType::kString) {
    Throw(Code::kUnimplemented, "'{}' holds '{}' of type {}", prefix_, name, DataTypeName(entry.dtype));
  }
  const int64_t count = entry.shape.NumElements();
  if (element != 0 && (count > entry.size || count * static_cast<int64_t>(element) != entry.size)) {
    Throw(Code::kDataLoss, "'{}' says that '{}' {} has {} bytes", prefix_, name, entry.shape.ToString(),
          entry.size);
  }
  const std::string bytes = ReadRange(ShardPath(prefix_, entry.shard, shards_), entry.offset, entry.size);
  if (element == 0) {
    try {
      return TextsIn(bytes, entry.shape);
    } catch (const Error& error) {
      Throw(error.code(), "'{}': '{}': {}", prefix_, name, error.message());
    }
  }
  if (MaskedCrc32c(bytes) != entry.checksum) {
    Throw(Code::kDataLoss, "'{}': the bytes of '{}' are damaged: their checksum is another one", prefix_,
          name);
  }
  Tensor tensor(entry.dtype, entry.shape);
  if (!bytes.empty()) std::memcpy(tensor.raw_data(), bytes.data(), bytes.size());
  return tensor;
}

}  // namespace lanescope
