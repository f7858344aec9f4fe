// SPDX-License-Identifier: Apache-2.0
// Reader ops on host memory.
#include <mutex>
#include <utility>
#include <vector>

#include "exec/kernels/op_kernel.h"
#include "exec/kernels/queue_attempt.h"
#include "exec/kernels/queue_handle.h"
#include "exec/kernels/queue_kernels.h"
#include "exec/kernels/shared_reader.h"
#include "exec/resources/resource_manager.h"
#include "exec/resources/resource_name.h"

namespace lanescope::exec {
namespace {

std::unique_ptr<RecordFormat> FormatOf(const Node& node) {
  if (node.op.starts_with("TextLineReader")) return TextLines(node.IntAttr("skip_header_lines", 0));
  if (node.op.starts_with("FixedLengthRecordReader")) {
    return FixedLengthRecords({.header_bytes = node.IntAttr("header_bytes", 0),
                               .record_bytes = node.IntAttr("record_bytes"),
                               .footer_bytes = node.IntAttr("footer_bytes", 0),
                               .hop_bytes = node.IntAttr("hop_bytes", 0),
                               .compression = ParseCompression(node.StringAttr("encoding", ""))});
  }
  if (node.op.starts_with("TFRecordReader")) {
    return TfRecords(ParseCompression(node.StringAttr("compression_type", "")));
  }
  if (node.op.starts_with("WholeFileReader")) return WholeFiles();
  if (node.op.starts_with("IdentityReader")) return Identity();
  Throw(Code::kInvalidArgument, "'{}' ({}) is no reader", node.name, node.op);
}

// A session's hold on a reader.
class ReaderHandle final : public Resource {
 public:
  explicit ReaderHandle(std::shared_ptr<SharedReader> reader) : reader_(std::move(reader)) {}
  const std::shared_ptr<SharedReader>& reader() const { return reader_; }

 private:
  const std::shared_ptr<SharedReader> reader_;
};

std::shared_ptr<SharedReader> ReaderOf(KernelContext& context) {
  Resource& resource = context.FindOrCreateResource(0, [&]() -> std::unique_ptr<Resource> {
    const Node& node = context.handle_node(0);
    const ResourceName name = NameResource({.container = node.StringAttr("container", ""),
                                            .shared_name = node.StringAttr("shared_name", ""),
                                            .node_name = node.name,
                                            .use_node_name_as_default = true});
    return std::make_unique<ReaderHandle>(context.resources().LookupOrCreate<SharedReader>(
        name.container, name.name, [&] { return std::make_shared<SharedReader>(FormatOf(node)); }));
  });
  auto* handle = dynamic_cast<ReaderHandle*>(&resource);
  if (handle == nullptr) {
    const Node& node = context.handle_node(0);
    Throw(Code::kInvalidArgument, "'{}' ({}) is no reader", node.name, node.op);
  }
  return handle->reader();
}

// A kernel that waits for its turn at a reader.
class TurnKernel : public WaitingKernel {
 public:
  bool Advance(KernelContext& context, const std::function<void()>& resume) final {
    if (phase() == Phase::kIdle && !BeginTurn(context, resume)) return false;
    if (phase() == Phase::kCancelled) {
      SetPhase(Phase::kIdle);
      Throw(Code::kCancelled, "Dequeue operation was cancelled");
    }
    try {
      if (!Go(context, reader_.get(), resume)) return false;
    } catch (...) {
      EndTurn();
      throw;
    }
    EndTurn();
    return true;
  }

  void Cancel() override {
    std::shared_ptr<SharedReader> reader;
    SharedReader::Ticket ticket = 0;
    {
      const std::lock_guard lock(mutex_);
      if (phase_ != Phase::kWaits) return;
      reader = reader_;
      ticket = ticket_;
    }
    if (ticket == 0 || !reader->Leave(ticket)) return;
    Resume(Phase::kCancelled);
  }
  std::string WaitsFor() const override { return title_; }

 protected:
  virtual void Prepare(KernelContext& context) = 0;
  // As Advance, with the turn.
  virtual bool Go(KernelContext& context, SharedReader* reader, const std::function<void()>& resume) = 0;

  std::string title_;

 private:
  enum class Phase { kIdle, kWaits, kHasTurn, kCancelled };

  bool BeginTurn(KernelContext& context, const std::function<void()>& resume) {
    Prepare(context);
    auto reader = ReaderOf(context);
    {
      const std::lock_guard lock(mutex_);
      reader_ = reader;
      phase_ = Phase::kWaits;
      ticket_ = 0;
      resume_ = resume;
    }
    const SharedReader::Ticket ticket = reader->Take([this] { Resume(Phase::kHasTurn); });
    const std::lock_guard lock(mutex_);
    ticket_ = ticket;
    if (ticket != 0) return false;
    phase_ = Phase::kHasTurn;
    resume_ = nullptr;
    return true;
  }

  void EndTurn() {
    const auto reader = std::move(reader_);
    SetPhase(Phase::kIdle);
    reader->Release();
  }

  void Resume(Phase phase) {
    std::function<void()> resume;
    {
      const std::lock_guard lock(mutex_);
      phase_ = phase;
      resume = std::exchange(resume_, nullptr);
    }
    resume();
  }

  Phase phase() const {
    const std::lock_guard lock(mutex_);
    return phase_;
  }
  void SetPhase(Phase phase) {
    const std::lock_guard lock(mutex_);
    phase_ = phase;
  }

