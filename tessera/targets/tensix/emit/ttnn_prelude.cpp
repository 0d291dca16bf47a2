#include "tessera/targets/tensix/emit/ttnn_prelude.h"

namespace tessera::tensix {

const std::string_view kTtnnHead = R"py(
import argparse
import json
import os
import pathlib
import re
import sys
import time

import numpy as np
import ttnn

LAYERS = []  # what runs, in this order
PREPARED = {}  # weights on the card, as the first call of their layer left them
DRAM, L1 = ttnn.DRAM_MEMORY_CONFIG, ttnn.L1_MEMORY_CONFIG
TILE, ROWS = ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT


def layer(name, op, l1=None, makes=None, frees=()):
    """Adds a step. l1: the most bytes of a core's L1 that it is planned to see in use. makes: where its result is to be.
    frees: what nobody reads after it."""

    def add(body):
        def run(v):
            body(v)
            for value in frees:
                del v[value]

        LAYERS.append((name, op, l1, makes, frees, run))

    return add


def cores(*corners):
    return ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(a, b), ttnn.CoreCoord(c, d)) for a, b, c, d in corners])


def sharded(layout, shape, cores, orientation="ROW_MAJOR", place=ttnn.BufferType.L1):
    spec = ttnn.ShardSpec(cores, shape, getattr(ttnn.ShardOrientation, orientation))
    return ttnn.MemoryConfig(getattr(ttnn.TensorMemoryLayout, layout), place, spec)


def unary(name, *parameters):
    return ttnn.UnaryWithParam(getattr(ttnn.UnaryOpType, name.upper()), *parameters)


def compute(fidelity, fp32_dest_acc_en, packer_l1_acc, math_approx_mode):
    return ttnn.init_device_compute_kernel_config(
        DEVICE.arch(), math_fidelity=getattr(ttnn.MathFidelity, fidelity), math_approx_mode=math_approx_mode,
        fp32_dest_acc_en=fp32_dest_acc_en, packer_l1_acc=packer_l1_acc,
    )  # fmt: skip


def on_host(values, dtype, layout=ROWS):
    return ttnn.Tensor(np.ascontiguousarray(values, np.float32), dtype, layout=layout)


def weights(name, dtype):
    """A matrix or a row of the file in tiles in DRAM."""
    if name not in PREPARED:
        PREPARED[name] = on_host(WEIGHTS[name], dtype, TILE).to(DEVICE, DRAM)
    return PREPARED[name]


def convolution(x, name, *, image, channels, kernel, stride, padding, dilation, groups, dtype, compute_config, config,
                slices=None, memory_config=None, output_padding=None):  # fmt: skip
    batch, height, width = image
    if name not in PREPARED:
        bias = WEIGHTS.get(name + ".bias")
        PREPARED[name] = (
            on_host(WEIGHTS[name + ".weight"], ttnn.float32),
            None if bias is None else on_host(bias.reshape(1, 1, 1, -1), ttnn.float32),
        )
    weight, bias = PREPARED[name]
    slices = ttnn.Conv2dSliceConfig(**slices) if slices else ttnn.Conv2dL1FullSliceConfig
    more = {} if memory_config is None else {"memory_config": memory_config}
    if output_padding is None:
        function = ttnn.conv2d
        more["slice_config"] = slices
    else:
        function = ttnn.conv_transpose2d
        more.update(dram_slice_config=slices, output_padding=output_padding)
    y, PREPARED[name] = function(
        input_tensor=x, weight_tensor=weight, bias_tensor=bias, device=DEVICE, in_channels=channels[0],
        out_channels=channels[1], batch_size=batch, input_height=height, input_width=width, kernel_size=kernel,
        stride=stride, padding=padding, dilation=dilation, groups=groups, dtype=dtype,
        conv_config=ttnn.Conv2dConfig(**config), compute_config=compute_config, return_weights_and_bias=True, **more,
    )  # fmt: skip
    return y


)py";

const std::string_view kTtnnTail = R"py(

