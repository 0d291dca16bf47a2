#!/usr/bin/env python3
"""Liquid layers beside ncps with PyTorch: passes over whole sequences, two threads each, in turns.

    python3 compare_ncps.py --worker build/bench/peers/tessera_ncp_worker [--models cfc_fc64,...] [--compile] [--backward]

Each peer runs in a process of its own; blocks of about 20 ms alternate, and the fastest call of each counts. Outputs are
compared before anything is timed. With --backward a pass goes forward and back, to gradients of all parameters and of
the input, which are compared as well. "alone" is the median time of one step of one sample in a loop, in microseconds.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import torch
from ncps.torch import LTC, CfC
from ncps.wirings import NCP, AutoNCP
from safetensors.torch import load_file, save_file

INPUTS = 20
WIRING = {"type": "AutoNCP", "units": 64, "output_size": 8}
ARGUMENTS_19 = (12, 6, 1, 6, 4, 4, 6)
NAMES_19 = ("inter_neurons", "command_neurons", "motor_neurons", "sensory_fanout", "inter_fanout", "recurrent_command_synapses", "motor_fanin")
NCP_19 = {"type": "NCP"} | dict(zip(NAMES_19, ARGUMENTS_19))
MODELS = {
    "cfc_ncp64": ({"type": "CfC", "input_size": INPUTS, "wiring": WIRING}, lambda: CfC(INPUTS, AutoNCP(64, 8))),
    "cfc_fc64": ({"type": "CfC", "input_size": INPUTS, "units": 64}, lambda: CfC(INPUTS, 64)),
    "cfc_fc128": ({"type": "CfC", "input_size": INPUTS, "units": 128}, lambda: CfC(INPUTS, 128)),
    "cfc_fc256": ({"type": "CfC", "input_size": INPUTS, "units": 256}, lambda: CfC(INPUTS, 256)),
    "ltc_ncp64": ({"type": "LTC", "input_size": INPUTS, "wiring": WIRING}, lambda: LTC(INPUTS, AutoNCP(64, 8))),
    "cfc_ncp19": ({"type": "CfC", "input_size": INPUTS, "wiring": NCP_19}, lambda: CfC(INPUTS, NCP(*ARGUMENTS_19))),
    "ltc_ncp19": ({"type": "LTC", "input_size": INPUTS, "wiring": NCP_19}, lambda: LTC(INPUTS, NCP(*ARGUMENTS_19))),
    "ltc_fc64": ({"type": "LTC", "input_size": INPUTS, "units": 64}, lambda: LTC(INPUTS, 64)),
}


def block(call, seconds=0.02):
    """The seconds of the fastest call in a block."""
    best, spent = math.inf, 0.0
    while spent < seconds:
        start = time.perf_counter()
        call()
        took = time.perf_counter() - start
        best, spent = min(best, took), spent + took
    return best


def measure(name, batch, steps, options, folder):
    layer, make = MODELS[name]
    torch.manual_seed(1)
    model = make().eval()
    x = torch.randn(batch, steps, INPUTS)
    save_file({k: v.contiguous() for k, v in model.state_dict().items()}, folder / "p.safetensors")
    (folder / "x.bin").write_bytes(x.numpy().tobytes())
    environment = os.environ | {"TESSERA_THREADS": str(options.threads)}
    arguments = [options.worker, folder / "p.safetensors", json.dumps(layer), str(batch), str(steps), folder / "x.bin", folder / "y.bin"]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as worker:
        kernel = worker.stdout.readline().strip()
        def ask(what):
            worker.stdin.write(what + "\n")
            worker.stdin.flush()
            return float(worker.stdout.readline())

        call = torch.compile(model) if options.compile else model
        with torch.no_grad():
            expected = model(x)[0]
            found = np.fromfile(folder / "y.bin", np.float32).reshape(expected.shape)
            difference = float(np.abs(found - expected.numpy()).max())
            assert difference < 1e-5, f"{name}: outputs differ by {difference}"
        if options.backward:
            x.requires_grad_(True)

            def theirs_once():
                model.zero_grad()
                x.grad = None
                call(x)[0].sum().backward()

            what = "backward"
            theirs_once()
            ask(what)
            gradients = load_file(folder / "y.bin.gradients")
            for key, parameter in model.named_parameters():
                if parameter.grad is None:
                    continue
                largest = float(parameter.grad.abs().max())
                off = float((gradients[key] - parameter.grad).abs().max())
                assert off <= 1e-3 * max(largest, 1), f"{name}: gradients of {key} differ by {off}, of {largest}"
                difference = max(difference, off / max(largest, 1))
        else:

            def theirs_once():
                with torch.no_grad():
                    call(x)

            what = "go"
            theirs_once()
        ours = theirs = math.inf
        for _ in range(options.rounds):
            theirs = min(theirs, block(theirs_once))
            time.sleep(0.1)  # PyTorch's threads look for more work for a while
            ours = min(ours, ask(what))
        one_step = ask("steps")
        worker.stdin.close()
    return kernel, theirs, ours, difference, one_step


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--worker", required=True)
    parser.add_argument("--models", default="cfc_ncp64,cfc_fc64,cfc_fc128,cfc_fc256")
    parser.add_argument("--batches", default="1,32,256")
    parser.add_argument("--lengths", default="32,128")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compile", action="store_true", help="against torch.compile instead of eager")
    parser.add_argument("--backward", action="store_true", help="forward and backward")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    ratios = []
    print(f"{'model':10} {'batch':>5} {'steps':>5} {'ncps [ms]':>10} {'ours [ms]':>10} {'ratio':>7} {'us/step':>8} {'alone':>7} {'error':>8}  kernel")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models.split(","):
            for batch in map(int, options.batches.split(",")):
                for steps in map(int, options.lengths.split(",")):
                    kernel, theirs, ours, error, one_step = measure(name, batch, steps, options, pathlib.Path(folder))
                    ratios.append((batch, theirs / ours))
                    print(
                        f"{name:10} {batch:5} {steps:5} {theirs * 1e3:10.3f} {ours * 1e3:10.4f} {theirs / ours:7.1f} "
                        f"{ours / steps * 1e6:8.2f} {one_step * 1e6:7.2f} {error:8.1e}  {kernel}",
                        flush=True,
                    )
    for title, wanted in [("all", None), ("batch 1", 1)]:
        some = [r for b, r in ratios if wanted in (None, b)]
        if some:
            print(f"geometric mean, {title}: {math.exp(sum(map(math.log, some)) / len(some)):.1f}")


if __name__ == "__main__":
    main()
