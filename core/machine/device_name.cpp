// SPDX-License-Identifier: Apache-2.0
#include "core/machine/device_name.h"

#include <fmt/core.h>

#include <charconv>

#include "core/base/error.h"

namespace lanescope {
namespace {

bool IsAlpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool ConsumePrefix(std::string_view* text, std::string_view prefix) {
  if (!text->starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

// A letter, then letters, digits and underscores: job names and device types.
bool ConsumeWord(std::string_view* text, std::string* word) {
  if (text->empty() || !IsAlpha(text->front())) return false;
  size_t end = 1;
  while (end < text->size() && (IsAlpha((*text)[end]) || IsDigit((*text)[end]) || (*text)[end] == '_')) ++end;
  *word = text->substr(0, end);
  text->remove_prefix(end);
  return true;
}

bool ConsumeNumber(std::string_view* text, int* number) {
  if (text->empty() || !IsDigit(text->front())) return false;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return true;
}

// '*' leaves a component unset, whatever an earlier occurrence said.
bool ConsumeWordOrStar(std::string_view* text, bool* has, std::string* word) {
  word->clear();
  *has = !ConsumePrefix(text, "*");
  return !*has || ConsumeWord(text, word);
}

bool ConsumeNumberOrStar(std::string_view* text, bool* has, int* number) {
  *number = 0;
  *has = !ConsumePrefix(text, "*");
  return !*has || ConsumeNumber(text, number);
}

bool ConsumeDevicePart(std::string_view* text, DeviceName* name) {
  if (!ConsumeWordOrStar(text, &name->has_type, &name->type)) return false;
  if (ConsumePrefix(text, ":")) return ConsumeNumberOrStar(text, &name->has_id, &name->id);
  name->has_id = false;
  name->id = 0;
  return true;
}

bool ConsumeLegacyPart(std::string_view* text, std::string_view type, DeviceName* name) {
  name->has_type = true;
  name->type = type;
  return ConsumeNumberOrStar(text, &name->has_id, &name->id);
}

bool ConsumeComponent(std::string_view* text, DeviceName* name) {
  if (ConsumePrefix(text, "/job:")) return ConsumeWordOrStar(text, &name->has_job, &name->job);
  if (ConsumePrefix(text, "/replica:")) return ConsumeNumberOrStar(text, &name->has_replica, &name->replica);
  if (ConsumePrefix(text, "/task:")) return ConsumeNumberOrStar(text, &name->has_task, &name->task);
  if (ConsumePrefix(text, "/device:")) return ConsumeDevicePart(text, name);
  if (ConsumePrefix(text, "/cpu:") || ConsumePrefix(text, "/CPU:")) {
    return ConsumeLegacyPart(text, "CPU", name);
  }
  if (ConsumePrefix(text, "/gpu:") || ConsumePrefix(text, "/GPU:")) {
    return ConsumeLegacyPart(text, "GPU", name);
  }
  return false;
}

// True when `less` sets nothing that `more` lacks or contradicts.
bool IsSubset(const DeviceName& less, const DeviceName& more) {
  return (!less.has_job || (more.has_job && less.job == more.job)) &&
         (!less.has_replica || (more.has_replica && less.replica == more.replica)) &&
         (!less.has_task || (more.has_task && less.task == more.task)) &&
         (!less.has_type || (more.has_type && less.type == more.type)) &&
         (!less.has_id || (more.has_id && less.id == more.id));
}

enum class OnConflict { kFail, kDrop, kTakeOther };

[[noreturn]] void ThrowIncompatible(std::string_view what, const DeviceName& a, const DeviceName& b) {
  Throw(Code::kInvalidArgument, "Cannot merge devices with incompatible {}: '{}' and '{}'", what,
        a.ToString(), b.ToString());
}

void DropId(DeviceName* name) {
  name->has_id = false;
  name->id = 0;
}

void MergeTaskPart(DeviceName* target, const DeviceName& other) {
  if (other.has_job) {
    if (target->has_job && target->job != other.job) ThrowIncompatible("jobs", *target, other);
    target->has_job = true;
    target->job = other.job;
  }
  if (other.has_replica) {
    if (target->has_replica && target->replica != other.replica)
      ThrowIncompatible("replicas", *target, other);
    target->has_replica = true;
    target->replica = other.replica;
  }
  if (other.has_task) {
    if (target->has_task && target->task != other.task) ThrowIncompatible("tasks", *target, other);
    target->has_task = true;
    target->task = other.task;
  }
}

void Merge(DeviceName* target, const DeviceName& other, OnConflict on_conflict) {
  DeviceName merged = *target;  // untouched target on failure
  MergeTaskPart(&merged, other);
  if (other.has_type) {
    if (merged.has_type && merged.type != other.type && on_conflict != OnConflict::kTakeOther) {
      if (on_conflict == OnConflict::kFail) ThrowIncompatible("types", *target, other);
      merged.has_type = false;
      merged.type.clear();
      DropId(&merged);
      *target = std::move(merged);
      return;
    }
    merged.has_type = true;
    merged.type = other.type;
  }
  if (other.has_id) {
    const bool conflict = merged.has_id && merged.id != other.id;
    if (conflict && on_conflict == OnConflict::kFail) ThrowIncompatible("ids", *target, other);
    if (conflict && on_conflict == OnConflict::kDrop) {
      DropId(&merged);
    } else {
      merged.has_id = true;
      merged.id = other.id;
    }
  }
  *target = std::move(merged);
}

}  // namespace

std::string DeviceName::ToString() const {
  std::string text;
  if (has_job) text += "/job:" + job;
  if (has_replica) text += fmt::format("/replica:{}", replica);
  if (has_task) text += fmt::format("/task:{}", task);
  if (has_type) text += "/device:" + type + ":" + (has_id ? std::to_string(id) : "*");
  return text;
}

// The device's own name, which names its task only if that is another than this computer's.
std::string DeviceName::LocalName() const {
  const std::string local = type + ":" + std::to_string(id);
  DeviceName of_task = *this;
  of_task.has_type = of_task.has_id = false;
  if (!has_job || of_task.ToString() == kLocalTask) return local;
  of_task.has_replica = replica != 0;
  return of_task.ToString() + "/" + local;
}

bool ParseDeviceName(std::string_view text, DeviceName* name) {
  *name = DeviceName();
  if (text == "/") return true;
  while (!text.empty()) {
    if (!ConsumeComponent(&text, name)) return false;
  }
  return true;
}

bool ParseLocalDeviceName(std::string_view text, DeviceName* name) {
  *name = DeviceName();
  ConsumePrefix(&text, "/device:");
  if (!ConsumeWord(&text, &name->type) || !ConsumePrefix(&text, ":") || !ConsumeNumber(&text, &name->id)) {
    return false;
  }
  name->has_type = name->has_id = true;
  return text.empty();
}

bool Matches(const DeviceName& pattern, const DeviceName& device) { return IsSubset(pattern, device); }

bool IsSameAddressSpace(const DeviceName& a, const DeviceName& b) {
  return a.has_job && b.has_job && a.job == b.job && a.has_replica && b.has_replica &&
         a.replica == b.replica && a.has_task && b.has_task && a.task == b.task;
}

bool SplitDeviceName(std::string_view name, std::string* task, std::string* device) {
  DeviceName parsed;
  if (!ParseDeviceName(name, &parsed) || !parsed.has_type || !parsed.has_id) return false;
  *device = parsed.type + ":" + std::to_string(parsed.id);
  parsed.has_type = parsed.has_id = false;
  *task = parsed.ToString();
  return true;
}

void MergeDeviceNames(DeviceName* target, const DeviceName& other, bool soft) {
  Merge(target, other, soft ? OnConflict::kDrop : OnConflict::kFail);
}

void MergeOverrideDeviceNames(DeviceName* target, const DeviceName& other) {
  Merge(target, other, OnConflict::kTakeOther);
}

}  // namespace lanescope
