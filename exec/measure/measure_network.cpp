// SPDX-License-Identifier: Apache-2.0
#include "exec/measure/measure_network.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/base/clock.h"
#include "exec/messages/message_tags.h"
#include "exec/messages/patient_wait.h"

namespace lanescope::exec {
namespace {

int64_t MedianOf(std::vector<int64_t> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void AwaitAll(Transport* transport, std::vector<Transport::Ticket> tickets) {
  for (PatientWait patience(transport);; patience.Next()) {
    std::erase_if(tickets, [&](Transport::Ticket ticket) { return transport->Test(ticket); });
    if (tickets.empty()) return;
  }
}

// One side of a pair. Both sides make the same calls.
class PairMeasurer {
 public:
  PairMeasurer(Transport* transport, int peer, int64_t max_bytes)
      : transport_(*transport),
        peer_(peer),
        is_first_(transport->rank() < peer),
        out_(static_cast<size_t>(max_bytes), 1),
        in_(out_.size()) {}

  MessageTime Measure(int64_t bytes, int repetitions) {
    ToAndFro(bytes);  // caches, connections
    AtOnce(bytes);
    const int64_t first_ns = ToAndFro(bytes) + AtOnce(bytes);
    const int64_t in_time = kLongestNs / std::max<int64_t>(first_ns, 1);
    repetitions =
        std::clamp(FromFirst(static_cast<int>(std::min<int64_t>(in_time, repetitions))), 3, repetitions);
    std::vector<int64_t> alone, both;
    for (int i = 0; i < repetitions; ++i) {
      alone.push_back(ToAndFro(bytes) / 2);
      both.push_back(AtOnce(bytes));
    }
    return {transport_.rank(), peer_, bytes, MedianOf(alone), MedianOf(both)};
  }
  // A message that takes longer says nothing new of a slow network.
  bool IsLong(const MessageTime& time) { return FromFirst(time.ns > kLongNs ? 1 : 0) != 0; }

 private:
  static constexpr int64_t kLongestNs = 1'000'000'000;  // of one size, if three times are enough
  static constexpr int64_t kLongNs = 250'000'000;

  // The first process' number, in both.
  int FromFirst(int mine) {
    Await(is_first_ ? transport_.Send(peer_, kNetworkTag, &mine, sizeof mine)
                    : transport_.Receive(peer_, kNetworkTag, &mine, sizeof mine));
    return mine;
  }

  int64_t ToAndFro(int64_t bytes) {
    const auto answer = transport_.Receive(peer_, kNetworkTag, in_.data(), bytes);
    if (!is_first_) Await(answer);
    const int64_t begin = NowNs();
    const auto sent = transport_.Send(peer_, kNetworkTag, out_.data(), bytes);
    if (is_first_) Await(answer);
    const int64_t end = NowNs();
    Await(sent);
    return end - begin;
  }

  int64_t AtOnce(int64_t bytes) {
    ToAndFro(0);  // both are here
    const int64_t begin = NowNs();
    const auto received = transport_.Receive(peer_, kNetworkTag, in_.data(), bytes);
    const auto sent = transport_.Send(peer_, kNetworkTag, out_.data(), bytes);
    Await(received);
    Await(sent);
    return NowNs() - begin;
  }

  void Await(Transport::Ticket ticket) { AwaitAll(&transport_, {ticket}); }

  Transport& transport_;
  const int peer_;
  const bool is_first_;
  std::vector<char> out_, in_;
};

static_assert(std::is_trivially_copyable_v<MessageTime>);

// From each of `senders` to each of `receivers`, this process among them, until the last one says that it has
// all.
void SendToAll(Transport* transport, const std::vector<int>& senders, const std::vector<int>& receivers,
               std::vector<char>* memory, int64_t bytes) {
  std::vector<Transport::Ticket> content, ends;
  const auto size = static_cast<size_t>(bytes);
  if (std::ranges::find(senders, transport->rank()) != senders.end()) {
    memory->resize(size);
    for (const int to : receivers) {
      content.push_back(transport->Send(to, kNetworkTag, memory->data(), bytes));
      ends.push_back(transport->Receive(to, kNetworkTag, nullptr, 0));
    }
    content.insert(content.end(), ends.begin(), ends.end());
    return AwaitAll(transport, std::move(content));
  }
  memory->resize(size * senders.size());
  for (size_t i = 0; i < senders.size(); ++i)
    content.push_back(transport->Receive(senders[i], kNetworkTag, memory->data() + i * size, bytes));
  AwaitAll(transport, std::move(content));
  for (const int to : senders) ends.push_back(transport->Send(to, kNetworkTag, nullptr, 0));
  AwaitAll(transport, std::move(ends));
}

}  // namespace

std::vector<MessageTime> MeasureNetwork(Transport* transport, int64_t max_bytes, int repetitions) {
  std::vector<MessageTime> all;
  for (int a = 0; a < transport->size(); ++a) {
    for (int b = a + 1; b < transport->size(); ++b) {
      std::vector<MessageTime> own;
      if (transport->rank() == a || transport->rank() == b) {
        PairMeasurer pair(transport, transport->rank() == a ? b : a, max_bytes);
        own.push_back(pair.Measure(0, repetitions));
        for (int64_t bytes = 1024; bytes <= max_bytes && !pair.IsLong(own.back()); bytes *= 4)
          own.push_back(pair.Measure(bytes, repetitions));
      }
      std::string text(own.size() * sizeof(MessageTime), '\0');
      if (!own.empty()) std::memcpy(text.data(), own.data(), text.size());
      const std::string of_first = transport->Share(text)[static_cast<size_t>(a)];
      const size_t known = all.size();
      all.resize(known + of_first.size() / sizeof(MessageTime));
      if (!of_first.empty()) std::memcpy(all.data() + known, of_first.data(), of_first.size());
    }
  }
  return all;
}

double MeasureInterface(Transport* transport, const std::vector<int>& inside, bool receives, int64_t bytes,
                        int repetitions) {
  std::vector<int> outside;
  for (int rank = 0; rank < transport->size(); ++rank) {
    if (std::ranges::find(inside, rank) == inside.end()) outside.push_back(rank);
  }
  if (inside.empty() || outside.empty()) return 0;
  const std::vector<int>&senders = receives ? outside : inside, &receivers = receives ? inside : outside;
  std::vector<char> memory;
  std::vector<int64_t> slowest;
  for (int i = -1; i < repetitions; ++i) {
    transport->Share("");  // all begin
    const int64_t begin = NowNs();
    SendToAll(transport, senders, receivers, &memory, bytes);
    int64_t ns = 0;
    for (const std::string& own : transport->Share(std::to_string(NowNs() - begin)))
      ns = std::max<int64_t>(ns, std::stoll(own));
    if (i >= 0) slowest.push_back(std::max<int64_t>(ns, 1));  // the first makes connections
  }
  const auto messages = static_cast<double>(inside.size() * outside.size());
  return 1e9 * messages * static_cast<double>(bytes) / static_cast<double>(MedianOf(std::move(slowest)));
}

}  // namespace lanescope::exec
