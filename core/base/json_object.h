// SPDX-License-Identifier: Apache-2.0
// Reading a JSON object strictly: every key is asked for by type, and a key that nobody asked for is an
// error, since it is most likely misspelt. Internal to core, sims and traces: brings in the JSON library.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lanescope {

// Throws InvalidArgument with line and column where `text` is not JSON, and for an object with a key twice.
nlohmann::json ParseJson(std::string_view text);
// The library's text of an error, without its own number.
std::string_view JsonErrorText(const nlohmann::json::exception& error);

// Refers to `object`, which must outlive it. Errors are InvalidArgument and name `where` and the key.
class JsonObject {
 public:
  // Throws where `object` is no object.
  JsonObject(const nlohmann::json& object, std::string where);
  JsonObject(nlohmann::json&& object, std::string where) = delete;

  bool Has(std::string_view key) const { return object_.contains(key); }
  // Null where there is none.
  const nlohmann::json* Find(const std::string& key);
  const nlohmann::json& Require(const std::string& key);
  std::string String(const std::string& key);
  double Number(const std::string& key);
  // minimum <= result <= maximum
  int64_t Integer(const std::string& key, int64_t minimum, int64_t maximum);
  uint64_t Unsigned(const std::string& key);
  // A missing list is empty.
  std::vector<std::string> Strings(const std::string& key);
  // Throws for the first key that was not asked for.
  void Finish() const;

  [[noreturn]] void Fail(std::string_view key, std::string_view problem) const;

 private:
  const nlohmann::json& object_;
  std::string where_;
  std::set<std::string> used_;
};

}  // namespace lanescope
