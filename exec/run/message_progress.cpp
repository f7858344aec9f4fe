// SPDX-License-Identifier: Apache-2.0
#include "exec/run/message_progress.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "exec/messages/peer_connections.h"
#include "exec/run/loaded_schedule.h"

namespace lanescope::exec {
namespace {

// Longer ones go in pieces, which both ends have to look after.
constexpr int64_t kInOnePiece = 4096;

// Every string after its length.
std::vector<char> Flatten(const TensorRef& tensor) {
  std::vector<char> text;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    const std::string& item = tensor.as<std::string>()[i];
    const auto length = static_cast<int64_t>(item.size());
    const auto* begin = reinterpret_cast<const char*>(&length);
    text.insert(text.end(), begin, begin + sizeof length);
    text.insert(text.end(), item.begin(), item.end());
  }
  return text;
}

void Unflatten(const std::vector<char>& text, const TensorRef& tensor) {
  size_t at = 0;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    int64_t length = -1;
    if (text.size() - at >= sizeof length) std::memcpy(&length, text.data() + at, sizeof length);
    at += sizeof length;
    if (length < 0 || at > text.size() || static_cast<uint64_t>(length) > text.size() - at)
      Throw(Code::kDataLoss, "strings that came from another process are cut short");
    tensor.as<std::string>()[i].assign(text.data() + at, static_cast<size_t>(length));
    at += static_cast<size_t>(length);
  }
  if (at != text.size()) Throw(Code::kDataLoss, "strings that came from another process are too long");
}

}  // namespace

MessageProgress::MessageProgress(LoadedSchedule* loaded, std::shared_ptr<const TaskShare> share,
                                 Transport* transport, const Machine* emulated,
                                 const PeerConnections* connections)
    : loaded_(*loaded),
      share_(std::move(share)),
      transport_(*transport),
      connections_(connections),
      turns_(transport),
      transfers_(&turns_) {
  if (emulated != nullptr) flows_.emplace(*emulated);
}

MessageProgress::~MessageProgress() { Abandon(); }

void MessageProgress::Start(CommandId command) {
  const MessageEnd& end = share_->ends[command];
  Message& message = messages_.emplace_back();
  message.command = command;
  message.is_send = end.is_send;
  message.peer = end.peer;
  message.tag = first_tag_ + end.message;
  message.is_signal = loaded_.schedule().commands[command].kind != CommandKind::kCopy;
  message.meeting = end.meeting;
  if (message.meeting >= 0) {
    BeginMeeting(&message);
  } else if (loaded_.MayBegin(command)) {
    Begin(&message);
  }
}

// The commands before its parts have been given to their devices, which is enough.
void MessageProgress::BeginMeeting(Message* message) {
  message->has_begun = true;
  message->start_ns = NowNs();
  message->transfer =
      turns_.Begin(share_->meetings[static_cast<size_t>(message->meeting)].tasks, message->tag);
}

// Their turns are free again; `all`: their step is over.
void MessageProgress::EndJointLaunches(bool all) {
  std::erase_if(joint_launches_, [&](const auto& launch) {
    if (!all && !loaded_.IsJointThrough(launch.second)) return false;
    turns_.End(launch.first);
    return true;
  });
}

void MessageProgress::Begin(Message* message) {
  message->has_begun = true;
  message->start_ns = NowNs();
  if (!message->is_signal) FindMemory(message);
  if (message->is_paced) ExchangeReady(message);
  message->has_header ? SendOrReceiveHeader(message) : SendOrReceiveContent(message);
}

void MessageProgress::FindMemory(Message* message) {
  const Command& command = loaded_.schedule().commands[message->command];
  const MessageMemory memory = loaded_.MemoryOfMessage(message->command, message->is_send);
  if (connections_ != nullptr)
    message->channel = connections_->Between(loaded_.schedule().CopySource(command),
                                             loaded_.schedule().CopyDestination(command));
  message->has_header = memory.is_dynamic || memory.tensor.dtype == DataType::kString;
  message->is_paced = flows_.has_value() && memory.route != nullptr && message->channel == nullptr;
  message->is_small = message->is_paced && !message->has_header && memory.bytes <= kInOnePiece;
  if (message->is_paced) message->route = *memory.route;
  message->data = static_cast<char*>(memory.tensor.data);
  message->bytes = memory.bytes;
  if (message->is_send) MakeContent(message);
}

