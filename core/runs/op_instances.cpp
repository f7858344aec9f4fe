// SPDX-License-Identifier: Apache-2.0
#include "core/runs/op_instances.h"

#include <cmath>

namespace lanescope {

bool NumberColumn::Fits(double value) {
  return value >= -1 && value <= static_cast<double>(UINT32_MAX - 2) && value == std::floor(value);
}

// Takes the narrowest form that holds the value too.
void NumberColumn::MakeRoomFor(double value) {
  const bool fits = Fits(value);
  if (form_ == Form::kAny || (form_ == Form::kSmall && fits)) return;
  if (form_ == Form::kSame) {
    if (size_ == 0) same_ = value;
    if (value == same_) return;
    if (fits && Fits(same_)) {
      small_.assign(size_, static_cast<uint32_t>(same_ + 1));
      form_ = Form::kSmall;
      return;
    }
    any_.assign(size_, same_);
  } else {
    for (const uint32_t cell : small_) any_.push_back(Decoded(cell));
    small_ = {};
  }
  form_ = Form::kAny;
}

void NumberColumn::Push(double value) {
  MakeRoomFor(value);
  if (form_ == Form::kSmall) small_.push_back(static_cast<uint32_t>(value + 1));
  if (form_ == Form::kAny) any_.push_back(value);
  ++size_;
}

void NumberColumn::Set(size_t i, double value) {
  MakeRoomFor(value);
  if (form_ == Form::kSmall) small_[i] = static_cast<uint32_t>(value + 1);
  if (form_ == Form::kAny) any_[i] = value;
}

OpInstance OpInstances::operator[](size_t i) const {
  return {static_cast<int64_t>(seen_[i]),
          ns_[i],
          path_ns_[i],
          shared_ns_[i],
          wait_ns_[i],
          static_cast<int>(device_[i]),
          static_cast<int>(signature_[i]),
          static_cast<int>(range_[i])};
}

void OpInstances::Push(const OpInstance& instance) {
  seen_.Push(static_cast<double>(instance.seen));
  ns_.Push(instance.ns);
  path_ns_.Push(instance.path_ns);
  shared_ns_.Push(instance.shared_ns);
  wait_ns_.Push(instance.wait_ns);
  device_.Push(instance.device);
  signature_.Push(instance.signature);
  range_.Push(instance.range);
}

void OpInstances::Set(size_t i, const OpInstance& instance) {
  seen_.Set(i, static_cast<double>(instance.seen));
  ns_.Set(i, instance.ns);
  path_ns_.Set(i, instance.path_ns);
  shared_ns_.Set(i, instance.shared_ns);
  wait_ns_.Set(i, instance.wait_ns);
  device_.Set(i, instance.device);
  signature_.Set(i, instance.signature);
  range_.Set(i, instance.range);
}

}  // namespace lanescope
