// SPDX-License-Identifier: Apache-2.0
#include "exec/device/memory_pool.h"

#include <algorithm>
#include <iterator>

#include "core/base/error.h"

namespace lanescope::exec {

MemoryPool::MemoryPool(const Options& options, std::function<void*(int64_t)> take,
                       std::function<void(void*)> give)
    : options_(options), take_(std::move(take)), give_(std::move(give)) {}

MemoryPool::~MemoryPool() {
  for (void* region : regions_) give_(region);
}

void* MemoryPool::Allocate(int64_t bytes) {
  LANESCOPE_CHECK(bytes >= 0 && bytes < (int64_t{1} << 56));
  const int64_t rounded = std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  auto fit = free_.lower_bound({rounded, nullptr});
  // The limit holds for what is handed out; what a region has left over may lie above it.
  if (options_.limit > 0 && rounded > options_.limit - in_use_) return nullptr;
  if (fit == free_.end()) {
    Extend(rounded);
    fit = free_.lower_bound({rounded, nullptr});
  }
  return TakeFrom(chunks_.find(fit->second), rounded);
}

void* MemoryPool::TakeFrom(Chunks::iterator chunk, int64_t bytes) {
  free_.erase({chunk->second.bytes, chunk->first});
  const int64_t rest = chunk->second.bytes - bytes;
  // Under a limit nothing is wasted: the plan has promised that it fits.
  const bool split = rest > 0 && (options_.limit > 0 || rest >= bytes || rest >= kAlwaysSplit);
  if (split) {
    chunk->second.bytes = bytes;
    const auto added = chunks_.emplace(chunk->first + bytes, Chunk{rest, true, false}).first;
    free_.insert({rest, added->first});
  }
  chunk->second.free = false;
  in_use_ += chunk->second.bytes;
  return chunk->first;
}

void MemoryPool::Extend(int64_t bytes) {
  const bool everything = !options_.growth && options_.limit > 0 && regions_.empty();
  const int64_t room = options_.limit > 0 ? std::max<int64_t>(0, options_.limit - reserved_) : INT64_MAX;
  int64_t wanted = next_region_;
  while (wanted < bytes) wanted *= 2;
  int64_t size = std::max(bytes, everything ? options_.limit : std::min(wanted, room));
  void* region = nullptr;
  while (region == nullptr) {
    try {
      region = take_(size);
    } catch (const Error&) {
      if (size == bytes) throw;
      size = std::max(bytes, size / 10 * 9 / kAlignment * kAlignment);
    }
  }
  regions_.push_back(region);
  reserved_ += size;
  next_region_ = std::min(wanted == next_region_ ? 2 * wanted : wanted, std::max(next_region_, kAlwaysSplit));
  char* begin = static_cast<char*>(region);
  chunks_.emplace(begin, Chunk{size, true, true});
  free_.insert({size, begin});
}

void MemoryPool::Free(void* memory) {
  const auto chunk = chunks_.find(static_cast<char*>(memory));
  LANESCOPE_CHECK(chunk != chunks_.end() && !chunk->second.free);
  in_use_ -= chunk->second.bytes;
  MarkFree(chunk);
}

void MemoryPool::MarkFree(Chunks::iterator chunk) {
  chunk->second.free = true;
  const auto next = std::next(chunk);
  if (next != chunks_.end() && next->second.free && !next->second.starts_region) {
    free_.erase({next->second.bytes, next->first});
    chunk->second.bytes += next->second.bytes;
    chunks_.erase(next);
  }
  if (!chunk->second.starts_region) {
    const auto previous = std::prev(chunk);
    if (previous->second.free) {
      free_.erase({previous->second.bytes, previous->first});
      previous->second.bytes += chunk->second.bytes;
      chunks_.erase(chunk);
      chunk = previous;
    }
  }
  free_.insert({chunk->second.bytes, chunk->first});
}

}  // namespace lanescope::exec