// Makes header and bytes of a message that is sent.
void MessageProgress::MakeContent(Message* message) {
  const TensorRef tensor = loaded_.MemoryOfMessage(message->command, true).tensor;
  if (tensor.dtype == DataType::kString) {
    message->text = Flatten(tensor);
    message->data = message->text.data();
    message->bytes = static_cast<int64_t>(message->text.size());
  }
  if (!message->has_header) return;
  const auto dims = tensor.shape.dims();
  LANESCOPE_CHECK(std::size(dims) <= std::size(message->header.dims));
  message->header.bytes = message->bytes;
  message->header.rank = static_cast<int32_t>(std::size(dims));
  std::copy(dims.begin(), dims.end(), message->header.dims);
}

// The second to come wakes the first: a sender by its next message, a receiver here.
void MessageProgress::ExchangeReady(Message* message) {
  transport_.Post(message->peer, message->tag, &message->start_ns, sizeof message->start_ns);
  message->ready = transport_.ReceivePosted(message->peer, message->tag, &message->other_start_ns,
                                            sizeof message->other_start_ns);
  if (message->is_send || !transport_.Test(message->ready)) return;
  message->ready = 0;
  transport_.Nudge(message->peer);
}

void MessageProgress::SendOrReceive(Message* message, void* data, int64_t bytes) {
  message->tickets.push_back(message->is_send ? transport_.Send(message->peer, message->tag, data, bytes)
                                              : transport_.Receive(message->peer, message->tag, data, bytes));
}

void MessageProgress::SendOrReceiveHeader(Message* message) {
  message->is_in_header = true;
  SendOrReceive(message, &message->header, sizeof message->header);
}

void MessageProgress::SendOrReceiveContent(Message* message) {
  message->is_in_header = false;
  if (message->channel != nullptr && message->bytes > 0) {
    message->transfer = transfers_.Begin(message->channel, message->is_send, transport_.rank(), message->peer,
                                         message->tag, message->data, message->bytes);
  } else if (message->is_small && message->is_send) {
    transport_.Post(message->peer, message->tag, message->data, message->bytes);
    transport_.Nudge(message->peer);
  } else if (message->is_small) {
    message->tickets.push_back(
        transport_.ReceivePosted(message->peer, message->tag, message->data, message->bytes));
  } else {
    const int64_t most = transport_.most_bytes();
    int64_t at = 0;
    do {
      const int64_t bytes = std::min(most, message->bytes - at);
      SendOrReceive(message, message->data + at, bytes);
      at += bytes;
    } while (at < message->bytes);
  }
  if (message->TellsThrough() && !message->is_send)
    message->through = transport_.ReceivePosted(message->peer, message->tag, nullptr, 0);
}

// All tickets of all messages.
void MessageProgress::TestTickets() {
  open_.clear();
  done_.clear();
  for (const Message& message : messages_) {
    open_.insert(open_.end(), message.tickets.begin(), message.tickets.end());
    for (const Transport::Ticket ticket : {message.ready, message.through}) {
      if (ticket != 0) open_.push_back(ticket);
    }
  }
  transport_.TestSome(open_, &done_);
  if (done_.empty()) return;
  const auto is_done = [this](Transport::Ticket ticket) {
    return std::ranges::find(done_, ticket) != done_.end();
  };
  for (Message& message : messages_) {
    std::erase_if(message.tickets, is_done);
    if (is_done(message.ready)) message.ready = 0;
    if (is_done(message.through)) message.through = 0;
  }
}

void MessageProgress::TestTransfers() {
  through_.clear();
  EndJointLaunches(false);
  turns_.Poll();
  transfers_.Poll(&through_);
  for (Message& message : messages_) {
    if (std::ranges::find(through_, message.transfer) != through_.end()) message.transfer = 0;
  }
}

// Nobody has checked the header yet.
void MessageProgress::TakeHeader(Message* message) {
  const Header& header = message->header;
  if (header.rank < 0 || header.rank > static_cast<int32_t>(std::size(header.dims)) || header.bytes < 0)
    Throw(Code::kDataLoss, "a tensor came from {} with a broken header", transport_.NameOf(message->peer));
  const Shape shape(std::vector<Dim>(header.dims, header.dims + header.rank));
  const MessageMemory memory = loaded_.ShapeMessage(message->command, shape);
  if (memory.tensor.dtype == DataType::kString) {
    message->text.resize(static_cast<size_t>(header.bytes));
    message->data = message->text.data();
  } else if (memory.bytes != header.bytes) {
    Throw(Code::kDataLoss, "{} bytes of {} came from {}, {} were expected", header.bytes, shape.ToString(),
          transport_.NameOf(message->peer), memory.bytes);
  }
  message->bytes = header.bytes;
}

