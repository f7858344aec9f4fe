// SPDX-License-Identifier: Apache-2.0
// Common parts of the tests of sessions: machines, bitwise comparison, and the error that a call throws.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/graph/graph_builder.h"
#include "core/graph/tensor.h"
#include "core/machine/machine.h"
#include "core/place/placement.h"
#include "exec/run/session.h"

namespace lanescope::exec::test {

// Virtual GPUs whose links cost next to nothing, so that hand-offs, not copies, take the time.
inline Machine FastMachine(int gpus, int workers = 1) {
  Machine machine = VirtualMachine(gpus, workers);
  for (LinkSpec& link : machine.links) {
    link.latency_ns = 0;
    link.bandwidth = 1e12;
  }
  return machine;
}

inline Placement PlaceAll(const Graph& graph, DeviceId device) {
  Placement placement;
  placement.device.assign(graph.num_nodes(), device);
  return placement;
}

inline DeviceId Gpu(const Machine& machine, int index) { return machine.Gpus()[static_cast<size_t>(index)]; }

inline void PlaceOn(Placement* placement, const Graph& graph, const std::string& node, DeviceId device) {
  placement->device[graph.FindNode(node)] = device;
}

inline Tensor Floats(const Shape& shape, float value) {
  Tensor tensor(DataType::kFloat, shape);
  std::fill_n(tensor.data<float>(), tensor.NumElements(), value);
  return tensor;
}

inline ::testing::AssertionResult BitwiseEqual(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) {
    return ::testing::AssertionFailure() << DataTypeName(a.dtype()) << a.shape().ToString() << " and "
                                         << DataTypeName(b.dtype()) << b.shape().ToString();
  }
  if (a.ByteSize() > 0 && std::memcmp(a.raw_data(), b.raw_data(), static_cast<size_t>(a.ByteSize())) != 0) {
    return ::testing::AssertionFailure() << "the elements differ";
  }
  return ::testing::AssertionSuccess();
}

// The error that `call` throws; empty if it throws none.
template <typename Call>
std::optional<Error> ErrorOf(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

template <typename Call>
void ExpectError(Code code, const std::vector<std::string>& parts, Call call) {
  const auto error = ErrorOf(call);
  ASSERT_TRUE(error.has_value()) << "nothing was thrown";
  EXPECT_EQ(error->code(), code) << error->what();
  for (const std::string& part : parts) {
    EXPECT_NE(error->message().find(part), std::string::npos)
        << "'" << part << "' is not in: " << error->message();
  }
}

}  // namespace lanescope::exec::test
