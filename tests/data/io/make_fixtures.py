"""Makes the files of this folder with the real numpy and safetensors (see README.md).

    python3 -m venv /tmp/fixtures && /tmp/fixtures/bin/pip install numpy==2.4.6 ml_dtypes==0.6.0 safetensors==0.8.0
    /tmp/fixtures/bin/python make_fixtures.py

Values count up from 1 in C order (bool: alternate, starting with True), so that tests can say what every element is.
"""

import io
import pathlib
import zipfile

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent


def counting(dtype, shape, order="C"):
    count = int(np.prod(shape, dtype=np.int64))
    values = np.arange(count) % 2 == 0 if np.dtype(dtype) == bool else np.arange(1, count + 1)
    return np.asarray(values.astype(dtype).reshape(shape), order=order)


def write_npy(name, array, version=(1, 0)):
    with open(HERE / name, "wb") as file:
        np.lib.format.write_array(file, array, version=version, allow_pickle=False)


for code in "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1".split():
    write_npy(f"{code}.npy", counting(code, (2, 3)))
    if code[1] != "1":
        write_npy(f"{code}_big.npy", counting(">" + code, (2, 3)))
write_npy("bf16.npy", counting(ml_dtypes.bfloat16, (2, 3)))
write_npy("bf16_void.npy", counting(ml_dtypes.bfloat16, (2, 3)).view("V2"))
write_npy("f4_fortran.npy", counting("f4", (2, 3, 4), order="F"))
write_npy("f8_fortran_big.npy", counting(">f8", (3, 2), order="F"))
write_npy("f4_version2.npy", counting("f4", (5,)), version=(2, 0))
write_npy("f4_version3.npy", counting("f4", (5,)), version=(3, 0))
write_npy("f4_scalar.npy", counting("f4", ()))
write_npy("f4_empty.npy", counting("f4", (3, 0, 2)))

arrays = {"weight": counting("f4", (2, 3)), "mask": counting("b1", (4,)), "größe": counting("i8", ())}
np.savez(HERE / "stored.npz", **arrays)
np.savez_compressed(HERE / "deflated.npz", **arrays, zeros=np.zeros((64, 64), "f4"))
np.savez(HERE / "empty.npz")

# What a 64-bit archive looks like, in little: sizes and offset of the member only in the extension.
def zip64(array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array)
    limit = zipfile.ZIP64_LIMIT
    zipfile.ZIP64_LIMIT = 16
    try:
        with zipfile.ZipFile(HERE / "zip64.npz", "w") as archive:
            archive.writestr("a.npy", buffer.getvalue())
            archive.writestr("b.npy", buffer.getvalue())
    finally:
        zipfile.ZIP64_LIMIT = limit

zip64(counting("i4", (3,)))

names = {
    "bool": bool, "u8": "u1", "i8": "i1", "i16": "i2", "u16": "u2", "f16": "f2", "i32": "i4", "u32": "u4", "f32": "f4",
    "f64": "f8", "i64": "i8", "u64": "u8", "bf16": ml_dtypes.bfloat16,
}
tensors = {f"{prefix}.{key}": counting(dtype, (2, 3)) for prefix in "ba" for key, dtype in names.items()}
tensors['quote " back \\ line \n é'] = counting("f4", ())
tensors["empty"] = counting("f4", (0, 3))
save_file(tensors, HERE / "all.safetensors", metadata={"format": "np"})
save_file({"x": counting("u1", (5,)), "y": counting("f4", (2,))}, HERE / "plain.safetensors")
save_file({}, HERE / "empty.safetensors")