void MessageProgress::TakeContent(Message* message) {
  const MessageMemory memory = loaded_.MemoryOfMessage(message->command, false);
  if (memory.tensor.dtype == DataType::kString) Unflatten(message->text, memory.tensor);
}

// Both ends are ready, and have been since the later of them was. (Clocks of other computers tell nothing.)
void MessageProgress::BeginFlow(Message* message) {
  const int64_t now = NowNs();
  const int64_t since =
      transport_.IsOneComputer() ? std::clamp(message->other_start_ns, message->start_ns, now) : now;
  message->flow = flows_->Begin(message->route, since + message->route.latency_ns, message->bytes);
}

// Whether its bytes would be through, where its link is emulated.
bool MessageProgress::IsThrough(Message* message) {
  if (!message->is_paced || message->is_through) return true;
  if (message->flow < 0) {
    if (message->ready != 0) return false;
    BeginFlow(message);
  }
  const int64_t end = flows_->EndNs(message->flow);
  if (end > NowNs()) return false;
  flows_->MoveTo(end);  // no further: another may have begun since, and be seen later
  flows_->Forget(std::exchange(message->flow, -1));
  message->is_through = true;
  return true;
}

// False: it waits. Whether the whole message is done, otherwise.
bool MessageProgress::Advance(Message* message) {
  if (!message->has_begun) {
    if (loaded_.MayBegin(message->command)) Begin(message);
    return false;
  }
  if (message->meeting >= 0) {
    if (!turns_.IsGranted(message->transfer)) return false;
    const Meeting& meeting = share_->meetings[static_cast<size_t>(message->meeting)];
    joint_launches_.emplace_back(message->transfer, meeting.parts[0]);
    return true;
  }
  if (message->is_in_header) {
    if (!message->tickets.empty()) return false;
    if (!message->is_send) TakeHeader(message);
    SendOrReceiveContent(message);
  }
  const bool is_there = message->tickets.empty() && message->through == 0 && message->transfer == 0;
  if (!IsThrough(message) || !is_there) return false;
  if (!message->is_send && !message->is_signal) TakeContent(message);
  if (message->is_send && message->TellsThrough()) {
    transport_.Post(message->peer, message->tag, nullptr, 0);
    transport_.Nudge(message->peer);
  }
  return true;
}

void MessageProgress::Poll(std::vector<Done>* done) {
  TestTickets();
  TestTransfers();
  for (auto message = messages_.begin(); message != messages_.end();) {
    if (!Advance(&*message)) {
      ++message;
      continue;
    }
    done->push_back({message->command, message->start_ns, NowNs(), message->bytes});
    message = messages_.erase(message);
  }
}

int64_t MessageProgress::DueNs() {
  // Where the library cannot copy from process to process (many containers) both ends move the pieces; with
  // 200 us between two looks a step of DeepCoNN's towers took 68 ms instead of 47.
  constexpr int64_t kBetweenPiecesNs = 50'000;
  constexpr int64_t kBetweenLooksNs = 20'000;  // at what a device does
  const bool at_work = transfers_.IsAtWork() || !joint_launches_.empty();
  int64_t due = at_work ? NowNs() + kBetweenLooksNs : INT64_MAX;
  for (const Message& message : messages_) {
    if (!message.has_begun) due = std::min(due, NowNs() + kBetweenLooksNs);
    // A sender that waits to be told that its message is through is told then.
    if (message.flow >= 0 && message.through == 0) due = std::min(due, flows_->EndNs(message.flow));
    if (!message.is_in_header && message.ready == 0 && !message.tickets.empty() &&
        message.bytes > kInOnePiece)
      due = std::min(due, NowNs() + kBetweenPiecesNs);
  }
  return due;
}

std::vector<CommandId> MessageProgress::Abandon() {
  std::vector<CommandId> abandoned;
  for (Message& message : messages_) {
    for (const Transport::Ticket ticket : message.tickets) transport_.Cancel(ticket);
    if (message.ready != 0) transport_.Cancel(message.ready);
    if (message.through != 0) transport_.Cancel(message.through);
    if (message.flow >= 0) flows_->Forget(message.flow);
    abandoned.push_back(message.command);
  }
  transfers_.Abandon();
  joint_launches_.clear();
  turns_.Abandon();
  messages_.clear();
  return abandoned;
}

std::string MessageProgress::Oldest() const {
  if (messages_.empty()) return "";
  const Message& oldest = messages_.front();
  return loaded_.DescribeMessage(oldest.command) + (oldest.is_send ? " to " : " from ") +
         transport_.NameOf(oldest.peer);
}

}  // namespace lanescope::exec
