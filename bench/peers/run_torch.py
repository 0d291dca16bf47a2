"""PyTorch in inference mode: batch norms folded, and whichever order of values is faster, N C H W or channels last.
Conversions at the border are part of a run."""

import time

import onnx_to_torch
import torch

VERSION = f"torch {torch.__version__}"


def runner(module, x, dtype, order):
    kind = torch.bfloat16 if dtype == "bf16" else torch.float32
    module = module.to(dtype=kind, memory_format=order)

    @torch.inference_mode()
    def run():
        outputs = module(x.to(dtype=kind, memory_format=order))
        return [y.to(dtype=torch.float32).contiguous() for y in outputs]

    return run


def fastest(run, times=3):
    run()
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def load(model, x, dtype, threads):
    torch.set_num_threads(threads)
    values = torch.from_numpy(x)
    runs = [
        runner(onnx_to_torch.Network(model).eval(), values, dtype, order)
        for order in (torch.channels_last, torch.contiguous_format)
    ]
    return min(runs, key=fastest)


def arrays(outputs):
    return [y.numpy() for y in outputs]
