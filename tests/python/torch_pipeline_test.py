# SPDX-License-Identifier: Apache-2.0
"""Orders of passes are those of torch.distributed.pipelining, and exported transformers train in them as on one device.

    python tests/python/torch_pipeline_test.py > tests/golden/pipeline_orders.txt

records the orders that tests/core/strategies/pipeline_passes_test.cpp compares.
"""

import pathlib

import numpy
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
schedules = pytest.importorskip("torch.distributed.pipelining.schedules")

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "pipeline_orders.txt"
# Name, stages, parts of each, micro-batches.
CASES = [(name, stages, parts, micro)
         for name, all_parts in (("Interleaved1F1B", (1, 2, 3)), ("InterleavedZeroBubble", (1,)))
         for stages in (2, 4) for parts in all_parts for micro in (2, 3, 4, 8, 10, 16)
         if micro % max(1, micro // stages) == 0]


def orders_of_pytorch(name, stages, parts, micro):
    """By stage its passes as "1F0": part of the model, kind, micro-batch. Only the order is asked for: no process group is there."""
    schedule = object.__new__(getattr(schedules, "Schedule" + name))
    rounds = max(1, micro // stages)
    vars(schedule).update(pp_group_size=stages, n_local_stages=parts, _n_microbatches=micro, number_of_rounds=rounds,
                          microbatches_per_round=micro // rounds)
    return [" ".join(str(action) for action in schedule._calculate_single_rank_operations(rank) if action is not None)
            for rank in range(stages)]


def lines():
    for name, stages, parts, micro in CASES:
        for stage, order in enumerate(orders_of_pytorch(name, stages, parts, micro)):
            yield f"{name} {stages} {parts} {micro} {stage} {order}"


def test_recorded_orders_are_those_of_pytorch():
    if not hasattr(schedules.ScheduleInterleavedZeroBubble, "_calculate_single_rank_operations"):
        pytest.skip("this PyTorch computes its orders elsewhere")
    assert list(lines()) == GOLDEN.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_trains_as_whole(family, tmp_path):
    """Three losses; each strategy on the GPUs that follow it."""
    pytest.importorskip("transformers", reason="transformers is not installed")
    import torch_tensor_parallel_test as models
    from torch_steps import lanescope

    models.BATCH = 8
    torch.manual_seed(1)
    graph = models.save(getattr(models, family)(), tmp_path)
    machines = {2: "two-virtual-gpus.json", 4: "four-virtual-gpus.json"}

    def losses(strategy, gpus):
        folder = tmp_path / strategy.replace(":", "_")
        lanescope("run", graph, "--strategy", strategy, "--machine", models.MACHINES / machines[gpus], "--steps", 3, "--warmup", 0, "--save-fetches", folder)
        return [float(numpy.load(file)) for file in sorted(folder.glob("step*loss*.npy"))]

    whole = losses("single", 2)
    for strategy, gpus in (("recompute", 2), ("pipeline-interleaved", 2), ("pipeline-interleaved-3", 4), ("pipeline-zero-bubble", 4),
                           ("recompute+pipeline", 2), ("recompute+pipeline-zero-bubble", 2), ("recompute+fsdp", 4),
                           ("recompute+tensor-parallel", 2), ("data-parallel+pipeline-interleaved:2", 4)):
        assert losses(strategy, gpus) == pytest.approx(whole, rel=1e-6), strategy


if __name__ == "__main__":
    print("\n".join(lines()))
