// SPDX-License-Identifier: Apache-2.0
#include "traces/import/pickle_values.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "core/base/error.h"
#include "traces/import/import_trace.h"

namespace lanescope::traces {

// The stack of pickle's protocols 2 to 5, with the opcodes that make data alone.
class PickleMachine {
 public:
  PickleMachine(std::string_view bytes, const std::string& name, const std::atomic<bool>* cancelled,
                PickleValues* values)
      : left_(bytes), name_(name), cancelled_(cancelled), values_(*values) {}

  void Run() {
    if (left_.empty() || static_cast<unsigned char>(left_[0]) != kProto) Fail("it is no pickle");
    while (true) {
      if (++steps_ % kBetweenChecks == 0) CheckImportGoesOn(cancelled_);
      const auto opcode = static_cast<unsigned char>(Take(1)[0]);
      if (opcode == '.') break;
      if (!Simple(opcode) && !Number(opcode) && !Text(opcode) && !Memo(opcode) && !Collect(opcode)) {
        Throw(
            Code::kInvalidArgument,
            "{} holds other objects than lists, dictionaries, texts and numbers (opcode {}), and is not run "
            "to make them",
            name_, opcode);
      }
    }
    values_.root_ = Pop();
  }

 private:
  using Kind = PickleValues::Kind;
  static constexpr unsigned char kProto = 0x80, kFrame = 0x95, kMemoize = 0x94, kTrue = 0x88, kFalse = 0x89;
  static constexpr size_t kMostValues = size_t{1} << 24;
  static constexpr int64_t kBetweenChecks = 1 << 16;
  static constexpr int kMark = -1;  // on the stack

  [[noreturn]] void Fail(std::string_view problem) const {
    Throw(Code::kDataLoss, "{} is damaged: {}", name_, problem);
  }
  std::string_view Take(uint64_t count) {
    if (count > left_.size()) Fail("it ends early");
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }
  // Little-endian.
  uint64_t Integer(size_t bytes) {
    uint64_t value = 0;
    const std::string_view taken = Take(bytes);
    for (size_t i = 0; i < bytes; ++i)
      value |= static_cast<uint64_t>(static_cast<unsigned char>(taken[i])) << (8 * i);
    return value;
  }

  int Add(PickleValues::Value value) {
    if (values_.values_.size() >= kMostValues)
      Throw(Code::kResourceExhausted, "{} has too many values; record a shorter time", name_);
    values_.values_.push_back(value);
    return static_cast<int>(values_.values_.size()) - 1;
  }
  void Push(PickleValues::Value value) { stack_.push_back(Add(value)); }
  void PushNumber(int64_t number) { Push({Kind::kNumber, number, {}, -1}); }
  void PushText(std::string_view text) { Push({Kind::kText, 0, text, -1}); }
  std::vector<int>& PushCollection(Kind kind) {
    Push({kind, 0, {}, static_cast<int>(values_.elements_.size())});
    return values_.elements_.emplace_back();
  }
  int Pop() {
    if (stack_.empty() || stack_.back() == kMark) Fail("its stack is empty");
    const int value = stack_.back();
    stack_.pop_back();
    return value;
  }
  // All pushed since the last mark, which goes, too.
  std::vector<int> PopToMark() {
    const auto mark = std::find(stack_.rbegin(), stack_.rend(), kMark);
    if (mark == stack_.rend()) Fail("a mark is missing");
    std::vector<int> popped(mark.base(), stack_.end());
    stack_.erase(mark.base() - 1, stack_.end());
    return popped;
  }
  std::vector<int>& Top(Kind kind) {
    if (stack_.empty() || stack_.back() == kMark) Fail("its stack is empty");
    const PickleValues::Value& value = values_.values_[static_cast<size_t>(stack_.back())];
    if (value.kind != kind) Fail("an element of what holds none");
    return values_.elements_[static_cast<size_t>(value.elements)];
  }

