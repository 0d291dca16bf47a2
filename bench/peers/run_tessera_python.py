"""Tessera through its Python package (build/python): numpy arrays in and out."""

import importlib.metadata

import tessera

VERSION = f"tessera {getattr(tessera, '__version__', '') or importlib.metadata.version('tessera')}, Python package"


def load(model, x, dtype, threads):
    session = tessera.Session(model, threads=threads, storage={"f32": "float32", "bf16": "bfloat16"}[dtype])
    session.plan_summary([x])
    return lambda: session.run([x])


def arrays(outputs):
    return outputs
