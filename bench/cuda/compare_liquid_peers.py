"""Times our liquid layers and the same cells in PyTorch (as ncps has them) in one run, in the same way: a whole sequence
as one CUDA graph, inputs on the device, events around replays, median and minimum. PyTorch's products use tf32 where ours
do. Ours run before and after the peers, so that a change of the card's clock between them shows.

    python3 bench/cuda/compare_liquid_peers.py path/to/tessera_cuda_liquid_bench [--out results.json] [--no-compile]
"""

import argparse
import datetime
import json
import subprocess
import tempfile
import time

import torch
import torch.nn as nn

from replays import card_state, replay_us

REPLAYS = 100
STEPS = 128
# samples, inputs, units, width of the backbone: as bench/cuda/liquid_bench.cpp has them
LAYERS = [(1, 16, 64, 128), (32, 16, 64, 128), (256, 16, 256, 128), (1024, 32, 256, 256), (64, 64, 128, 128)]


class CfC(nn.Module):
    def __init__(self, inputs, units, width):
        super().__init__()
        self.units = units
        self.backbone = nn.Sequential(nn.Linear(inputs + units, width), nn.Tanh())
        self.ff1, self.ff2 = nn.Linear(width, units), nn.Linear(width, units)
        self.time_a, self.time_b = nn.Linear(width, units), nn.Linear(width, units)

    def forward(self, x, elapsed=1.0):
        h = x.new_zeros(x.shape[0], self.units)
        states = []
        for t in range(x.shape[1]):
            z = self.backbone(torch.cat([x[:, t], h], 1))
            gate = torch.sigmoid(self.time_a(z) * elapsed + self.time_b(z))
            h = torch.tanh(self.ff1(z)) * (1 - gate) + gate * torch.tanh(self.ff2(z))
            states.append(h)
        return torch.stack(states, 1)


def make_peer(layer):
    samples, inputs, units, width = layer
    return CfC(inputs, units, width).cuda().eval(), torch.randn(samples, STEPS, inputs, device="cuda")


def eager_times(layer):
    model, x = make_peer(layer)
    median, minimum = replay_us(lambda: model(x), REPLAYS)
    return {"eager_us": median, "eager_minimum_us": minimum}


def compiled_times(layer):
    model, x = make_peer(layer)
    torch._dynamo.reset()
    try:
        start = time.perf_counter()
        compiled = torch.compile(model)
        compiled(x)
        seconds = time.perf_counter() - start
        median, minimum = replay_us(lambda: compiled(x), REPLAYS)
    except Exception as error:  # one peer that fails is a gap in the table, not the end of the run
        print(f"torch.compile failed on {layer}: {str(error)[:100]}")
        return {}
    return {"compiled_us": median, "compiled_minimum_us": minimum, "compile_s": seconds}


def ours(program):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([program, "--json", file.name], check=True, stdout=subprocess.DEVNULL)
        return {row["layer"]: row for row in json.load(open(file.name))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out: it takes a minute for each layer")
    parser.add_argument("--layers", type=int, default=len(LAYERS), help="only so many of them")
    parser.add_argument("--out")
    parser.add_argument("--seconds", type=float, default=300, help="after which no further layer is compiled")
    args = parser.parse_args()
    first = ours(args.program)
    begin = time.perf_counter()
    state = [card_state()]
    rows = {}
    with torch.inference_mode():
        for layer in LAYERS[: args.layers]:
            samples, inputs, units, width = layer
            for precision in ("tf32", "f32"):
                torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
                name = f"CfC n{samples} T{STEPS} in{inputs} h{units} bb{width} {precision}"
                rows[name] = {"layer": name, **eager_times(layer)}
                print(f"{name:34} eager {rows[name]['eager_us']:9.1f} us", flush=True)
        # Last, since it takes a minute for each: 128 steps are one graph of the compiler.
        torch.backends.cuda.matmul.allow_tf32 = True
        for layer in [] if args.no_compile else LAYERS[: args.layers]:
            samples, inputs, units, width = layer
            name = f"CfC n{samples} T{STEPS} in{inputs} h{units} bb{width} tf32"
            if time.perf_counter() - begin > args.seconds:
                print(f"{name:34} is not compiled: {args.seconds:.0f} s are over")
                continue
            rows[name].update(compiled_times(layer))
            print(f"{name:34} compiled {rows[name].get('compiled_us', 0):9.1f} us", flush=True)
    state.append(card_state())
    second = ours(args.program)
    print(f"\n{'layer':34} {'eager':>9} {'compiled':>9} {'ours':>9} {'again':>9}  us")
    for row in rows.values():
        mine = first[row["layer"]]
        row.update(ours_us=mine["median_us"], ours_minimum_us=mine["minimum_us"],
                   ours_again_us=second[row["layer"]]["median_us"], kernel=mine["kernel"], cluster=mine["cluster"],
                   model_us=mine["model_us"], deviation=mine["deviation"])  # fmt: skip
        compiled = f"{row['compiled_us']:9.1f}" if row.get("compiled_us") else "        -"
        print(f"{row['layer']:34} {row['eager_us']:9.1f} {compiled} {row['ours_us']:9.1f} {row['ours_again_us']:9.1f}  {mine['kernel']} x{mine['cluster']}")
    if args.out:
        about = {"date": datetime.date.today().isoformat(), "card": torch.cuda.get_device_name(), "torch": torch.__version__,
                 "clocks_power_temperature_driver": state, "replays": REPLAYS, "calls_in_graph": 1}  # fmt: skip
        with open(args.out, "w") as file:
            json.dump({"about": about, "rows": list(rows.values()), "ours": list(first.values())}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
