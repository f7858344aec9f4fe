// SPDX-License-Identifier: Apache-2.0
// The ways in which an update combines with what a row holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "exec/functors/binary.h"
#include "exec/loops/loops.h"

namespace lanescope::exec {

enum class Combine { kAssign, kAdd, kSub, kMul, kDiv, kMin, kMax };

// Integers: toward zero; the smallest by -1 wraps. Division by zero must have been refused before.
template <typename T>
T Quotient(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == -1) return static_cast<T>(std::make_unsigned_t<T>{0} - static_cast<std::make_unsigned_t<T>>(a));
  }
  return a / b;
}

// Integers wrap around. Where a NaN cannot be compared, extremes keep the old value.
template <typename T>
T Combined(Combine how, T old, T update) {
  switch (how) {
    case Combine::kAssign:
      return update;
    case Combine::kAdd:
      return functors::Add()(old, update);
    case Combine::kSub:
      return functors::Sub()(old, update);
    case Combine::kMul:
      return functors::Mul()(old, update);
    case Combine::kDiv:
      return Quotient(old, update);
    case Combine::kMin:
      return std::min(old, update);
    case Combine::kMax:
      return std::max(old, update);
  }
  return old;
}

template <typename T>
constexpr LoopType LoopTypeOf() {
  switch (DataTypeOf<T>::value) {
    case DataType::kDouble:
      return LoopType::kDouble;
    case DataType::kInt32:
      return LoopType::kInt32;
    case DataType::kInt64:
      return LoopType::kInt64;
    default:
      return LoopType::kFloat;
  }
}

// target[i] = target[i] op update[i * update_step], i < n, by the loops of this processor. Chosen once, used
// for many rows. Copyable.
template <typename T>
class RowUpdate {
 public:
  explicit RowUpdate(Combine how) : how_(how) {
    // The loops of the extremes let a NaN win, which updates of rows do not.
    constexpr BinaryOp kOps[] = {BinaryOp::kCount, BinaryOp::kAdd,   BinaryOp::kSub,  BinaryOp::kMul,
                                 BinaryOp::kDiv,   BinaryOp::kCount, BinaryOp::kCount};
    const BinaryOp op = kOps[static_cast<size_t>(how)];
    if (op != BinaryOp::kCount && !(std::is_integral_v<T> && how == Combine::kDiv)) {
      loop_ = HostLoops().binary[static_cast<size_t>(op)][static_cast<size_t>(LoopTypeOf<T>())];
    }
  }

  // update_step: 0 for one number for the whole row.
  void operator()(int64_t n, T* target, const T* update, int64_t update_step = 1) const {
    if (how_ == Combine::kAssign) {
      if (update_step == 0) {
        std::fill_n(target, n, *update);
      } else {
        std::copy_n(update, n, target);
      }
    } else if (how_ == Combine::kMin) {
      for (int64_t i = 0; i < n; ++i) target[i] = std::min(target[i], update[i * update_step]);
    } else if (how_ == Combine::kMax) {
      for (int64_t i = 0; i < n; ++i) target[i] = std::max(target[i], update[i * update_step]);
    } else if (n < kShortRow || loop_ == nullptr) {
      for (int64_t i = 0; i < n; ++i) target[i] = Combined(how_, target[i], update[i * update_step]);
    } else {
      loop_(1, n, {target, n, 1}, {update, n, update_step}, target);
    }
  }

 private:
  static constexpr int64_t kShortRow = 4;

  Combine how_;
  BinaryLoop loop_ = nullptr;
};

}  // namespace lanescope::exec
