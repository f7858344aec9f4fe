# SPDX-License-Identifier: Apache-2.0
"""Times training steps of models in PyTorch and prints one JSON object a line, times in ns.

Usage: torch_step.py [--models deepconn,cifar10,gpt] [--modes eager,compiled,graph] [--steps N] [--warmup N]
                     [--threads N] [--export-gpt FILE.pb]

Two models are those of samples/graphs/deepconn_single.pbtxt (from word numbers on: PyTorch has no string
tables) and cifar10_single.pbtxt: the same layers, losses, batch sizes and optimizers, in float32 without TF32.
The third is a GPT of 6 layers, 768 wide, with 50,304 words, 4 x 256 tokens and AdamW.
A step is one update, from inputs in pinned host memory to the loss in host memory. "compiled" is
torch.compile(mode='reduce-overhead'), which records CUDA graphs, "graph" one CUDA graph of the whole eager step;
a mode that fails is reported, not fatal.
With --threads steps run on so many threads of the processor instead of a GPU; "compiled" is torch.compile then,
and there is no "graph". --export-gpt writes the step of the GPT for `lanescope run` and times nothing.
"""

import argparse
import functools
import json
import pathlib
import sys
import time


def _arguments():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--models', default='deepconn,cifar10,gpt')
  parser.add_argument('--modes', default='eager,compiled,graph')
  parser.add_argument('--warmup', type=int, default=10)
  parser.add_argument('--steps', type=int, default=50)
  parser.add_argument('--threads', type=int, default=0)
  parser.add_argument('--export-gpt', type=pathlib.Path)
  return parser.parse_args()


def _deepconn(torch, device):
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

  model = DeepCoNN().to(device)
  return model, torch.optim.Adam(model.parameters(), lr=1e-4, capturable=device == 'cuda'), make_batch


def _cifar10(torch, device):
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

  model = Cifar10().to(device)
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


def _gpt(torch, device):
  """A GPT with a head of its own: (model, optimizer, batch maker)."""
  nn = torch.nn
  functional = nn.functional
  words, width, heads, tokens, batch = 50304, 768, 12, 256, 4

  class Block(nn.Module):

    def __init__(self):
      super().__init__()
      self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
      self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
      self.a, self.b = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
      size = x.shape
      split = self.qkv(self.n1(x)).view(size[0], size[1], 3, heads, width // heads).permute(2, 0, 3, 1, 4)
      mixed = functional.scaled_dot_product_attention(split[0], split[1], split[2], is_causal=True)
      x = x + self.o(mixed.transpose(1, 2).reshape(size))
      return x + self.b(functional.gelu(self.a(self.n2(x))))

  class Gpt(nn.Module):

    def __init__(self):
      super().__init__()
      self.e, self.p = nn.Embedding(words, width), nn.Parameter(torch.zeros(tokens, width))
      self.blocks = nn.ModuleList(Block() for _ in range(6))
      self.n, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, numbers, labels):
      x = self.e(numbers) + self.p
      for block in self.blocks:
        x = block(x)
      return functional.cross_entropy(self.head(self.n(x)).view(-1, words), labels.view(-1))

  def make_batch():
    return torch.randint(words, (batch, tokens)), torch.randint(words, (batch, tokens))

  model = Gpt().to(device)
  return model, torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True), make_batch


_MODELS = {'deepconn': _deepconn, 'cifar10': _cifar10, 'gpt': _gpt}


def _quantiles(times):
  times = sorted(times)
  at = lambda q: int(times[min(len(times) - 1, int(q * len(times)))])
  return {'median': at(0.5), 'p25': at(0.25), 'p75': at(0.75), 'min': times[0], 'max': times[-1]}


def _update(model, optimizer, inputs):
  """One update; its loss, on the device."""
  optimizer.zero_grad(set_to_none=True)
  loss = model(*inputs)
  loss.backward()
  optimizer.step()
  return loss


def _recorded(torch, update, batch):
  """The update as one CUDA graph, which reads its inputs from one place."""
  inputs = [tensor.cuda() for tensor in batch]
  aside = torch.cuda.Stream()
  aside.wait_stream(torch.cuda.current_stream())
  with torch.cuda.stream(aside):
    for _ in range(3):
      update(inputs)
  torch.cuda.current_stream().wait_stream(aside)
  graph = torch.cuda.CUDAGraph()
  with torch.cuda.graph(graph):
    loss = update(inputs)

  def replay(given):
    for to, tensor in zip(inputs, given):
      to.copy_(tensor, non_blocking=True)
    graph.replay()
    return loss

  return replay


def _measure(torch, name, mode, arguments):
  torch.manual_seed(1)
  device = 'cpu' if arguments.threads else 'cuda'
  model, optimizer, make_batch = _MODELS[name](torch, device)
  batches = [list(make_batch()) for _ in range(4)]
  if mode == 'compiled':
    model = torch.compile(model, mode='default' if device == 'cpu' else 'reduce-overhead')
  update = functools.partial(_update, model, optimizer)
  if device == 'cuda':
    batches = [[tensor.pin_memory() for tensor in batch] for batch in batches]
  if mode == 'graph':
    update = _recorded(torch, update, batches[0])

  times = []
  for i in range(arguments.warmup + arguments.steps):
    if mode == 'compiled':
      torch.compiler.cudagraph_mark_step_begin()
    begin = time.perf_counter_ns()
    given = batches[i % len(batches)]
    loss = update(given if mode == 'graph' else [tensor.to(device, non_blocking=True) for tensor in given])
    last_loss = loss.item()  # waits for the device
    if device == 'cuda':
      torch.cuda.synchronize()
    times.append(time.perf_counter_ns() - begin)
  return {
      'model': name,
      'mode': mode,
      'steps': arguments.steps,
      **_quantiles(times[arguments.warmup:]), 'last_loss': last_loss
  }


def _export_gpt(torch, path):
  """The same step as a graph and a run configuration; needs the package lanescope."""
  from lanescope.torch import export
  model, optimizer, make_batch = _gpt(torch, 'cpu')
  export(model, make_batch(), optimizer=optimizer).save(path)


def main():
  arguments = _arguments()
  try:
    import torch
  except ImportError as error:
    print(f'torch_step: PyTorch is not installed here ({error})', file=sys.stderr)
    return 3
  if arguments.export_gpt:
    _export_gpt(torch, arguments.export_gpt)
    return 0
  if not arguments.threads and not torch.cuda.is_available():
    print('torch_step: PyTorch sees no GPU', file=sys.stderr)
    return 3
  if arguments.threads:
    torch.set_num_threads(arguments.threads)
  torch.backends.cuda.matmul.allow_tf32 = False
  torch.backends.cudnn.allow_tf32 = False
  where = {'threads': arguments.threads} if arguments.threads else {'gpu': torch.cuda.get_device_name(0)}
  for name in arguments.models.split(','):
    for mode in arguments.modes.split(','):
      try:
        result = _measure(torch, name, mode, arguments)
      except Exception as error:  # one mode must not cost the others
        result = {'model': name, 'mode': mode, 'error': str(error).splitlines()[0][:200]}
      print(json.dumps({**result, 'torch': torch.__version__, **where}), flush=True)
  return 0


if __name__ == '__main__':
  sys.exit(main())
