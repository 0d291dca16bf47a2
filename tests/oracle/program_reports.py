#!/usr/bin/env python3
"""EnableMemoryReports: which ops write a row, with which program id, and the files' contents. usage: program_reports.py OUT.json"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

if sys.argv[1] != "--child":
    with tempfile.TemporaryDirectory() as tmp:
        # a child, because two of the files are flushed only when the process ends
        p = subprocess.run([sys.executable, os.path.abspath(__file__), "--child"], cwd=tmp, env=dict(os.environ, TT_METAL_LOGS_PATH=tmp), stdout=subprocess.PIPE, text=True)
        steps = json.loads([x for x in p.stdout.splitlines() if x.startswith("STEPS ")][-1][6:])
        files = {}
        for f in sorted(glob.glob(os.path.join(tmp, "generated", "reports", "*"))):
            with open(f) as h:
                text = h.read()
            files[os.path.basename(f)] = text if len(text) < 12000 else text[:12000] + "...cut"
    with open(sys.argv[1], "w") as f:
        json.dump({"steps": steps, "files": files}, f, indent=1)
    print(len(steps), "steps,", len(files), "files")
    sys.exit(0)

import ttnn  # noqa: E402
from ops_common import CONFIGS, source  # noqa: E402

dev = ttnn.open_device(device_id=0, l1_small_size=0)
steps, keep = [], []


def step(name, fn):
    if steps and steps[-1] is None:
        return
    try:
        keep.append(fn())
    except AttributeError:  # an operation that this ttnn does not have: what follows cannot be compared
        steps.append(None)
        return
    ids = []
    for f in glob.glob(os.path.join("generated", "reports", "program_detailed_memory_usage.csv")):
        with open(f) as h:
            ids = [int(x) for x in re.findall(r"^(\d+),DRAM", h.read(), re.M)]
    steps.append([name, ids])


a = source(dev, "l1")
step("relu before enabling", lambda: ttnn.relu(a))
ttnn.device.EnableMemoryReports()
step("allocate", lambda: source(dev, "hs4"))
hs = keep[-1]
step("relu again (cached)", lambda: ttnn.relu(a))
step("relu sharded", lambda: ttnn.relu(hs))
step("relu sharded again", lambda: ttnn.relu(hs))
step("to_memory_config same", lambda: ttnn.to_memory_config(a, ttnn.L1_MEMORY_CONFIG))
step("to_memory_config copy", lambda: ttnn.to_memory_config(a, ttnn.DRAM_MEMORY_CONFIG))
step("to_memory_config i2s", lambda: ttnn.to_memory_config(a, CONFIGS["ws4"]()))
step("reshard", lambda: ttnn.reshard(hs, CONFIGS["ws4"]()))
step("sharded_to_interleaved", lambda: ttnn.sharded_to_interleaved(hs, ttnn.L1_MEMORY_CONFIG))
step("to_layout", lambda: ttnn.to_layout(a, ttnn.ROW_MAJOR_LAYOUT))
step("typecast", lambda: ttnn.typecast(a, ttnn.float32))
step("slice unaligned", lambda: ttnn.slice(a, [0, 0, 5, 7], [1, 1, 50, 70]))
step("concat", lambda: ttnn.concat([a, a], 3))
step("reshape view", lambda: ttnn.reshape(a, [128, 128]))
step("add", lambda: ttnn.add(a, a))
step("to_device", lambda: ttnn.to_device(ttnn.zeros([64, 64], ttnn.bfloat16, ttnn.TILE_LAYOUT), dev))
step("dump", lambda: ttnn.dump_device_memory_state(dev, prefix="d_"))
ttnn.device.DisableMemoryReports()
step("exp after disabling", lambda: ttnn.exp(a))
print("STEPS " + json.dumps(steps))
ttnn.close_device(dev)
