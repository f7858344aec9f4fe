// SPDX-License-Identifier: Apache-2.0
// The CIFAR-10 network trained on one GPU and with a tower on each of two.
//   cifar10 [STEPS]
#include <cifar10_model.h>
#include <graph_run.h>

#include <cstdlib>
#include <random>

using lanescope::Tensor;

namespace {

void Train(int towers, int steps) {
  lanescope::graphs::Scope s;
  const samples::Cifar10 model = samples::Cifar10Writer(s, towers).Build();
  samples::GraphRun run(s);
  run({}, {}, {model.init});
  const int batch = samples::Cifar10Writer::kTowerBatch * towers;
  Tensor images(lanescope::DataType::kFloat, {batch, 24, 24, 3});
  Tensor labels(lanescope::DataType::kInt32, {batch});
  std::mt19937 random(10);
  for (int step = 0; step < steps; ++step) {
    std::uniform_real_distribution<float> light(-1.75f, 1.75f);
    for (int64_t i = 0; i < images.NumElements(); ++i) images.data<float>()[i] = light(random);
    for (int64_t i = 0; i < batch; ++i) labels.data<int32_t>()[i] = static_cast<int32_t>(random() % 10);
    const auto loss = run({model.loss}, {{"images", images}, {"labels", labels}}, {model.train});
    std::printf("%d tower%s, step %d: loss %.4f, %d copies between GPUs\n", towers, towers > 1 ? "s" : "",
                step, loss[0].data<float>()[0], run.copies().count);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return samples::Main([&] {
    const int steps = argc > 1 ? std::atoi(argv[1]) : 3;
    for (const int towers : {1, 2}) Train(towers, steps);
  });
}
