// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/golden_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "tests/support/paths.h"
#include "tests/support/recorded_cases.h"

namespace lanescope::exec::test {
namespace {

using Json = nlohmann::json;

std::filesystem::path GoldenDirectory() {
  return std::filesystem::path(lanescope::test::SourceDir()) / "tests" / "golden" / "ops";
}

Tensor GoldenTensor(const Json& json) {
  Tensor tensor(ParseDataType(json.at("dtype").get<std::string>()), GoldenShape(json.at("shape")));
  const Json& values = json.at("values");
  if (tensor.dtype() == DataType::kString) {
    for (size_t i = 0; i < values.size(); ++i) tensor.data<std::string>()[i] = values[i].get<std::string>();
    return tensor;
  }
  VisitNumbers(tensor, [&](auto* out) {
    using T = std::remove_pointer_t<decltype(out)>;
    for (size_t i = 0; i < values.size(); ++i) {
      // Integers beyond 2^53 do not survive a double.
      out[i] = values[i].is_number_integer() ? static_cast<T>(values[i].get<int64_t>())
                                             : static_cast<T>(GoldenNumber(values[i]));
    }
  });
  return tensor;
}

}  // namespace

std::vector<std::string> GoldenFiles() {
  std::vector<std::string> names;
  if (!std::filesystem::exists(GoldenDirectory())) return names;
  for (const auto& entry : std::filesystem::directory_iterator(GoldenDirectory())) {
    if (entry.path().extension() == ".gz") names.push_back(entry.path().stem().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void ForEachGoldenCase(const std::string& file, const std::function<void(const Json&)>& run) {
  const Json cases = lanescope::test::RecordedCases("ops/" + file);
  for (const Json& test : cases) {
    SCOPED_TRACE(test.at("name").get<std::string>());
    try {
      run(test);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

double GoldenNumber(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (!value.is_string()) return value.get<double>();
  const std::string text = value.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return text == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

Shape GoldenShape(const Json& dims) {
  const auto list = dims.get<std::vector<Dim>>();
  return Shape(std::span<const Dim>(list));
}

std::map<std::string, Tensor> GoldenTensors(const Json& tensors) {
  std::map<std::string, Tensor> read;
  for (const auto& [name, tensor] : tensors.items()) read[name] = GoldenTensor(tensor);
  return read;
}

}  // namespace lanescope::exec::test
