"""Plans, runs and simulates convolutional and liquid networks on tile machines."""

from tessera._tessera import DType, Error, InvalidArgument, __version__, parse_dtype

__all__ = ["DType", "Error", "InvalidArgument", "__version__", "parse_dtype"]

# Tracebacks and help() name what people import, not where it is compiled.
for _type in (DType, Error, InvalidArgument):
    _type.__module__ = __name__
del _type
