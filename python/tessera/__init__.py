"""Plans, runs and simulates convolutional and liquid networks on tile machines."""

from tessera._tessera import DType, Error, InvalidArgument, Port, Session, __version__, export_onnx, parse_dtype, zoo

__all__ = [
    "DType",
    "Error",
    "InvalidArgument",
    "Port",
    "Session",
    "__version__",
    "export_onnx",
    "load",
    "parse_dtype",
    "zoo",
]


def load(path, *, threads=0, storage="float32", shapes=None, isa=None, **options):
    """A session of an ONNX file: ``load("m.onnx", threads=4)``. It takes the options of Session, and means the same."""
    return Session(path, threads=threads, storage=storage, shapes=shapes, isa=isa, **options)


# Tracebacks and help() name what people import, not where it is compiled.
for _type in (DType, Error, InvalidArgument, Port, Session):
    _type.__module__ = __name__
del _type
