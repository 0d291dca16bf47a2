"""Reads safetensors files with numpy alone."""

import json
import pathlib

import numpy as np

_TYPES = {"F64": np.float64, "F32": np.float32, "I64": np.int64, "I32": np.int32}


def read(path):
    """Arrays by name, and the metadata."""
    data = pathlib.Path(path).read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    arrays = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        arrays[name] = np.frombuffer(data[begin:end], _TYPES[entry["dtype"]]).reshape(entry["shape"])
    return arrays, metadata
