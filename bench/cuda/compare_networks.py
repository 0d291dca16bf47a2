"""Times whole networks of ours and those of cuDNN (through PyTorch) and torch.compile in one run, in the same way: each
replayed as one CUDA graph, events around every replay, the median. Ours run before and after the peers, so that a change
of the card's clock between them shows. Ours take float32 images with channels first and give float32 back, and the casts
are in their time; the peers' inputs are float16 with channels last.

    python3 bench/cuda/compare_networks.py path/to/tessera_cuda_networks_bench [--seconds 300] [--out results.json]
"""

import argparse
import datetime
import json
import subprocess
import tempfile
import time

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from replays import card_state, replay_us

REPLAYS = 60


def convs(inputs, outputs):
    layers = []
    for channels in (inputs, outputs):
        layers += [nn.Conv2d(channels, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Five levels of 32 to 512 channels, transposed convolutions on the way up: the zoo's unet."""

    def __init__(self):
        super().__init__()
        levels = [32, 64, 128, 256, 512]
        self.down = nn.ModuleList(convs(i, o) for i, o in zip([3] + levels, levels))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * c, c, 2, 2) for c in reversed(levels[:-1]))
        self.join = nn.ModuleList(convs(2 * c, c) for c in reversed(levels[:-1]))
        self.out = nn.Conv2d(32, 2, 1)

    def forward(self, x):
        skips = []
        for level, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if level > 0 else x)
            skips.append(x)
        skips.pop()
        for up, join in zip(self.up, self.join):
            x = join(torch.cat([skips.pop(), up(x)], 1))
        return self.out(x)


# The zoo's name, the peer's network, the size of its images.
NETWORKS = {
    "resnet18": (torchvision.models.resnet18, 224),
    "resnet50": (torchvision.models.resnet50, 224),
    "mobilenet_v2": (torchvision.models.mobilenet_v2, 224),
    "unet": (UNet, 256),
    "vgg16": (torchvision.models.vgg16, 224),
    "efficientnet_like": (torchvision.models.efficientnet_b0, 224),
    "vit_b_16": (torchvision.models.vit_b_16, 224),
    "convnext_tiny": (torchvision.models.convnext_tiny, 224),
    "swin_t": (torchvision.models.swin_t, 224),
}


def ours(program, names):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([program, "--networks", ",".join(names), "--json", file.name], check=True)
        return {(row["network"], row["batch"]): row for row in json.load(open(file.name))}


def peer_times(name, batch, compiles):
    make, size = NETWORKS[name]
    torch.manual_seed(0)
    network = make().eval().cuda().half().to(memory_format=torch.channels_last)
    x = torch.randn(batch, 3, size, size, device="cuda", dtype=torch.half).to(memory_format=torch.channels_last)
    with torch.inference_mode():
        eager = replay_us(lambda: network(x), REPLAYS)[0] / 1e3
        if not compiles:
            return eager, None, None
        torch._dynamo.reset()
        begin = time.time()
        try:
            function = torch.compile(network, dynamic=False)
            function(x)
            seconds = time.time() - begin
            return eager, replay_us(lambda: function(x), REPLAYS)[0] / 1e3, seconds
        except Exception as error:  # one peer that fails is a gap in the table, not the end of the run
            print(f"torch.compile failed on {name}: {str(error)[:100]}")
            return eager, None, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=300, help="for the peers: those that are left then are gaps")
    parser.add_argument("--networks", default=",".join(NETWORKS), help="those to run, as the zoo names them")
    parser.add_argument("--out")
    args = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    names = args.networks.split(",")
    first, begin, rows = ours(args.program, names), time.time(), []
    state = [card_state()]
    for name in names:
        for batch in (1, 16):
            left = args.seconds - (time.time() - begin)
            eager, compiled, seconds = peer_times(name, batch, left > 20) if left > 5 else (None, None, None)
            rows.append({"network": name, "batch": batch, "cudnn_ms": eager, "compiled_ms": compiled, "compile_s": seconds})
    state.append(card_state())
    second = ours(args.program, names)
    text = lambda value: f"{value:9.3f}" if value else "        -"
    print(f"{'network':18} {'batch':>5} {'cuDNN':>9} {'compiled':>9} {'ours':>9} {'again':>9}  ms")
    for row in rows:
        key = (row["network"], row["batch"])
        row.update(ours_ms=first[key]["median_ms"], ours_again_ms=second[key]["median_ms"], model_ms=first[key]["model_ms"])
        print(f"{key[0]:18} {key[1]:5} {text(row['cudnn_ms'])} {text(row['compiled_ms'])} {text(row['ours_ms'])} {text(row['ours_again_ms'])}")
    document = {
        "date": datetime.date.today().isoformat(),
        "card": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cudnn": torch.backends.cudnn.version(),
        "clock_power_temperature_driver": state,
        "replays": REPLAYS,
        "rows": rows,
    }
    if args.out:
        with open(args.out, "w") as file:
            json.dump(document, file, indent=1)


if __name__ == "__main__":
    main()
