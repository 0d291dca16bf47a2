#!/usr/bin/env python3
"""Networks of the zoo, or ONNX files, on Tessera and on ONNX Runtime: rounds of runs by turns, medians, and their ratio.

    python bench/peers/compare_onnxruntime.py [MODEL ...] [--tessera build/tessera] [--threads 2] [--rounds 5]

Needs the packages onnxruntime and numpy. The runtime stays in this process and rests while the command runs, and the
other way round. A ratio above 1 means that Tessera is faster. Everything printed is measured.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ZOO = ["resnet18", "resnet50", "mobilenet_v2", "efficientnet_like", "vgg16", "unet", "vanilla_unet", "shallow_unet", "yolo_like"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("models", nargs="*", default=ZOO, help="names of the zoo or .onnx files with fixed shapes")
    parser.add_argument("--tessera", default="build/tessera")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each side of a round")
    parser.add_argument("--json", help="write every time to this file")
    return parser.parse_args()


def random_feed(session, numpy):
    kinds = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64, "tensor(bool)": numpy.bool_}
    random = numpy.random.default_rng(0)
    feed = {}
    for node in session.get_inputs():
        shape = [extent if isinstance(extent, int) else 1 for extent in node.shape]
        kind = kinds[node.type]
        values = random.standard_normal(shape) if kind == numpy.float32 else random.integers(0, 2, shape)
        feed[node.name] = values.astype(kind)
    return feed


def timed(run, seconds):
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def tessera_times(args, model, feed_file):
    command = [args.tessera, "bench", model, "--threads", str(args.threads), "--seconds", str(args.seconds)]
    command += ["--input", feed_file, "--format", "json"]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def main():
    args = arguments()
    try:
        import numpy
        import onnxruntime
    except ImportError as error:
        sys.exit(f"error: {error}: pip install onnxruntime numpy")
    rows = []
    print(f"{'network':18} {'tessera ms':>11} {'onnxruntime ms':>15} {'ratio':>7}   threads {args.threads}, "
          f"onnxruntime {onnxruntime.__version__}, measured")
    with tempfile.TemporaryDirectory() as folder:
        for model in args.models:
            path = model
            if not os.path.exists(model):
                path = str(pathlib.Path(folder) / f"{model}.onnx")
                subprocess.run([args.tessera, "export", model, path, "--quiet"], check=True, stdout=subprocess.DEVNULL)
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = args.threads
            session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            feed = random_feed(session, numpy)
            feed_file = str(pathlib.Path(folder) / "feed.npz")
            numpy.savez(feed_file, **feed)
            run = lambda: session.run(None, feed)
            run(), run()
            ours, theirs = [], []
            for _ in range(args.rounds):
                ours.append(tessera_times(args, path, feed_file)["median_ms"])
                run()
                theirs.append(statistics.median(timed(run, args.seconds)))
            mine, peer = statistics.median(ours), statistics.median(theirs)
            rows.append({"name": model, "tessera_ms": mine, "onnxruntime_ms": peer, "ratio": peer / mine,
                         "tessera_rounds_ms": ours, "onnxruntime_rounds_ms": theirs})
            print(f"{pathlib.Path(model).stem:18} {mine:11.3f} {peer:15.3f} {peer / mine:7.2f}", flush=True)
    if len(rows) > 1:
        mean = statistics.geometric_mean(row["ratio"] for row in rows)
        print(f"{'geometric mean':18} {'':11} {'':15} {mean:7.2f}")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