  mutable std::mutex mutex_;
  Phase phase_ = Phase::kIdle;
  std::shared_ptr<SharedReader> reader_;
  SharedReader::Ticket ticket_ = 0;
  std::function<void()> resume_;
};

// Reads of one unit of work, and takes units from the queue.
class ReadKernel : public TurnKernel {
 public:
  explicit ReadKernel(const Node&) {}
  void Cancel() final {
    work_.Cancel();
    TurnKernel::Cancel();
  }
  std::string WaitsFor() const final { return work_.in_progress() ? queue_title_ : title_; }

 protected:
  // Whether there is enough.
  virtual bool Read(KernelContext& context, Reader* reader) = 0;

 private:
  void Prepare(KernelContext& context) final {
    queue_ = QueueOf(context, 1);
    queue_title_ = QueueTitle(context, 1);
    const Node& reader = context.handle_node(0);
    const std::string shared_name = reader.StringAttr("shared_name", "");
    title_ = fmt::format("reader '{}'", shared_name.empty() ? reader.name : shared_name);
    const auto& types = queue_->spec().types;
    if (types.size() != 1 || types[0] != DataType::kString) {
      Throw(Code::kInvalidArgument, "Expected queue with single string component");
    }
  }

  bool Go(KernelContext& context, SharedReader* shared, const std::function<void()>& resume) final {
    Reader& reader = shared->reader();
    do {
      if (!reader.needs_work()) continue;
      if (!work_.in_progress() && !work_.Begin(queue_, resume, [this] { return Dequeue(); })) return false;
      const QueueTuple work = work_.Take();
      if (work[0].NumElements() != 1) {
        Throw(Code::kInvalidArgument, "Expected to dequeue a one-element string tensor, not one of shape {}",
              work[0].shape().ToString());
      }
      reader.StartWork(work[0].data<std::string>()[0]);
    } while (!Read(context, &reader));
    return true;
  }
  TensorQueue::AttemptNumber Dequeue() {
    return queue_->Dequeue(
        [this](const Error* error, QueueTuple tuple) { work_.Finish(error, std::move(tuple)); });
  }

  std::shared_ptr<TensorQueue> queue_;
  std::string queue_title_;
  QueueAttempt work_;
};

class ReadOneKernel final : public ReadKernel {
  using ReadKernel::ReadKernel;
  bool Read(KernelContext& context, Reader* reader) override {
    Record record;
    if (!reader->Next(&record)) return false;
    ShapeOutput(context, 0, Shape{});
    ShapeOutput(context, 1, Shape{});
    *context.output(0).as<std::string>() = std::move(record.key);
    *context.output(1).as<std::string>() = std::move(record.value);
    return true;
  }
};

class ReadUpToKernel final : public ReadKernel {
  using ReadKernel::ReadKernel;
  bool Read(KernelContext& context, Reader* reader) override {
    const auto most = ScalarOf<int64_t>(context.input(2), "num_records");
    if (most <= 0) Throw(Code::kInvalidArgument, "num_records must be positive, not {}", most);
    std::vector<Record> records;
    for (Record record; static_cast<int64_t>(records.size()) < most && reader->Next(&record);) {
      records.push_back(std::move(record));
    }
    if (records.empty()) return false;
    const Shape shape{static_cast<int64_t>(records.size())};
    ShapeOutput(context, 0, shape);
    ShapeOutput(context, 1, shape);
    for (size_t i = 0; i < records.size(); ++i) {
      context.output(0).as<std::string>()[i] = std::move(records[i].key);
      context.output(1).as<std::string>()[i] = std::move(records[i].value);
    }
    return true;
  }
};

class ResetKernel final : public TurnKernel {
 public:
  explicit ResetKernel(const Node& node) { title_ = fmt::format("the reader of '{}'", node.name); }

 private:
  void Prepare(KernelContext&) override {}
  bool Go(KernelContext&, SharedReader* reader, const std::function<void()>&) override {
    reader->reader().Reset();
    return true;
  }
};

void ComputeRecordsProduced(KernelContext& context) {
  ShapeOutput(context, 0, Shape{});
  *context.output().as<int64_t>() = ReaderOf(context)->records_produced();
}

void ComputeUnitsCompleted(KernelContext& context) {
  ShapeOutput(context, 0, Shape{});
  *context.output().as<int64_t>() = ReaderOf(context)->work_units_completed();
}

}  // namespace

void RegisterReaderKernels(KernelRegistry& registry) {
  for (const std::string version : {"", "V2"}) {
    // The first user of the reader makes it.
    for (const char* reader : {"TextLineReader", "FixedLengthRecordReader", "TFRecordReader",
                               "WholeFileReader", "IdentityReader"}) {
      registry.Register(reader + version, MakeFunctionKernel<DoNothing>);
    }
    registry.Register("ReaderRead" + version, MakeKernel<ReadOneKernel>);
    registry.Register("ReaderReadUpTo" + version, MakeKernel<ReadUpToKernel>);
    registry.Register("ReaderReset" + version, MakeKernel<ResetKernel>);
    registry.Register("ReaderNumRecordsProduced" + version, MakeFunctionKernel<ComputeRecordsProduced>);
    registry.Register("ReaderNumWorkUnitsCompleted" + version, MakeFunctionKernel<ComputeUnitsCompleted>);
  }
}

}  // namespace lanescope::exec
