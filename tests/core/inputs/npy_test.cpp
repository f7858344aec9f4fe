// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/file.h"
#include "core/inputs/run_spec.h"
#include "tests/core/base/expect_error.h"

namespace lanescope {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string Npy(const std::string& header, const std::string& data, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += version;
  bytes += '\0';
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  if (version > 1) bytes += std::string(2, '\0');
  return bytes + header + data;
}

const char kTwoFloats[] = "\x00\x00\x80\x3f\x00\x00\x00\xc0";  // 1, -2
std::string TwoFloats() { return {kTwoFloats, 8}; }

TEST(Npy, ReadsWhatNumPyWrites) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }   \n";
  for (char version : {1, 2, 3}) {
    const Tensor tensor = ParseNpy(Npy(header, TwoFloats(), version));
    EXPECT_EQ(tensor.shape(), Shape{2});
    EXPECT_EQ(tensor.data<float>()[1], -2.0f);
  }
}

TEST(Npy, KeysComeInAnyOrder) {
  const Tensor tensor =
      ParseNpy(Npy("{\"shape\":(1, 2),\"fortran_order\":False,\"descr\":\"<f4\"}", TwoFloats()));
  EXPECT_EQ(tensor.shape(), (Shape{1, 2}));
}

TEST(Npy, EveryTypeRoundTrips) {
  const std::string path = testing::TempDir() + "/every_type." + std::to_string(getpid()) + ".npy";
  const auto round_trip = [&](const Tensor& tensor) {
    WriteNpy(tensor, path);
    EXPECT_EQ((ReadFile(path).size() - static_cast<size_t>(tensor.ByteSize())) % 64, 0u);
    const Tensor read = ReadNpy(path);
    EXPECT_EQ(read.dtype(), tensor.dtype());
    EXPECT_EQ(read.shape(), tensor.shape());
    EXPECT_EQ(std::memcmp(read.raw_data(), tensor.raw_data(), static_cast<size_t>(tensor.ByteSize())), 0);
  };
  round_trip(Tensor::FromValues<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  round_trip(Tensor::FromValues<double>({2}, {0.1, -0.2}));
  round_trip(Tensor::Scalar<int32_t>(-7));
  round_trip(Tensor::FromValues<int64_t>({1, 1, 2}, {1, -1}));
  round_trip(Tensor::FromValues<bool>({3}, {true, false, true}));
  round_trip(Tensor::FromValues<uint8_t>({3}, {0, 128, 255}));
  for (const DataType dtype : {DataType::kHalf, DataType::kInt8, DataType::kInt16, DataType::kUint16,
                               DataType::kUint32, DataType::kUint64}) {
    Tensor bytes(dtype, {3});
    for (int64_t i = 0; i < bytes.ByteSize(); ++i)
      static_cast<uint8_t*>(bytes.raw_data())[i] = static_cast<uint8_t>(7 * i + 1);
    round_trip(bytes);
  }
  round_trip(Tensor(DataType::kFloat, {0, 4}));
  std::filesystem::remove(path);
}

TEST(Npy, WritesTheHeaderOfNumPy) {
  const std::string path = testing::TempDir() + "/header." + std::to_string(getpid()) + ".npy";
  WriteNpy(Tensor(DataType::kFloat, {3, 4}), path);
  EXPECT_THAT(ReadFile(path), HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }"));
  WriteNpy(Tensor(DataType::kBool, {3}), path);
  EXPECT_THAT(ReadFile(path), HasSubstr("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }"));
  WriteNpy(Tensor(DataType::kDouble, {}), path);
  EXPECT_THAT(ReadFile(path), HasSubstr("'shape': (), }"));
  std::filesystem::remove(path);
  EXPECT_THAT(ErrorOf([&] { WriteNpy(Tensor(DataType::kString, {1}), path); }), HasSubstr("string"));
}

TEST(Npy, HostileFilesAreRefused) {
  const auto error = [](const std::string& header, const std::string& data = TwoFloats()) {
    return ErrorOf([&] { ParseNpy(Npy(header, data)); });
  };
  EXPECT_THAT(ErrorOf([] { ParseNpy(""); }), HasSubstr("no .npy file"));
  EXPECT_THAT(ErrorOf([] { ParseNpy(Npy("{}", "", 4)); }), HasSubstr("format 4"));
  EXPECT_THAT(ErrorOf([] { ParseNpy(Npy(std::string(90, ' '), "").substr(0, 50)); }), HasSubstr("malformed"));
  EXPECT_THAT(ErrorOf([] { ParseNpy(Npy("{}", "", 2).substr(0, 10)); }), HasSubstr("malformed"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}"), HasSubstr("8 bytes"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}"), HasSubstr("8 bytes"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}"),
              HasSubstr("InvalidArgument"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}"), HasSubstr("malformed"));
  EXPECT_THAT(error("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}"), HasSubstr("'>f4'"));
  EXPECT_THAT(error("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}"), HasSubstr("'|O'"));
  EXPECT_THAT(error("{'descr': '', 'fortran_order': False, 'shape': (2,)}"), HasSubstr("element type"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2)}"), HasSubstr("Fortran"));
  EXPECT_THAT(error("{'descr': '<f4', 'shape': (2,)}"), HasSubstr("malformed"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}"), HasSubstr("malformed"));
  EXPECT_THAT(error("{'descr': '<f4"), HasSubstr("malformed"));
  EXPECT_THAT(error("{'x': 1}"), HasSubstr("malformed"));
  EXPECT_THAT(ErrorOf([] { ReadNpy("/no/such/file.npy"); }), HasSubstr("NotFound"));
}

}  // namespace
}  // namespace lanescope
