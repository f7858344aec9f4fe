#include "graphs/all_reduce.h"

#include <cstdint>

#include "core/base/error.h"
#include "graphs/gradients/arithmetic.h"

namespace lanescope::graphs {
namespace {

class ReductionWriter {
 private:
  template <typename Write>
  auto On(size_t device, Write write) {
    const auto on = s_.Device(devices_[device]);
    return write();
  }

  Endpoint Send(Endpoint tensor, size_t device) {
    return On(device, [&] { return op::Identity(s_, tensor); });
  }

 public:
  ReductionWriter(Scope& scope, const std::vector<Endpoint>& tensors, const std::vector<std::string>& devices,
                  const AllReduceOptions& options)
      : s_(scope), tensors_(tensors), devices_(devices), options_(options), size_(tensors.size()) {
    if (tensors.empty() || devices.size() != size_) {
      Throw(Code::kInvalidArgument, "an all-reduce of {} tensors on {} devices", size_, devices.size());
    }
    for (const Endpoint& tensor : tensors) {
      if (s_.TypeOf(tensor) != s_.TypeOf(tensors[0])) {
        Throw(Code::kInvalidArgument, "an all-reduce of {} and {}", DataTypeName(s_.TypeOf(tensors[0])),
              DataTypeName(s_.TypeOf(tensor)));
      }
      MergeShapes(s_.ShapeOf(tensors[0]), s_.ShapeOf(tensor));
    }
  }

  std::vector<Endpoint> Run() {
    const auto names = s_.Name(options_.name);
    if (size_ == 1) return {On(0, [&] { return op::Identity(s_, tensors_[0]); })};
    switch (options_.by) {
      case AllReduceBy::kRing:
        return Ring();
      case AllReduceBy::kTree:
        return Tree();
      case AllReduceBy::kOneDevice:
        break;
    }
    const Endpoint sum = On(0, [&] { return Share(op::AddN(s_, tensors_)); });
    std::vector<Endpoint> results;
    for (size_t i = 0; i < size_; ++i) results.push_back(Send(sum, i));
    return results;
  }

 private:
  // Of a whole sum: what the result is made of.
  Endpoint Share(Endpoint sum) { return options_.mean ? Div(s_, sum, static_cast<double>(size_)) : sum; }

  std::vector<Endpoint> Tree() {
    std::vector<Endpoint> sums = tensors_;
    size_t top = 1;
    for (; top < size_; top *= 2) {
      for (size_t i = 0; i + top < size_; i += 2 * top) {
        sums[i] = On(i, [&] { return Add(s_, sums[i], sums[i + top]); });
      }
    }
    sums[0] = On(0, [&] { return op::Identity(s_, Share(sums[0])); });
    for (size_t step = top / 2; step > 0; step /= 2) {
      for (size_t i = 0; i + step < size_; i += 2 * step) sums[i + step] = Send(sums[i], i + step);
    }
    return sums;
  }

  // Chunk c begins at the device behind c, is whole at device c, and goes around from there once more.
  std::vector<Endpoint> Ring() {
    const lanescope::Shape shape = s_.ShapeOf(tensors_[0]);
    if (!shape.IsExact()) {
      Throw(Code::kInvalidArgument, "'{}' has shape {}; an all-reduce by a ring has to know it",
            s_.graph().TensorName(tensors_[0]), shape.ToString());
    }
    const auto chunks = Chunks(shape.NumElements());
    std::vector<std::vector<Endpoint>> gathered(size_, std::vector<Endpoint>(size_));
    for (size_t c = 0; c < size_; ++c) {
      Endpoint sum = chunks[(c + 1) % size_][c];
      for (size_t hop = 2; hop <= size_; ++hop) {
        const size_t at = (c + hop) % size_;
        sum = On(at, [&] { return Add(s_, chunks[at][c], sum); });
      }
      sum = On(c, [&] { return op::Identity(s_, Share(sum)); });
      for (size_t hop = 0; hop < size_; ++hop) {
        const size_t at = (c + hop) % size_;
        if (hop > 0) sum = Send(sum, at);
        gathered[at][c] = sum;
      }
    }
    std::vector<Endpoint> results;
    const std::vector<Dim> dims(shape.dims().begin(), shape.dims().end());
    for (size_t i = 0; i < size_; ++i) {
      results.push_back(On(i, [&] {
        return op::Reshape(s_, op::ConcatV2(s_, gathered[i], 0),
                           Tensor::FromValues(lanescope::Shape{shape.rank()}, dims));
      }));
    }
    return results;
  }

  // By device: its tensor cut into one chunk a device, the first ones an element longer where it does not
  // divide.
  std::vector<std::vector<Endpoint>> Chunks(int64_t elements) {
    const auto count = static_cast<int64_t>(size_);
    std::vector<int64_t> sizes;
    for (int64_t c = 0; c < count; ++c) sizes.push_back(elements / count + (c < elements % count ? 1 : 0));
    std::vector<std::vector<Endpoint>> chunks;
    for (size_t i = 0; i < size_; ++i) {
      chunks.push_back(On(i, [&] {
        return op::SplitV(s_, op::Reshape(s_, tensors_[i], {-1}),
                          Tensor::FromValues(lanescope::Shape{count}, sizes), 0, count);
      }));
    }
    return chunks;
  }

  Scope& s_;
  const std::vector<Endpoint>& tensors_;
  const std::vector<std::string>& devices_;
  const AllReduceOptions& options_;
  const size_t size_;
};

}  // namespace

std::vector<Endpoint> AllReduce(Scope& scope, const std::vector<Endpoint>& tensors,
                                const std::vector<std::string>& devices, const AllReduceOptions& options) {
  return ReductionWriter(scope, tensors, devices, options).Run();
}

}  // namespace lanescope::graphs
