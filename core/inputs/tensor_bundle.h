// SPDX-License-Identifier: Apache-2.0
// TensorFlow's checkpoints: PREFIX.index says which tensors there are, PREFIX.data-00000-of-00001 and the
// like hold their bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/tensor.h"

namespace lanescope {

// One table of an index: blocks of names and values in order. Throws DataLoss for what is none, or damaged.
std::map<std::string, std::string> ParseIndexTable(std::string_view bytes);

// Files from outside: every length and checksum is looked at before it is believed. Immutable.
class TensorBundle {
 public:
  // Reads the index. Throws NotFound, DataLoss for a damaged one, Unimplemented for one of a big-endian
  // machine.
  explicit TensorBundle(std::string prefix);

  bool Has(const std::string& name) const { return entries_.contains(name); }
  std::vector<std::string> Names() const;
  // The tensors of variables by the names that their program gave them, as the objects say whose checkpoint
  // this is; names of several variables are left out. Empty for a checkpoint of names alone. Throws DataLoss.
  std::map<std::string, std::string> TensorsOfVariables() const;
  // Throws NotFound for a name or shard that is not there, DataLoss for a damaged or shortened one,
  // Unimplemented for a tensor in slices or of a type without elements here.
  Tensor Read(const std::string& name) const;

 private:
  struct Entry {
    DataType dtype = DataType::kInvalid;
    Shape shape;
    int shard = 0;
    int64_t offset = 0, size = 0;
    uint32_t checksum = 0;
    bool sliced = false;
  };

  std::string prefix_;
  int shards_ = 1;
  std::map<std::string, Entry> entries_;
};

}  // namespace lanescope
