# SPDX-License-Identifier: Apache-2.0
"""Times training steps of the sample models in PyTorch on a GPU and prints one JSON object a line, times in ns.

Usage: torch_step.py [--models deepconn,cifar10] [--modes eager,compiled] [--steps N] [--warmup N]

The models are those of samples/graphs/deepconn_single.pbtxt (from word numbers on: PyTorch has no string
tables) and cifar10_single.pbtxt: the same layers, losses, batch sizes and optimizers, in float32 without TF32.
A step is one update, from inputs in pinned host memory to the loss in host memory. "compiled" is
torch.compile(mode='reduce-overhead'), which records CUDA graphs; a mode that fails is reported, not fatal.
"""

import argparse
import json
import sys
import time


def _arguments():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--models', default='deepconn,cifar10')
  parser.add_argument('--modes', default='eager,compiled')
  parser.add_argument('--warmup', type=int, default=10)
  parser.add_argument('--steps', type=int, default=50)
  return parser.parse_args()


def _deepconn(torch):
  """DeepCoNN: (model, optimizer, batch maker)."""
  nn = torch.nn
  vocabulary, words, batch = 90000, 800, 32

  class Tower(nn.Module):

    def __init__(self):
      super().__init__()
      self.conv = nn.Conv1d(50, 10, 3)
      self.pool = nn.MaxPool1d(2, 1)
      self.dense = nn.Linear(10 * 797, 64)

    def forward(self, vectors):
      pooled = self.pool(torch.tanh(self.conv(vectors.transpose(1, 2))))
      return torch.relu(self.dense(pooled.flatten(1)))

  class DeepCoNN(nn.Module):

    def __init__(self):
      super().__init__()
      self.embedding = nn.Embedding(vocabulary, 50)
      self.user, self.item = Tower(), Tower()

    def forward(self, user, item, labels):
      vectors = self.embedding(user), self.embedding(item)
      predictions = (self.user(vectors[0]) * self.item(vectors[1])).sum(1, keepdim=True)
      return nn.functional.mse_loss(predictions, labels)

  def make_batch():
    return (torch.randint(vocabulary, (batch, words)), torch.randint(vocabulary, (batch, words)),
            torch.randint(1, 6, (batch, 1)).float())

  model = DeepCoNN().cuda()
  return model, torch.optim.Adam(model.parameters(), lr=1e-4, capturable=True), make_batch


def _cifar10(torch):
  """The CIFAR-10 tutorial network: (model, optimizer, batch maker)."""
  nn = torch.nn
  functional = nn.functional
  batch = 128

  class Cifar10(nn.Module):

    def __init__(self):
      super().__init__()
      self.conv1, self.conv2 = nn.Conv2d(3, 64, 5, padding=2), nn.Conv2d(64, 64, 5, padding=2)
      # TensorFlow's depth radius 4 is a window of 9; its alpha is not divided by the window's size.
      self.norm = nn.LocalResponseNorm(9, alpha=9 * 0.001 / 9.0, beta=0.75, k=1.0)
      self.local3, self.local4, self.logits = nn.Linear(2304, 384), nn.Linear(384, 192), nn.Linear(192, 10)

    @staticmethod
    def _pool(x):
      # 'SAME' padding of an even size at stride 2: one at the end.
      return functional.max_pool2d(functional.pad(x, (0, 1, 0, 1), value=float('-inf')), 3, 2)

    def forward(self, images, labels):
      x = self.norm(self._pool(torch.relu(self.conv1(images))))
      x = self._pool(self.norm(torch.relu(self.conv2(x))))
      x = torch.relu(self.local3(x.flatten(1)))
      x = torch.relu(self.local4(x))
      loss = functional.cross_entropy(self.logits(x), labels)
      decay = sum(0.5 * 0.004 * layer.weight.square().sum() for layer in (self.local3, self.local4))
      return loss + decay

  def make_batch():
    return torch.rand(batch, 3, 24, 24) * 3.5 - 1.75, torch.randint(10, (batch,))

  model = Cifar10().cuda()
  averages = [p.detach().clone() for p in model.parameters()]
  sgd = torch.optim.SGD(model.parameters(), lr=0.1)

  class AveragedSgd:
    """The tutorial keeps moving averages of all variables."""

    def zero_grad(self, set_to_none=True):
      sgd.zero_grad(set_to_none=set_to_none)

    def step(self):
      sgd.step()
      torch._foreach_lerp_(averages, [p.detach() for p in model.parameters()], 1e-4)

  return model, AveragedSgd(), make_batch


_MODELS = {'deepconn': _deepconn, 'cifar10': _cifar10}


def _quantiles(times):
  times = sorted(times)
  at = lambda q: int(times[min(len(times) - 1, int(q * len(times)))])
  return {'median': at(0.5), 'p25': at(0.25), 'p75': at(0.75), 'min': times[0], 'max': times[-1]}


def _measure(torch, name, mode, warmup, steps):
  torch.manual_seed(1)
  model, optimizer, make_batch = _MODELS[name](torch)
  forward = torch.compile(model, mode='reduce-overhead') if mode == 'compiled' else model
  batches = [[tensor.pin_memory() for tensor in make_batch()] for _ in range(4)]

  def step(batch):
    inputs = [tensor.cuda(non_blocking=True) for tensor in batch]
    optimizer.zero_grad(set_to_none=True)
    loss = forward(*inputs)
    loss.backward()
    optimizer.step()
    return loss.item()  # waits for the device

  times = []
  for i in range(warmup + steps):
    if mode == 'compiled':
      torch.compiler.cudagraph_mark_step_begin()
    begin = time.perf_counter_ns()
    loss = step(batches[i % len(batches)])
    torch.cuda.synchronize()
    times.append(time.perf_counter_ns() - begin)
  return {'model': name, 'mode': mode, 'steps': steps, **_quantiles(times[warmup:]), 'last_loss': loss}


def main():
  arguments = _arguments()
  try:
    import torch
  except ImportError as error:
    print(f'torch_step: PyTorch is not installed here ({error})', file=sys.stderr)
    return 3
  if not torch.cuda.is_available():
    print('torch_step: PyTorch sees no GPU', file=sys.stderr)
    return 3
  torch.backends.cuda.matmul.allow_tf32 = False
  torch.backends.cudnn.allow_tf32 = False
  for name in arguments.models.split(','):
    for mode in arguments.modes.split(','):
      try:
        result = _measure(torch, name, mode, arguments.warmup, arguments.steps)
      except Exception as error:  # one mode must not cost the others
        result = {'model': name, 'mode': mode, 'error': str(error).splitlines()[0][:200]}
      print(json.dumps({**result, 'torch': torch.__version__, 'gpu': torch.cuda.get_device_name(0)}), flush=True)
  return 0


if __name__ == '__main__':
  sys.exit(main())