  bool Simple(unsigned char opcode) {
    switch (opcode) {
      case kProto:
        Take(1);
        return true;
      case kFrame:
        Take(8);
        return true;
      case 'N':
        Push({});
        return true;
      case kTrue:
      case kFalse:
        PushNumber(opcode == kTrue ? 1 : 0);
        return true;
      case '(':
        stack_.push_back(kMark);
        return true;
      case '0':
        Pop();
        return true;
      default:
        return false;
    }
  }
  bool Number(unsigned char opcode) {
    constexpr unsigned char kLong1 = 0x8a;
    switch (opcode) {
      case 'K':
        PushNumber(static_cast<int64_t>(Integer(1)));
        return true;
      case 'M':
        PushNumber(static_cast<int64_t>(Integer(2)));
        return true;
      case 'J':
        PushNumber(static_cast<int32_t>(static_cast<uint32_t>(Integer(4))));
        return true;
      case kLong1:
        PushNumber(Long(Integer(1)));
        return true;
      case 'G':
        PushNumber(Double(Take(8)));
        return true;
      default:
        return false;
    }
  }
  // Larger ones than fit are none of sizes and times; addresses keep their lower 64 bits.
  int64_t Long(uint64_t bytes) {
    const std::string_view taken = Take(bytes);
    uint64_t value =
        !taken.empty() && (static_cast<unsigned char>(taken.back()) & 0x80) != 0 ? ~uint64_t{0} : 0;
    for (size_t i = std::min<size_t>(taken.size(), 8); i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(taken[i]);
    return static_cast<int64_t>(value);
  }
  static int64_t Double(std::string_view big_endian) {
    uint64_t bits = 0;
    for (const char c : big_endian) bits = bits << 8 | static_cast<unsigned char>(c);
    const auto value = std::bit_cast<double>(bits);
    constexpr double kMost = 9e18;
    return value > -kMost && value < kMost ? static_cast<int64_t>(value) : 0;
  }
  bool Text(unsigned char opcode) {
    constexpr unsigned char kShortText = 0x8c, kLongText = 0x8d;
    switch (opcode) {
      case kShortText:
      case 'C':
        PushText(Take(Integer(1)));
        return true;
      case 'X':
      case 'B':
        PushText(Take(Integer(4)));
        return true;
      case kLongText:
        PushText(Take(Integer(8)));
        return true;
      default:
        return false;
    }
  }
  bool Memo(unsigned char opcode) {
    const auto put = [this](uint64_t number) {
      if (stack_.empty() || stack_.back() == kMark) Fail("its stack is empty");
      if (number > memo_.size()) Fail("a number of its memory is beyond the last");
      if (number == memo_.size()) {
        memo_.push_back(stack_.back());
      } else {
        memo_[number] = stack_.back();
      }
      if (memo_.size() > kMostValues)
        Throw(Code::kResourceExhausted, "{} has too many values; record a shorter time", name_);
      return true;
    };
    const auto get = [this](uint64_t number) {
      if (number >= memo_.size() || stack_.size() > kMostValues)
        Fail("a number of its memory is beyond the last");
      stack_.push_back(memo_[number]);
      return true;
    };
    switch (opcode) {
      case kMemoize:
        return put(memo_.size());
      case 'q':
        return put(Integer(1));
      case 'r':
        return put(Integer(4));
      case 'h':
        return get(Integer(1));
      case 'j':
        return get(Integer(4));
      default:
        return false;
    }
  }
  bool Collect(unsigned char opcode) {
    constexpr unsigned char kTuple1 = 0x85, kTuple3 = 0x87;
    const auto append = [](std::vector<int>& to, const std::vector<int>& more) {
      to.insert(to.end(), more.begin(), more.end());
    };
    switch (opcode) {
      case '}':
        PushCollection(Kind::kDictionary);
        return true;
      case ']':
      case ')':
        PushCollection(Kind::kList);
        return true;
      case 't': {
        std::vector<int> elements = PopToMark();
        PushCollection(Kind::kList) = std::move(elements);
        return true;
      }
      case 'a': {
        const int element = Pop();
        Top(Kind::kList).push_back(element);
        return true;
      }
      case 'e': {
        const std::vector<int> elements = PopToMark();
        append(Top(Kind::kList), elements);
        return true;
      }
      case 's': {
        const int value = Pop(), key = Pop();
        append(Top(Kind::kDictionary), {key, value});
        return true;
      }
      case 'u': {
        const std::vector<int> elements = PopToMark();
        if (elements.size() % 2 != 0) Fail("a key has no value");
        append(Top(Kind::kDictionary), elements);
        return true;
      }
      default:
        break;
    }
    if (opcode < kTuple1 || opcode > kTuple3) return false;
    std::vector<int> elements;
    for (int count = opcode - kTuple1 + 1; count > 0; --count) elements.insert(elements.begin(), Pop());
    PushCollection(Kind::kList) = std::move(elements);
    return true;
  }

  std::string_view left_;
  const std::string& name_;
  const std::atomic<bool>* cancelled_;
  PickleValues& values_;
  std::vector<int> stack_, memo_;
  int64_t steps_ = 0;
};

PickleValues::PickleValues(std::string_view bytes, const std::string& name,
                           const std::atomic<bool>* cancelled) {
  PickleMachine(bytes, name, cancelled, this).Run();
}

const PickleValues::Value* PickleValues::At(int value) const {
  return value < 0 || static_cast<size_t>(value) >= values_.size() ? nullptr
                                                                   : &values_[static_cast<size_t>(value)];
}

PickleValues::Kind PickleValues::KindOf(int value) const {
  const Value* at = At(value);
  return at == nullptr ? Kind::kNone : at->kind;
}

int64_t PickleValues::NumberOf(int value) const {
  const Value* at = At(value);
  return at == nullptr ? 0 : at->number;
}

std::string_view PickleValues::TextOf(int value) const {
  const Value* at = At(value);
  return at == nullptr ? std::string_view() : at->text;
}

const std::vector<int>& PickleValues::ElementsOf(int value) const {
  static const std::vector<int> none;
  const Value* at = At(value);
  return at == nullptr || at->elements < 0 ? none : elements_[static_cast<size_t>(at->elements)];
}

int PickleValues::Find(int dictionary, std::string_view key) const {
  if (KindOf(dictionary) != Kind::kDictionary) return kNoValue;
  const std::vector<int>& elements = ElementsOf(dictionary);
  for (size_t i = 0; i + 1 < elements.size(); i += 2) {
    if (KindOf(elements[i]) == Kind::kText && TextOf(elements[i]) == key) return elements[i + 1];
  }
  return kNoValue;
}

}  // namespace lanescope::traces
