// SPDX-License-Identifier: Apache-2.0
#include "exec/calls/mailbox.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "exec/messages/message_tags.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kMostLetterBytes = int64_t{1} << 30;

}  // namespace

Mailbox::Mailbox(Transport* transport, std::vector<int> peers) : transport_(*transport) {
  for (const int peer : peers) {
    incoming_.emplace_back().from = peer;
    AwaitLength(&incoming_.back());
  }
}

Mailbox::~Mailbox() {
  const std::lock_guard lock(mutex_);
  for (const Incoming& incoming : incoming_) transport_.Cancel(incoming.ticket);
  for (const Outgoing& outgoing : outgoing_) {
    transport_.Cancel(outgoing.length_ticket);
    transport_.Cancel(outgoing.text_ticket);
  }
}

void Mailbox::Send(int to, std::string text) {
  const auto length = static_cast<int64_t>(text.size());
  if (length > kMostLetterBytes) {
    Throw(Code::kResourceExhausted, "{} bytes for {} are more than one letter may have (1 GiB)", length,
          transport_.NameOf(to));
  }
  const std::lock_guard lock(mutex_);
  DropSent();
  Outgoing& outgoing = outgoing_.emplace_back();
  outgoing.to = to;
  outgoing.length = length;
  outgoing.text = std::move(text);
  outgoing.length_ticket = transport_.Send(to, kLetterTag, &outgoing.length, sizeof outgoing.length);
  outgoing.text_ticket = transport_.Send(to, kLetterTag, outgoing.text.data(), length);
}

void Mailbox::DropSent() {
  std::erase_if(outgoing_, [this](Outgoing& outgoing) {
    const bool length_sent = transport_.Test(outgoing.length_ticket);
    return transport_.Test(outgoing.text_ticket) && length_sent;
  });
}

void Mailbox::AwaitLength(Incoming* incoming) {
  incoming->has_length = false;
  incoming->ticket =
      transport_.Receive(incoming->from, kLetterTag, &incoming->length, sizeof incoming->length);
}

// Whether a whole letter is there.
bool Mailbox::Advance(Incoming* incoming) {
  if (!transport_.Test(incoming->ticket)) return false;
  if (incoming->has_length) return true;
  if (incoming->length < 0 || incoming->length > kMostLetterBytes) {
    Throw(Code::kDataLoss, "a letter of {} has {} bytes; do all processes run the same program?",
          transport_.NameOf(incoming->from), incoming->length);
  }
  incoming->has_length = true;
  incoming->text.resize(static_cast<size_t>(incoming->length));
  incoming->ticket = transport_.Receive(incoming->from, kLetterTag, incoming->text.data(), incoming->length);
  return transport_.Test(incoming->ticket);
}

std::optional<Mailbox::Letter> Mailbox::Poll() {
  const std::lock_guard lock(mutex_);
  DropSent();
  for (auto incoming = incoming_.begin(); incoming != incoming_.end(); ++incoming) {
    if (!Advance(&*incoming)) continue;
    Letter letter{incoming->from, std::move(incoming->text)};
    incoming->text.clear();
    AwaitLength(&*incoming);
    incoming_.splice(incoming_.end(), incoming_, incoming);  // the others' turn
    return letter;
  }
  return std::nullopt;
}

void Mailbox::Forget(int peer) {
  const std::lock_guard lock(mutex_);
  std::erase_if(incoming_, [&](const Incoming& incoming) {
    if (incoming.from != peer) return false;
    transport_.Cancel(incoming.ticket);
    return true;
  });
  std::erase_if(outgoing_, [&](const Outgoing& outgoing) {
    if (outgoing.to != peer) return false;
    transport_.Cancel(outgoing.length_ticket);
    transport_.Cancel(outgoing.text_ticket);
    return true;
  });
}

bool Mailbox::AllSent() {
  const std::lock_guard lock(mutex_);
  DropSent();
  return outgoing_.empty();
}

}  // namespace lanescope::exec
