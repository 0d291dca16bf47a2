#!/usr/bin/env python3
"""Liquid layers beside ncps with PyTorch: passes over whole sequences, two threads each, in turns.

    python3 compare_ncps.py --worker build/bench/peers/tessera_ncp_worker [--models cfc_fc64,...] [--compile-steps 128] [--backward]

ncps runs as it is (eager) and through torch.compile, as one graph of all steps; where it does not compile, the row says
why. Such graphs take a minute and more to compile, so by default only the shorter sequences are (--compile-steps, 0: none).

Each peer runs in a process of its own; blocks of about 20 ms alternate, and the fastest call of each counts. Outputs are
compared before anything is timed. With --backward a pass goes forward and back, to gradients of all parameters and of
the input, which are compared as well. "alone" is the median time of one step of one sample in a loop, in microseconds.
"""

import argparse
import json
import math
import os
import pathlib
import signal
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


class OutOfTime(BaseException):
    """No Exception: compilers catch those on their way."""


def compiled(model, x, expected, seconds):
    """The model through torch.compile, or why there is none."""

    def give_up(*_):
        raise OutOfTime(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        torch.compiler.reset()
        call = torch.compile(model, fullgraph=True)
        with torch.set_grad_enabled(x.requires_grad):
            found = call(x)[0]
        signal.alarm(0)
    except (Exception, OutOfTime) as error:  # whatever a compiler throws is why there is no time
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return None, f"does not compile: {lines[0][:100]}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    off = float((found - expected).abs().max())
    return (call, "") if off < 1e-4 else (None, f"compiled, but its outputs differ by {off:.1e}")


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

        with torch.no_grad():
            expected = model(x)[0]
            found = np.fromfile(folder / "y.bin", np.float32).reshape(expected.shape)
            difference = float(np.abs(found - expected.numpy()).max())
            assert difference < 1e-5, f"{name}: outputs differ by {difference}"
        x.requires_grad_(options.backward)
        fast, why = None, ""
        if steps <= options.compile_steps:
            fast, why = compiled(model, x, expected, options.compile_seconds)
        if options.backward:

            def once(call):
                model.zero_grad()
                x.grad = None
                call(x)[0].sum().backward()

            what = "backward"
            once(model)
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

            def once(call):
                with torch.no_grad():
                    call(x)

            what = "go"
            once(model)
        if fast is not None:
            once(fast)  # the way back is compiled with its first call
        ours = theirs = theirs_compiled = math.inf
        for _ in range(options.rounds):
            theirs = min(theirs, block(lambda: once(model)))
            if fast is not None:
                theirs_compiled = min(theirs_compiled, block(lambda: once(fast)))
            time.sleep(0.1)  # PyTorch's threads look for more work for a while
            ours = min(ours, ask(what))
        one_step = ask("steps")
        worker.stdin.close()
    return kernel, theirs, theirs_compiled, ours, difference, one_step, why


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--worker", required=True)
    parser.add_argument("--models", default="cfc_ncp64,cfc_fc64,cfc_fc128,cfc_fc256")
    parser.add_argument("--batches", default="1,32,256")
    parser.add_argument("--lengths", default="32,128")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compile-steps", type=int, default=32, help="longest sequence for torch.compile; 0: none")
    parser.add_argument("--compile-seconds", type=int, default=300, help="most time for one compilation")
    parser.add_argument("--backward", action="store_true", help="forward and backward")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    ratios, against_compiled = [], []
    print(
        f"{'model':10} {'batch':>5} {'steps':>5} {'ncps [ms]':>10} {'compiled':>10} {'ours [ms]':>10} {'ratio':>7} "
        f"{'ratio c.':>8} {'us/step':>8} {'alone':>7} {'error':>8}  kernel"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models.split(","):
            for batch in map(int, options.batches.split(",")):
                for steps in map(int, options.lengths.split(",")):
                    kernel, eager, fast, ours, error, one_step, why = measure(
                        name, batch, steps, options, pathlib.Path(folder)
                    )
                    ratios.append((batch, eager / ours))
                    if fast < math.inf:
                        against_compiled.append(fast / ours)
                    columns = (f"{fast * 1e3:10.3f}", f"{fast / ours:8.1f}") if fast < math.inf else (f"{'-':>10}", f"{'-':>8}")
                    print(
                        f"{name:10} {batch:5} {steps:5} {eager * 1e3:10.3f} {columns[0]} {ours * 1e3:10.4f} "
                        f"{eager / ours:7.1f} {columns[1]} {ours / steps * 1e6:8.2f} {one_step * 1e6:7.2f} {error:8.1e}  "
                        f"{kernel}{'; ' + why if why else ''}",
                        flush=True,
                    )
    for title, some in [
        ("eager, all", [r for _, r in ratios]),
        ("eager, batch 1", [r for b, r in ratios if b == 1]),
        ("torch.compile", against_compiled),
    ]:
        if some:
            print(f"geometric mean against {title}: {math.exp(sum(map(math.log, some)) / len(some)):.1f} of {len(some)}")


if __name__ == "__main__":
    main()
