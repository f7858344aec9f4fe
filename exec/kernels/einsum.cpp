// Einsum of one or two operands: both are turned so that a batch of matrix products is left, and the result
// is turned as the equation says.
#include "core/graph/ops/einsum.h"

#include <algorithm>

#include "exec/kernels/depthwise.h"
#include "exec/kernels/op_kernel.h"
#include "exec/kernels/product.h"
#include "exec/kernels/strided_copy.h"

namespace lanescope::exec {
namespace {

using Sizes = std::map<char, Dim>;

bool Has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

int64_t CountOf(const std::string& labels, const Sizes& sizes) {
  int64_t count = 1;
  for (const char label : labels) count *= sizes.at(label);
  return count;
}

// A dense tensor with dimensions `from` as one with dimensions `to`, the same letters in another order.
void Turn(DataType dtype, const std::string& from, const std::string& to, const Sizes& sizes,
          const void* source, void* destination, WorkerTeam& team) {
  const auto stride_in = [&](const std::string& labels, char label) {
    return CountOf(labels.substr(labels.find(label) + 1), sizes);
  };
  StridedCopy copy;
  for (const char label : to) copy.AddDim(sizes.at(label), stride_in(to, label), stride_in(from, label));
  copy.Run(dtype, destination, source, team);
}

class EinsumKernel final : public Kernel {
 public:
  explicit EinsumKernel(const Node& node)
      : name_(node.name),
        equation_(ops::ParseEinsum(node.StringAttr("equation"), static_cast<int>(node.IntAttr("N")))) {
    if (equation_.inputs.size() > 2) {
      Throw(Code::kUnimplemented, "node {}: an einsum of {} operands has no kernel here", node.name,
            equation_.inputs.size());
    }
    const std::string& a = equation_.inputs[0];
    const std::string b = equation_.inputs.size() > 1 ? equation_.inputs[1] : std::string();
    for (const char label : a) {
      (Has(b, label) ? Has(equation_.output, label) ? batch_ : summed_ : left_) += label;
    }
    for (const char label : b) {
      if (!Has(a, label)) right_ += label;
    }
    for (const char label : left_ + right_) CheckInOutput(label);
  }

  void Compute(KernelContext& context) override {
    std::vector<Shape> shapes;
    for (int i = 0; i < context.num_inputs(); ++i) shapes.push_back(context.input(i).shape);
    const Sizes sizes = ops::EinsumSizes(equation_, shapes);
    ShapeOutput(context, 0, ops::EinsumShape(equation_.output, sizes));
    if (context.output().NumElements() == 0) return;
    const DataType dtype = context.input(0).dtype;
    if (shapes.size() == 1) {
      Turn(dtype, equation_.inputs[0], equation_.output, sizes, context.input(0).data, context.output().data,
           context.team());
      return;
    }
    DispatchReal("Einsum", dtype, [&]<typename T>(T) { Multiplied<T>(context, sizes); });
  }

 private:
  // What is in one operand alone has to be in the result: sums over it have no kernel.
  void CheckInOutput(char label) const {
    if (Has(equation_.output, label)) return;
    Throw(Code::kUnimplemented, "node {}: an einsum that sums over '{}' of one operand has no kernel here",
          name_, label);
  }

  template <typename T>
  void Multiplied(KernelContext& context, const Sizes& sizes) const {
    WorkerTeam& team = context.team();
    const auto turned = [&](int input, const std::string& to, std::vector<T>& memory) {
      const TensorRef& tensor = context.input(input);
      const std::string& from = equation_.inputs[static_cast<size_t>(input)];
      if (from == to) return static_cast<const T*>(tensor.as<T>());
      memory.resize(static_cast<size_t>(tensor.NumElements()));
      Turn(tensor.dtype, from, to, sizes, tensor.data, memory.data(), team);
      return static_cast<const T*>(memory.data());
    };
    std::vector<T> a_memory, b_memory, c_memory;
    const T* a = turned(0, batch_ + left_ + summed_, a_memory);
    const T* b = turned(1, batch_ + summed_ + right_, b_memory);
    const std::string made = batch_ + left_ + right_;
    T* c = context.output().as<T>();
    if (made != equation_.output) {
      c_memory.resize(static_cast<size_t>(context.output().NumElements()));
      c = c_memory.data();
    }
    const int64_t m = CountOf(left_, sizes), n = CountOf(right_, sizes), k = CountOf(summed_, sizes);
    const int64_t count = CountOf(batch_, sizes);
    for (int64_t i = 0; i < count; ++i) {
      Multiply<T>(&team, m, n, k, {a + i * m * k, k, false}, {b + i * k * n, n, false}, c + i * m * n);
    }
    if (made == equation_.output) return;
    Turn(context.output().dtype, made, equation_.output, sizes, c, context.output().data, team);
  }

  const std::string name_;
  const ops::EinsumEquation equation_;
  std::string batch_, left_, right_, summed_;
};

}  // namespace

void RegisterEinsumKernels(KernelRegistry& registry) {
  registry.Register("Einsum", MakeKernel<EinsumKernel>);
}

}  // namespace lanescope::exec
