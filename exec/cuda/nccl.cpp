// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/nccl.h"

#include <algorithm>

#include "core/machine/machine.h"
#include "core/schedule/schedule.h"
#include "exec/cuda/nccl_group.h"

namespace lanescope::exec::cuda {
namespace {

std::vector<int> OrdinalsOf(std::span<StreamDevice* const> devices) {
  std::vector<int> ordinals;
  for (const StreamDevice* device : devices) ordinals.push_back(device->ordinal());
  return ordinals;
}

// NCCL's numbers.
int TypeOf(DataType dtype) {
  switch (dtype) {
    case DataType::kInt64:
      return kNcclInt64;
    case DataType::kHalf:
      return kNcclHalf;
    case DataType::kBfloat16:
      return kNcclBfloat16;
    case DataType::kFloat:
      return kNcclFloat;
    case DataType::kDouble:
      return kNcclDouble;
    default:
      Throw(Code::kUnimplemented, "no collective of {} by NCCL; --all-reduce ring does it",
            DataTypeName(dtype));
  }
}

int OperationOf(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return kNcclSum;
    case Reduction::kProd:
      return kNcclProd;
    case Reduction::kMin:
      return kNcclMin;
    case Reduction::kMax:
      return kNcclMax;
    case Reduction::kMean:
      break;
  }
  return kNcclAvg;
}

}  // namespace

const char* NcclCallOf(CollectiveKind kind) {
  if (kind == CollectiveKind::kAllGather) return "ncclAllGather";
  return kind == CollectiveKind::kReduceScatter ? "ncclReduceScatter" : "ncclAllReduce";
}

int IssueNccl(const NcclLibrary& library, const JointOperation& operation, int64_t elements,
              const JointPart& part, NcclComm comm) {
  const int type = TypeOf(operation.dtype), reduction = OperationOf(operation.reduction);
  const auto count = static_cast<size_t>(elements);
  part.device->MakeCurrent();
  void* const stream = part.device->stream(QueueKind::kCompute);
  if (operation.kind == CollectiveKind::kAllGather)
    return library.all_gather(part.input, part.output, count, type, comm, stream);
  const auto reduce =
      operation.kind == CollectiveKind::kReduceScatter ? library.reduce_scatter : library.all_reduce;
  return reduce(part.input, part.output, count, type, reduction, comm, stream);
}

Nccl::~Nccl() {
  for (const auto& [ordinals, group] : groups_) {
    for (const NcclComm comm : group) library_->comm_destroy(comm);
  }
}

const Nccl::Group& Nccl::GroupLocked(const std::vector<int>& ordinals) {
  const auto found = groups_.find(ordinals);
  if (found != groups_.end()) return found->second;
  if (library_ == nullptr) {
    std::string reason;
    library_ = LoadNccl(&reason);
    if (library_ == nullptr)
      Throw(Code::kFailedPrecondition, "{}; --all-reduce ring does without it", reason);
  }
  auto sorted = ordinals;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    Throw(Code::kFailedPrecondition,
          "two devices of a collective are parts of one GPU, which NCCL does not join; --all-reduce ring "
          "does");
  }
  Group group(ordinals.size(), nullptr);
  const int result = library_->comm_init_all(group.data(), static_cast<int>(group.size()), ordinals.data());
  if (result != kNcclSuccess) throw library_->ErrorOf("ncclCommInitAll", result, nullptr);
  return groups_.emplace(ordinals, std::move(group)).first->second;
}

void Nccl::Prepare(std::span<StreamDevice* const> devices) {
  const std::lock_guard<std::mutex> lock(mutex_);
  GroupLocked(OrdinalsOf(devices));
}

// One thread launches for all GPUs, so it says first that several calls are one.
void Nccl::Launch(const JointOperation& operation, int64_t elements, std::span<const JointPart> parts) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<int> ordinals;
  for (const JointPart& part : parts) ordinals.push_back(part.device->ordinal());
  const Group& group = GroupLocked(ordinals);
  const char* call = "ncclGroupStart";
  int result = library_->group_start();
  NcclComm failed = nullptr;
  for (size_t rank = 0; result == kNcclSuccess && rank < parts.size(); ++rank) {
    call = NcclCallOf(operation.kind);
    failed = group[rank];
    result = IssueNccl(*library_, operation, elements, parts[rank], group[rank]);
  }
  // The group ends whatever happened in it.
  const bool started = std::string_view(call) != "ncclGroupStart";
  const int ended = started ? library_->group_end() : kNcclSuccess;
  if (result == kNcclSuccess && ended != kNcclSuccess) {
    call = "ncclGroupEnd";
    result = ended;
    failed = group[0];
  }
  if (result == kNcclSuccess) return;
  const Error error = library_->ErrorOf(call, result, failed);
  AbortLocked(ordinals);
  throw error;
}

std::optional<Error> Nccl::Problem(std::span<StreamDevice* const> devices) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = groups_.find(OrdinalsOf(devices));
  if (found == groups_.end()) return std::nullopt;
  for (const NcclComm comm : found->second) {
    int result = kNcclSuccess;
    const int asked = library_->comm_get_async_error(comm, &result);
    if (asked != kNcclSuccess) return library_->ErrorOf("ncclCommGetAsyncError", asked, comm);
    if (result != kNcclSuccess && result != kNcclInProgress)
      return library_->ErrorOf("a collective", result, comm);
  }
  return std::nullopt;
}

void Nccl::Abort(std::span<StreamDevice* const> devices) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  AbortLocked(OrdinalsOf(devices));
}

void Nccl::AbortLocked(const std::vector<int>& ordinals) noexcept {
  const auto found = groups_.find(ordinals);
  if (found == groups_.end()) return;
  for (const NcclComm comm : found->second) library_->comm_abort(comm);
  groups_.erase(found);
}

std::unique_ptr<JointGroup> Nccl::Join(const std::string& connection, const JointMembers& members) {
  return std::make_unique<NcclGroup>(LibraryForProcesses(), UniqueIdOf(connection), members);
}

}  // namespace lanescope::exec::cuda
