#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyTorch 2.15.0, torch.distributed.pipelining.pipeline on a model with a tied weight.
#
# A weight that two stages use is copied into both, and after the backward pass each copy has the gradient of its own stage alone.
# An optimizer step then takes the copies apart: the model trains as if the weight had never been tied, without a word.
# (The sum of the two gradients is the right one; nothing adds them.)
#
# Seen (embedding tied to the last layer, two stages, GPipe with four micro-batches):
#   parameters of the stages: ['emb.weight', 'out.weight'] and ['mid.weight', 'mid.bias', 'out.weight']
#   gradient of stage 0 is that of the model: False
#   gradient of stage 1 is that of the model: False
#   their sum is that of the model:           True
#   copies equal after a step of SGD:         False
#
# Concerns plans whose stages share a weight: its gradients need an all-reduce between the stages, which such a run does not have.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" torch==2.15.0 numpy==2.4.6
cat > "$scratch/stages.py" <<'END'
import copy
import sys
import torch
import torch.distributed as dist
import torch.multiprocessing
from torch import nn
from torch.distributed.pipelining import ScheduleGPipe, SplitPoint, pipeline


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 4)
        self.mid = nn.Linear(4, 4)
        self.out = nn.Linear(4, 10, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, words):
        return self.out(self.mid(self.emb(words)))


def loss(scores, targets):
    return nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())


def stage_of(rank, folder):
    dist.init_process_group("gloo", rank=rank, world_size=2, init_method=f"file://{folder}/store")
    torch.manual_seed(0)
    model = Tied()
    whole = copy.deepcopy(model)
    words, targets = torch.randint(0, 10, (8, 3)), torch.randint(0, 10, (8, 3))
    pipe = pipeline(model, (words[:2],), split_spec={"mid": SplitPoint.BEGINNING})
    names = [[name for name, _ in pipe.get_stage_module(stage).named_parameters()] for stage in range(2)]
    stage = pipe.build_stage(rank, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, 4, loss_fn=loss)
    optimizer = torch.optim.SGD(stage.submod.parameters(), 0.1)
    if rank == 0:
        schedule.step(words)
    else:
        schedule.step(target=targets)
    loss(whole(words), targets).backward()
    weight = dict(stage.submod.named_parameters())["emb.weight" if rank == 0 else "out.weight"]
    gradients = [torch.zeros(10, 4) for _ in range(2)]
    dist.all_gather(gradients, weight.grad)
    optimizer.step()
    weights = [torch.zeros(10, 4) for _ in range(2)]
    dist.all_gather(weights, weight.detach())
    if rank == 0:
        right = whole.emb.weight.grad
        alone = [torch.allclose(each, right, atol=1e-5) for each in gradients]
        summed, equal = torch.allclose(sum(gradients), right, atol=1e-5), torch.allclose(*weights)
        print(f"parameters of the stages: {names[0]} and {names[1]}")
        for number, is_right in enumerate(alone):
            print(f"gradient of stage {number} is that of the model: {is_right}")
        print(f"their sum is that of the model:           {summed}")
        print(f"copies equal after a step of SGD:         {equal}")
        assert (alone, summed, equal) == ([False, False], True, False), "tied weights are kept otherwise now"
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(stage_of, (sys.argv[1],), nprocs=2)
END
PYTHONPATH="$scratch/packages" python3 -W ignore "$scratch/stages.py" "$scratch" 2> "$scratch/errors" || { cat "$scratch/errors" >&2; exit 1; }
