// SPDX-License-Identifier: Apache-2.0
// Which tokens of a sequence a device has. Internal to core.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lanescope {

// Tokens that follow each other; or, of twice as many pieces as devices, the r-th from the front and the r-th
// from the back, so that all devices have as much to do under a causal mask, as PyTorch's head-tail load
// balancing and Megatron-LM.
enum class RingOrder : uint8_t { kInARow, kZigzag };

// How many pieces a device has.
constexpr size_t PiecesOf(RingOrder order) { return order == RingOrder::kZigzag ? 2 : 1; }
// The piece that one of so many devices has at a place of its own.
constexpr size_t PieceOfDevice(RingOrder order, size_t devices, size_t device, size_t number) {
  if (order == RingOrder::kInARow) return device;
  return number == 0 ? device : 2 * devices - 1 - device;
}

}  // namespace lanescope
