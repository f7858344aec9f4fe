// SPDX-License-Identifier: Apache-2.0
#include "study/job/job_activities.h"

#include <cstring>
#include <set>
#include <type_traits>
#include <utility>

#include "core/base/error.h"
#include "profiler/batch_codec.h"

namespace lanescope::study {
namespace {

constexpr uint32_t kPids = 1u << 24;  // that a trace tells apart

// 0 stands for a time that is not known.
void Shift(int64_t ahead_ns, int64_t* time) {
  if (*time > 0) *time -= ahead_ns;
}

template <typename Row>
void TranslateRow(const TaskShare& share, int64_t ahead_ns, Row* row) {
  const auto gpu = [&](uint32_t* number) {
    if (*number != traces::kNoId) *number = traces::GpuOfTask(share.task, *number);
  };
  if constexpr (requires { row->start; }) Shift(ahead_ns, &row->start);
  if constexpr (requires { row->end; }) Shift(ahead_ns, &row->end);
  if constexpr (requires { row->time; }) Shift(ahead_ns, &row->time);
  if constexpr (requires { row->device; }) gpu(&row->device);
  if constexpr (requires { row->src_device; }) gpu(&row->src_device);
  if constexpr (requires { row->dst_device; }) gpu(&row->dst_device);
  if constexpr (std::is_same_v<Row, traces::GpuRow>) gpu(&row->id);
  if constexpr (requires { row->tag; }) {
    const CommandId own(traces::TagCommand(row->tag));
    if (!share.whole.Contains(own) || !share.whole[own].exists()) return;
    row->tag = traces::MakeActivityTag(traces::TagSchedule(row->tag), traces::TagStep(row->tag),
                                       static_cast<uint32_t>(share.whole[own].number()));
  }
}

void AppendText(std::string_view text, std::string* bytes) {
  const auto length = static_cast<uint64_t>(text.size());
  bytes->append(reinterpret_cast<const char*>(&length), sizeof length);
  bytes->append(text);
}

// False at the end.
bool TakeText(std::string_view* bytes, std::string_view* text) {
  uint64_t length = 0;
  if (bytes->empty()) return false;
  if (bytes->size() < sizeof length) Throw(Code::kInternal, "activities of another process are cut short");
  std::memcpy(&length, bytes->data(), sizeof length);
  bytes->remove_prefix(sizeof length);
  if (length > bytes->size()) Throw(Code::kInternal, "activities of another process are cut short");
  *text = bytes->substr(0, length);
  bytes->remove_prefix(length);
  return true;
}

}  // namespace

void TranslateForFirst(const TaskShare& share, int64_t ahead_ns, traces::ActivityBatch* batch) {
  traces::ForEachTable(*batch, [&](auto& table) {
    for (auto& row : table) TranslateRow(share, ahead_ns, &row);
  });
}

std::string BytesOfBatches(uint32_t pid, const std::vector<traces::ActivityBatch>& batches) {
  std::string bytes(reinterpret_cast<const char*>(&pid), sizeof pid);
  for (const traces::ActivityBatch& batch : batches) AppendText(profiler::EncodeBatch(batch), &bytes);
  return bytes;
}

std::vector<traces::ActivityBatch> BatchesOfRanks(const std::vector<std::string>& bytes) {
  std::vector<traces::ActivityBatch> batches;
  std::set<uint32_t> pids;
  for (const std::string& of_rank : bytes) {
    uint32_t pid = 0;
    if (of_rank.size() < sizeof pid) Throw(Code::kInternal, "a process says not which one it is");
    std::memcpy(&pid, of_rank.data(), sizeof pid);
    while (!pids.insert(pid % kPids).second) ++pid;
    std::string_view left = std::string_view(of_rank).substr(sizeof pid);
    for (std::string_view text; TakeText(&left, &text);) {
      traces::ActivityBatch& batch = batches.emplace_back();
      if (!profiler::DecodeBatch(text, &batch))
        Throw(Code::kInternal, "activities of another process are none");
      batch.pid = pid % kPids;
    }
  }
  return batches;
}

}  // namespace lanescope::study
