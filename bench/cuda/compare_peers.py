"""Times our convolutions and those of cuDNN (through PyTorch) and torch.compile in one run, in the same way: 20 calls in one
CUDA graph, inputs on the device, events around 30 replays, the median. Ours run before and after the peers, so that a
change of the card's clock between them shows.

    python3 bench/cuda/compare_peers.py path/to/tessera_cuda_bench [--mode max-autotune-no-cudagraphs] [--out results.json]
"""

import argparse
import datetime
import json
import subprocess
import tempfile

import torch
import torch.nn.functional as F

from replays import card_state, replay_us

CALLS, REPLAYS = 20, 30

# name, n, ic, oc, h, w, kernel, stride, pad, pool, relu: as bench/cuda/conv2d_bench.cpp names them
LAYERS = [
    (f"large 1x256x224x224->256 pool{pool}", 1, 256, 256, 224, 224, 3, 1, 0, pool, False) for pool in (1, 2)
] + [
    (f"small 4x{c}x32x16->{c} pool{pool}", 4, c, c, 32, 16, 3, 1, 0, pool, False) for pool in (1, 2) for c in (128, 256)
]
for n in (1, 16):
    for ic, oc, hw, k, stride, pad in (
        (64, 64, 56, 3, 1, 1), (128, 128, 28, 3, 1, 1), (256, 256, 14, 3, 1, 1), (512, 512, 7, 3, 1, 1),
        (256, 64, 56, 1, 1, 0), (1024, 256, 14, 1, 1, 0), (64, 64, 112, 3, 1, 1), (32, 64, 512, 3, 1, 1),
    ):  # fmt: skip
        LAYERS.append((f"n{n} {ic}->{oc} {hw}x{hw} k{k}s{stride}", n, ic, oc, hw, hw, k, stride, pad, 1, True))
for name, n, pool in (("n1 3->64 224x224 k7s2", 1, 1), ("n16 3->64 224x224 k7s2", 16, 1), ("n16 stem 3->64 224 k7s2 +pool2", 16, 2)):
    LAYERS.append((name, n, 3, 64, 224, 224, 7, 2, 3, pool, True))
LAYERS.append(("n1 unet 64->64 256 +pool2", 1, 64, 64, 256, 256, 3, 1, 1, 2, True))
LAYERS.append(("n8 vgg 64->64 224 +pool2", 8, 64, 64, 224, 224, 3, 1, 1, 2, True))


def ours(program):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([program, "--json", file.name], check=True, stdout=subprocess.DEVNULL)
        return {row["layer"]: row for row in json.load(open(file.name)) if row["chosen"]}


def peer_times(layer, mode):
    name, n, ic, oc, h, w, k, stride, pad, pool, relu = layer
    x = torch.randn(n, ic, h, w, device="cuda", dtype=torch.float16).to(memory_format=torch.channels_last)
    weights = torch.randn(oc, ic, k, k, device="cuda", dtype=torch.float16) / (ic * k * k) ** 0.5
    weights = weights.to(memory_format=torch.channels_last)
    bias = torch.randn(oc, device="cuda", dtype=torch.float16)

    def network(x):
        y = F.conv2d(x, weights, bias, stride=stride, padding=pad)
        if relu:
            y = F.relu(y)
        return F.max_pool2d(y, pool) if pool > 1 else y

    with torch.inference_mode():
        eager = replay_us(lambda: network(x), REPLAYS, CALLS)[0]
        compiled = None
        if mode:
            torch._dynamo.reset()
            try:
                function = torch.compile(network, mode=mode, dynamic=False)
                function(x)
                compiled = replay_us(lambda: function(x), REPLAYS, CALLS)[0]
            except Exception as error:  # one peer that fails is a gap in the table, not the end of the run
                print(f"torch.compile failed on {name}: {str(error)[:100]}")
    return eager, compiled


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("--mode", default="max-autotune-no-cudagraphs", help="of torch.compile; '' leaves it out")
    parser.add_argument("--out")
    args = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    first = ours(args.program)
    state = [card_state()]
    rows = []
    for layer in LAYERS:
        eager, compiled = peer_times(layer, args.mode)
        rows.append({"layer": layer[0], "cudnn_us": eager, "compiled_us": compiled})
        print(".", end="", flush=True)
    state.append(card_state())
    second = ours(args.program)
    print(f"\n{'layer':34} {'cuDNN':>9} {'compiled':>9} {'ours':>9} {'again':>9}  us")
    for row in rows:
        mine = first[row["layer"]]
        row.update(ours_us=mine["median_us"], ours_again_us=second[row["layer"]]["median_us"], kernel=mine["kernel"],
                   splits=mine["splits"], model_us=mine["model_us"])  # fmt: skip
        compiled = f"{row['compiled_us']:9.2f}" if row["compiled_us"] else "        -"
        print(f"{row['layer']:34} {row['cudnn_us']:9.2f} {compiled} {row['ours_us']:9.2f} {row['ours_again_us']:9.2f}  {mine['kernel']} s{mine['splits']}")
    if args.out:
        about = {"date": datetime.date.today().isoformat(), "card": torch.cuda.get_device_name(), "torch": torch.__version__,
                 "cudnn": torch.backends.cudnn.version(), "compile_mode": args.mode, "clocks_power_temperature_driver": state,
                 "calls_in_graph": CALLS, "replays": REPLAYS, "type": "float16"}  # fmt: skip
        with open(args.out, "w") as file:
            json.dump({"about": about, "rows": rows}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