class Watch:
    """What lies in the L1 of a core, as captures of the graph tell it: nothing is dispatched for that.

    Programs of the newer kind show their buffers only when nothing is placed (NO_DISPATCH), and a program that is in
    the cache does not show them again; such a step is rehearsed on stand-ins of its inputs."""

    def __init__(self):
        self.graph = getattr(getattr(ttnn, "_ttnn", None), "graph", None)
        self.live = {}  # address: bytes
        self.unit = 64 if "blackhole" in str(DEVICE.arch()).lower() else 32  # in which L1 is given out

    def capture(self, mode, body):
        self.graph.begin_graph_capture(getattr(self.graph.RunMode, mode))
        error = None
        try:
            body()
        except Exception as raised:
            error = raised
        events, sums, programs = [], {}, []
        for node in self.graph.end_graph_capture():
            kind, p = node["node_type"], node["params"] or {}
            if kind in ("buffer_allocate", "buffer_deallocate"):
                if int(p["buffer_type"]) == 1:
                    events.append((kind, int(p["address"]), -(-int(p["max_size_per_bank"]) // self.unit) * self.unit))
            elif kind == "function_start" and "::" not in p["name"]:
                sums = {}
                programs.append(p["name"])
            elif kind in ("circular_buffer_allocate", "dataflow_buffer_allocate"):
                inside = p.get("globally_allocated", p.get("borrows_memory")) == "1"  # of a tensor
                for a, b, c, d in re.findall(r"(\d+)-(\d+) - (\d+)-(\d+)", p["core_range_set"]):
                    for x, y in ((x, y) for x in range(int(a), int(c) + 1) for y in range(int(b), int(d) + 1)):
                        core = (p.get("device_id"), x, y)
                        begin = -(-sums.get(core, 0) // self.unit) * self.unit
                        sums[core] = sums.get(core, 0) if inside else begin + int(p["size"])
            elif kind == "function_end" and programs and p["name"] == programs[-1]:
                events.append(("program", programs.pop(), max(sums.values()) if sums else None))
                sums = {}
        return events, error

    def run(self, body, v):
        """Runs a step; the most bytes in use meanwhile, or None where this ttnn has no captures."""
        if self.graph is None:
            body(v)
            return None
        inputs = {name: (x.shape, x.dtype, x.layout, x.memory_config()) for name, x in v.items()}
        events, error = self.capture("NORMAL", lambda: body(v))
        hidden = {}
        if error is None and any(event[0] == "program" and event[2] is None for event in events):
            known = dict(PREPARED)
            rehearsal, _ = self.capture("NO_DISPATCH", lambda: body(Stage(inputs)))
            PREPARED.update(known)
            for event in rehearsal:
                if event[0] == "program":
                    hidden.setdefault(event[1], []).append(event[2] or 0)
        peak = sum(self.live.values())
        for kind, what, size in events:
            if kind == "buffer_allocate":
                self.live[what] = size
            elif kind == "buffer_deallocate":
                self.live.pop(what, None)
            elif hidden.get(what):
                rehearsed = hidden[what].pop(0)
                size = rehearsed if size is None else size
            peak = max(peak, sum(self.live.values()) + (size or 0 if kind == "program" else 0))
        if error is not None:
            raise error
        return peak


class Stage(dict):
    """Stand-ins of the tensors that a step reads, made when it asks for them."""

    def __init__(self, specs):
        super().__init__()
        self.specs = specs

    def __missing__(self, name):
        self[name] = ttnn.allocate_tensor_on_device(*self.specs[name][:3], DEVICE, self.specs[name][3])
        return self[name]

    def __delitem__(self, name):
        self.pop(name, None)


def reason(error):
    text = str(error).split("backtrace:")[0].split("info:")[-1]
    return re.sub(r"\s+", " ", text).strip()[:300]


def place(shape, dtype, layout, memory):
    words = [str(list(shape)), *(str(each).split(".")[-1].split("::")[-1] for each in (dtype, layout))]
    words += [str(each).split(".")[-1].split("::")[-1] for each in (memory.buffer_type, memory.memory_layout)]
    if memory.shard_spec is not None:
        words += [str(list(memory.shard_spec.shape)), str(memory.shard_spec.grid)]
    return " ".join(words)


def differs(x, makes):
    """How a result lies elsewhere than planned."""
    planned, found = place(*makes[1:]), place(x.shape, x.dtype, x.layout, x.memory_config())
    return "" if planned == found else f"planned {planned}, found {found}"


def stand_in(v, makes, frees):
    for value in (makes[0], *frees):
        v.pop(value, None)
    name, shape, dtype, layout, memory = makes
    v[name] = ttnn.allocate_tensor_on_device(ttnn.Shape(shape), dtype, layout, DEVICE, memory)


def try_layers(v):
    """Every layer once, watched. A result that a refused one owes to later ones is put where it was planned."""
    watch, accepted, total, measured, same, moves = Watch(), 0, 0, 0, 0, 0
    for name, op, planned, makes, frees, body in LAYERS:
        total += makes is not None
        try:
            peak = watch.run(body, v)
        except (RuntimeError, ValueError, TypeError) as error:
            moves += makes is None
            print(f"{name} ({op}): refused: {reason(error)}", flush=True)
            if makes is not None:
                try:
                    watch.run(lambda v, each=(makes, frees): stand_in(v, *each), v)
                except RuntimeError as again:
                    print(f"no room for a stand-in of '{makes[0]}': {reason(again)}")
                    total = sum(1 for each in LAYERS if each[3] is not None)
                    break
            continue
        accepted += makes is not None
        other = differs(v[makes[0]], makes) if makes and makes[0] in v else ""
        if peak is not None:
            measured += 1
            same += peak == planned
            print(f"{name} ({op}): L1 {planned} B planned, {peak} B found{'' if peak == planned else ' (differs)'}", flush=True)
        if other:
            print(f"{name} ({op}): its result lies elsewhere: {other}", flush=True)
    if measured:
        print(f"{same} of {measured} peaks of L1 as planned")
    return accepted, total, moves


def run_layers(v):
    for *_, body in LAYERS:
        body(v)
    return v


def passes(arrays):
    """The batch in parts of so many images as go through the layers at a time; the last one is filled up with zeros."""
    if not PASS:
        return [arrays]
    parts = []
    for first in range(0, len(next(iter(arrays.values()))), PASS):
        part = {name: x[first : first + PASS] for name, x in arrays.items()}
        parts.append({name: np.concatenate([x, np.zeros((PASS - len(x), *x.shape[1:]), x.dtype)]) for name, x in part.items()})
    return parts


def joined(parts):
    return {name: np.concatenate([part[name] for part in parts])[: OUTPUTS[name][0][0]] for name in OUTPUTS}


def send(arrays):
    host = {name: on_host(rows(name, x), INPUT_DTYPE) for name, x in arrays.items()}
    if CARDS == 1:
        return host
    mapper = ttnn.shard_tensor_to_mesh_mapper(DEVICE, 2)  # each card has the rows of its images
    return {name: ttnn.distribute_tensor(x, mapper) for name, x in host.items()}


def rows(name, x):
    """N C ... as the card has it: a row for each pixel, a column for each channel. Of a folded image, pixels that a
    stride takes at once are side by side in the channels of one."""
    x = x.reshape(x.shape[0] // IMAGES, x.shape[1] * IMAGES, *x.shape[2:])
    if name in FOLDS:
        height, width, by_h, by_w, top, left = FOLDS[name]
        n, c, h, w = *x.shape[:2], min(x.shape[2], height * by_h - top), min(x.shape[3], width * by_w - left)
        image = np.zeros((n, c, height * by_h, width * by_w), np.float32)
        image[:, :, top : top + h, left : left + w] = x[:, :, :h, :w]
        image = image.reshape(n, c, height, by_h, width, by_w).transpose(0, 3, 5, 1, 2, 4)
        x = image.reshape(n, by_h * by_w * c, height, width)
    x = np.moveaxis(x, 1, -1)
    return x.reshape(1, 1, -1, x.shape[-1])


def received(y, shape, pixels, columns=1):
    """The array that rows of the card stand for. columns: the dimension of the array that they are."""
    y = y.cpu()
    if CARDS > 1:
        y = ttnn.aggregate_tensor(y, ttnn.concat_mesh_to_tensor_composer(DEVICE, len(y.shape) - 2))
    y = np.asarray(y.to_numpy(), np.float32).reshape(-1)
    shape = (PASS or shape[0], *shape[1:])
    if columns != 1:
        rest = (*shape[:columns], *shape[columns + 1 :])
        return np.ascontiguousarray(np.moveaxis(y.reshape(*rest, shape[columns]), -1, columns))
    batch, channels, rest = shape[0] // IMAGES, shape[1] * IMAGES // pixels, tuple(shape[2:]) if pixels == 1 else (pixels,)
    return np.ascontiguousarray(np.moveaxis(y.reshape(batch, *rest, channels), -1, 1)).reshape(shape)


def replay(arrays, runs):
    """The whole network as a trace; with two queues, one writes inputs when the trace before has read its own."""
    hosts = [send(part) for part in passes(arrays)]
    inputs = {name: x.to(DEVICE, PLACES.get(name, DRAM)) for name, x in hosts[0].items()}
    trace = ttnn.begin_trace_capture(DEVICE, cq_id=0)
    results = run_layers(dict(inputs))
    ttnn.end_trace_capture(DEVICE, trace, cq_id=0)
    ttnn.synchronize_device(DEVICE)
    began, writer = time.perf_counter(), QUEUES - 1
    done = ttnn.record_event(DEVICE, 0)
    for host in hosts * runs:
        if writer:
            ttnn.wait_for_event(writer, done)
        for name, x in host.items():
            ttnn.copy_host_to_device_tensor(x, inputs[name], cq_id=writer)
        if writer:
            ttnn.wait_for_event(0, ttnn.record_event(DEVICE, writer))
        ttnn.execute_trace(DEVICE, trace, cq_id=0, blocking=False)
        done = ttnn.record_event(DEVICE, 0)
    ttnn.synchronize_device(DEVICE)
    elapsed = time.perf_counter() - began
    parts = []
    for host in hosts:
        for name, x in host.items():
            ttnn.copy_host_to_device_tensor(x, inputs[name], cq_id=0)
        ttnn.execute_trace(DEVICE, trace, cq_id=0, blocking=True)
        parts.append({name: received(results[name], *OUTPUTS[name]) for name in OUTPUTS})
    ttnn.release_trace(DEVICE, trace)
    print(f"{1e3 * elapsed / runs:.3f} ms a batch over {runs} runs")
    return joined(parts)


def run_passes(arrays):
    parts = []
    for part in passes(arrays):
        v = run_layers({name: x.to(DEVICE, PLACES.get(name, DRAM)) for name, x in send(part).items()})
        parts.append({name: received(v[name], *OUTPUTS[name]) for name in OUTPUTS})
    return joined(parts)


def main():
    global DEVICE, WEIGHTS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only try every layer (what a mocked card can do)")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy", help="default: normal numbers")
    parser.add_argument("--output", metavar="DIR", help="write each output as NAME.npy")
    parser.add_argument("--runs", type=int, default=0, metavar="N", help="also run so often, from a trace if planned")
    parser.add_argument("--device-id", type=int, default=0, help="of a plan for one card")
    parser.add_argument("--mesh-shape", default=f"1x{CARDS}", help="of a plan for several: rows x columns")
    arguments = parser.parse_args()
    here = pathlib.Path(__file__).resolve().parent
    WEIGHTS = read_safetensors(here / WEIGHTS_FILE) if WEIGHTS_FILE else {}
    random = np.random.default_rng(0)
    arrays = {name: random.standard_normal(shape).astype(np.float32) for name, shape in INPUTS.items()}
    for each in arguments.input:
        name, _, file = each.rpartition("=")
        name = name or next(iter(INPUTS))
        if name not in INPUTS:
            parser.error(f"there is no input '{name}': {', '.join(INPUTS)}")
        arrays[name] = np.load(file).astype(np.float32)
        if arrays[name].shape != INPUTS[name]:
            parser.error(f"'{file}' is {arrays[name].shape}, but '{name}' is {INPUTS[name]}")
    check = arguments.check or "TT_METAL_MOCK_CLUSTER_DESC_PATH" in os.environ
    more = {} if check else {"trace_region_size": TRACE_REGION, "num_command_queues": QUEUES}
    if CARDS == 1:
        DEVICE = ttnn.open_device(device_id=arguments.device_id, l1_small_size=L1_SMALL, **more)
    else:
        shape = [int(n) for n in arguments.mesh_shape.split("x")]
        if len(shape) != 2 or shape[0] * shape[1] != CARDS:
            parser.error(f"--mesh-shape {arguments.mesh_shape}: the plan is for {CARDS} cards")
        DEVICE = ttnn.open_mesh_device(ttnn.MeshShape(*shape), l1_small_size=L1_SMALL, **more)
    try:
        v = {name: x.to(DEVICE, PLACES.get(name, DRAM)) for name, x in send(passes(arrays)[0]).items()}
        accepted, total, moves = try_layers(v)
        if not check and accepted == total and not moves:
            v.clear()
            outputs = run_passes(arrays)
            if arguments.runs and TRACE:
                outputs = replay(arrays, arguments.runs)
            elif arguments.runs:
                began = time.perf_counter()
                for _ in range(arguments.runs):
                    outputs = run_passes(arrays)
                print(f"{1e3 * (time.perf_counter() - began) / arguments.runs:.3f} ms a batch over {arguments.runs} runs")
            if arguments.output:
                folder = pathlib.Path(arguments.output)
                folder.mkdir(parents=True, exist_ok=True)
                for name, y in outputs.items():
                    np.save(folder / (re.sub(r"[^\w.-]", "_", name) + ".npy"), y)
        v.clear()
        PREPARED.clear()
    finally:
        (ttnn.close_device if CARDS == 1 else ttnn.close_mesh_device)(DEVICE)
    print(f"{accepted} of {total} layers accepted")
    return 0 if accepted == total and not moves else 1


if __name__ == "__main__":
    sys.exit(main())
)py";

}  // namespace tessera::tensix
