// SPDX-License-Identifier: Apache-2.0
// Cases that TensorFlow recorded of small graphs, committed compressed.
#pragma once

#include <zlib.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "tests/support/paths.h"

namespace lanescope::test {

// The cases of a file of tests/golden: "ops/control_flow" of ops/control_flow.json.gz. Throws for a file that
// is not there or damaged.
inline nlohmann::json RecordedCases(const std::string& name) {
  const std::string path = SourceDir() + "/tests/golden/" + name + ".json.gz";
  const gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error("cannot read " + path);
  std::string text(1 << 22, '\0');
  size_t size = 0;
  int got = 0;
  while ((got = gzread(file, text.data() + size, static_cast<unsigned>(text.size() - size))) > 0) {
    size += static_cast<size_t>(got);
    if (size == text.size()) text.resize(2 * size);
  }
  text.resize(size);
  if (gzclose(file) != Z_OK || got < 0) throw std::runtime_error(path + " is damaged");
  return nlohmann::json::parse(text).at("cases");
}

}  // namespace lanescope::test
