"""How the scripts of this folder time a call of PyTorch: recorded in a CUDA graph, events around its replays."""

import subprocess

import torch

WARMUPS = 10


def replay_us(call, replays, calls=1):
    """Median and minimum of one of `calls` calls in a graph, over so many replays."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(5):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    for _ in range(WARMUPS):
        graph.replay()
    times = []
    for _ in range(replays):
        before, after = torch.cuda.Event(True), torch.cuda.Event(True)
        before.record()
        graph.replay()
        after.record()
        after.synchronize()
        times.append(before.elapsed_time(after) * 1e3 / calls)
    times.sort()
    return times[len(times) // 2], times[0]


def card_state():
    query = "clocks.sm,power.draw,temperature.gpu,driver_version"
    return subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
