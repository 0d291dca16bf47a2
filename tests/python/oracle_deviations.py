"""Where Tessera means to differ from the real ttnn, and why. Each entry says exactly which answers it excuses."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

Record = dict[str, Any]

# Whole numbers and decimals that stand alone: not the 8 of BFLOAT8_B, not the 2 of 2D.
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?!\w)")


def agree(real: Any, ours: Any) -> bool:
    """Equal values. Refusals agree if ours names every number that the real one names; sentences are our own."""
    if isinstance(real, dict) and isinstance(ours, dict):
        if "text" in real and "text" in ours:
            return real.get("type") == "TypeError" or _numbers_of(real["text"]) <= _numbers_of(ours["text"])
        return real.keys() == ours.keys() and all(agree(real[k], ours[k]) for k in real)
    if isinstance(real, list) and isinstance(ours, list):
        return len(real) == len(ours) and all(map(agree, real, ours))
    if isinstance(real, str) and isinstance(ours, str) and real.startswith("Out of Memory"):
        return ours.startswith("Out of Memory") and _numbers_of(real) <= _numbers_of(ours)
    return real == ours


def _numbers_of(text: str) -> set[str]:
    return set(_NUMBER.findall(text))


def differing(real: Record, ours: Record) -> set[str]:
    return {key for key in real.keys() | ours.keys() if not agree(real.get(key), ours.get(key))}


@dataclasses.dataclass(frozen=True)
class Deviation:
    scripts: str  # separated by spaces
    reason: str
    excuses: Callable[[Record, Record], bool]


def _refused(record: Record) -> bool:
    return record.get("ok") is False


def _text(record: Record) -> str:
    return record["error"]["text"] if _refused(record) else ""


def _is_absent(record: Record) -> bool:
    return _refused(record) and record["error"]["type"] == "AttributeError"


def _is_missing(record: Record) -> bool:
    return _refused(record) and record["error"]["type"] == "Missing"


def _asks(*questions: str) -> Callable[[Record, Record], bool]:
    return lambda real, ours: real.get("q") in questions


def _only_address_differs(real: Record, ours: Record) -> bool:
    if differing(real, ours) != {"got"} or not isinstance(ours["got"], dict):
        return False
    return differing(real["got"], ours["got"]) == {"addr"}


def _only_place_differs(real: Record, ours: Record) -> bool:
    return differing(real, ours) <= {"got", "used"} and differing(real["got"], ours["got"]) <= {"addr"}


def _without_addresses(got: Any) -> Any:
    if isinstance(got, list):
        return [_without_addresses(each) for each in got]
    return {key: got[key] for key in got if key != "addr"} if isinstance(got, dict) else got


def _only_addresses_differ(real: Record, ours: Record) -> bool:
    return differing(real, ours) <= {"got", "used"} and agree(_without_addresses(real["got"]), _without_addresses(ours["got"]))


def _later(op: str) -> Callable[[Record, Record], bool]:
    """The same result, but the real one placed it after temporaries that we do not make (or make elsewhere)."""
    return lambda real, ours: real["op"] == op and _only_address_differs(real, ours)


def _without_logical_shapes(got: Any) -> Any:
    """The tensors of an answer by what they take in memory."""
    if isinstance(got, list):
        return [_without_logical_shapes(each) for each in got]
    return {key: got[key] for key in got if key != "shape"} if isinstance(got, dict) else got


def _only_shapes_of_prepared_differ(real: Record, ours: Record) -> bool:
    if differing(real, ours) != {"got"}:
        return False
    a, b = real["got"], ours["got"]
    if real["op"].startswith("conv"):  # the result itself has its shape
        if not agree(a[0], b[0]):
            return False
        a, b = a[1:], b[1:]
    return agree(_without_logical_shapes(a), _without_logical_shapes(b))


_ZEROS = "ttnn.Tensor([[ 0.0000,  0.0000,  0.0000],\n             [ 0.0000,  0.0000,  0.0000]]"
_VALUES = "ttnn.Tensor([[ 0.0000,  1.0000,  2.0000],\n             [ 3.0000,  4.0000,  5.0000]]"

DEVIATIONS = [
    # --- cores ---
    Deviation("cores", "two equal CoreGrids are equal", lambda real, ours: ours.get("got") == [True, False] and real["q"] == "CoreGrid equal"),
    # --- api ---
    Deviation(
        "api",
        "int8 and fp8_e4m3 are not there, float16 is ours, nothing is INVALID",
        lambda real, ours: real["q"].split()[-1] in ("int8", "fp8_e4m3", "Layout", "DataType"),
    ),
    Deviation("api", "a TensorSpec says what it is", lambda real, ours: str(ours.get("got")).startswith("TensorSpec(shape=")),
    Deviation(
        "api",
        "a mocked card reads back zeros, ours reads back what was written",
        lambda real, ours: (str(real.get("got")).startswith(_ZEROS) and str(ours.get("got")).startswith(_VALUES))
        or (real["q"] == "device.to_list" and ours.get("got") == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]),
    ),
    Deviation("api", "the class of a device is called Device", lambda real, ours: real.get("got") == "MeshDevice" and ours["got"] == "Device"),
    Deviation("api", "open_device takes its device_id by position too", _asks("open_device positional")),
    Deviation("api", "a device's id is the one it was opened with", lambda real, ours: real["q"] == "id" and ours["got"] == 0),
    Deviation("api", "no physical coordinates, no meshes", lambda real, ours: real["q"] in ("worker core", "shape") and _is_absent(ours)),
    Deviation("api", "not every method is there", lambda real, ours: real["q"].startswith("dir ") and ours["ok"]),
    # --- host_tensors ---
    Deviation("host_tensors", "pad_to_tile gives a tensor in TILE layout at once", lambda real, ours: real["q"] == "pad_to_tile" and differing(real, ours) == {"layout"}),
    Deviation(
        "host_tensors",
        "every array type converts to every dtype",
        lambda real, ours: "ndarray_import failed" in _text(real) and ours["ok"],
    ),
    Deviation(
        "host_tensors",
        "floating values saturate at the ends of an integer type and NaN becomes 0; there it depends on the array's length",
        lambda real, ours: differing(real, ours) == {"numpy"} and (real["q"] == "float to int" or real.get("np", "").startswith("f")),
    ),
    Deviation(
        "host_tensors",
        "int8 arrays become int32",
        lambda real, ours: real.get("np") == "i8" and real.get("dtype") == "INT8" and ours["numpy"]["values"] == real["numpy"]["values"],
    ),
    Deviation(
        "host_tensors",
        "block floats leave their tiles as bfloat16",
        lambda real, ours: "Tensor layout must be ROW_MAJOR" in _text(real) and ours["dtype"] == "BFLOAT16",
    ),
    Deviation("host_tensors", "a block float in ROW_MAJOR is refused before anything is padded", _asks("host to_dtype RM to bfp8")),
    Deviation(
        "host_tensors",
        "reshape of a tiled host tensor keeps the order of its elements; there it takes them by padded rows",
        lambda real, ours: real["q"] == "reshape host tile" and ours["numpy"]["values"] == [f"{i}.0" for i in range(12)],
    ),
    Deviation(
        "host_tensors",
        "a mocked card reads back zeros, ours reads back what was written",
        lambda real, ours: real["q"] in ("from_device round trip spec", "cpu") and ours["numpy"]["values"] == [f"{i}.0" for i in range(12)],
    ),
    Deviation(
        "host_tensors",
        "padding is done on the device",
        lambda real, ours: real["q"] in ("pad host", "pad_to_tile", "unpad") and _refused(ours),
    ),
    # --- lifetimes ---
    Deviation(
        "lifetimes",
        "a view of a freed tensor knows that it is gone; there it keeps the old address",
        lambda real, ours: (real["q"] == "deallocate(original)" and ours["got"] == [False, False, 0])
        or (real["q"] == "address of a view of a freed tensor" and _refused(ours)),
    ),
    Deviation(
        "lifetimes",
        "a tensor on a closed device is not allocated",
        lambda real, ours: real["q"] == "tensor after close_device" and ours["got"] is False,
    ),
    # --- operations ---
    Deviation(
        "ops_memory",
        "a refused move leaves its input as it was; there it is gone",
        lambda real, ours: real["op"] in ("move", "reallocate") and _refused(real) and differing(real, ours) == {"in_alive", "used"} and ours["in_alive"] == [True],
    ),
    Deviation("ops_shape", "concat and slice: temporaries of the real programs are not all known", lambda real, ours: _later("concat")(real, ours) or _later("slice")(real, ours)),
    Deviation(
        "ops_shape",
        "concat names both shapes, not an index into one",
        lambda real, ours: real["op"] == "concat" and "index out of range" in _text(real) and "differ in rank" in _text(ours),
    ),
    Deviation(
        "ops_shape",
        "slice reads sharded DRAM in ROW_MAJOR too",
        lambda real, ours: real["op"] == "slice" and "not L1-resident" in _text(real) and ours["ok"],
    ),
    Deviation(
        "ops_shape",
        "pad of a rank-1 tensor in tiles works",
        lambda real, ours: real["op"] == "pad" and "MeshBuffer must be large enough" in _text(real) and ours["ok"],
    ),
    Deviation("ops_reshape", "permute of shards is refused", lambda real, ours: real["op"] in ("permute", "transpose") and real["ok"] and "shape" not in real and not ours["ok"]),
    Deviation(
        "ops_reshape",
        "permute names no dimension twice",
        lambda real, ours: real["op"] == "permute" and real["ok"] and len(set(real["dims"])) < len(real["dims"]) and not ours["ok"],
    ),
    Deviation(
        "ops_reshape",
        "reshape needs no table of indices in DRAM",
        lambda real, ours: real["op"] in ("reshape", "squeeze", "unsqueeze") and differing(real, ours) == {"used"} and ours["used"][1] < real["used"][1],
    ),
    Deviation(
        "ops_reshape",
        "a tensor that loses its last dimension is a copy; there it shares the memory",
        lambda real, ours: real["op"] == "squeeze" and real["got"]["shape"] == [] and _only_place_differs(real, ours),
    ),
    Deviation("ops_reshape", "sharded rows are reshaped without an interleaved copy", _later("reshape")),
    # --- lines of tables ---
    Deviation(
        "ops_tables",
        "functions of integers that the real one takes for bits of floats are refused",
        lambda real, ours: real["op"] in ("addcdiv", "lerp", "bitwise_not") and real["ok"] and "use typecast" in _text(ours),
    ),
    Deviation(
        "ops_tables",
        "one program does what the real one does in several, so that their temporaries are missing",
        lambda real, ours: real["op"] in ("div", "addcdiv", "addcmul", "lerp", "mac", "sum", "mean", "max", "min", "var", "std") and real["ok"] and ours["ok"] and _only_addresses_differ(real, ours),
    ),
    Deviation(
        "ops_tables",
        "pieces, stacks and repetitions: temporaries of the real programs are not all known",
        lambda real, ours: real["op"] in ("split", "chunk", "stack", "repeat", "repeat_interleave", "expand") and real["ok"] and ours["ok"] and _only_addresses_differ(real, ours),
    ),
    # --- operators on the card ---
    Deviation(
        "ops_vision",
        "of several faults of an upsampling another one is named",
        lambda real, ours: real["op"] == "upsample" and _refused(real) and _refused(ours),
    ),
    Deviation(
        "ops_vision",
        "global_avg_pool2d takes rows out of tiles only where they are padded",
        lambda real, ours: real["op"] == "global_avg_pool2d" and real["ok"] and ours["ok"] and _only_place_differs(real, ours),
    ),
    Deviation(
        "ops_matmul",
        "a vector is a row or a column without being copied",
        lambda real, ours: 1 in (len(real["case"]["a"]), len(real["case"]["b"])) and _only_place_differs(real, ours),
    ),
    Deviation(
        "ops_pool",
        "rows narrower than half a tile are shown without what is behind them",
        lambda real, ours: real["case"]["c"] % 16 != 0 and real["ok"] and ours["ok"] and real["got"]["addr"] == ours["got"]["addr"],
    ),
    Deviation("ops_pool", "pools take no integers", lambda real, ours: real["case"].get("in_dtype") == "uint32" and "not uint32" in _text(ours)),
    Deviation(
        "ops_pool",
        "which shards an image is put in: the real choice is known up to a few cases",
        lambda real, ours: not real["case"].keys() & {"scheme", "shard"} and real["ok"] and ours["ok"] and differing(real, ours) <= {"got", "used"},
    ),
    # --- shards ---
    Deviation(
        "shard_helpers shard_nd",
        "an n-D sharding that cannot be placed is refused when its spec is made",
        lambda real, ours: _refused(real) and _refused(ours) and differing(real, ours) <= {"mem", "stage"},
    ),
    Deviation(
        "shard_helpers",
        "dimensions are counted from -rank, not from -4",
        lambda real, ours: real.get("dims") in ([7], [-3]) and "is not in [-2, 2)" in _text(ours),
    ),
    Deviation(
        "shard_nd",
        "a shard of rank 1 in tiles is a row of tiles",
        lambda real, ours: len(real["shard"]) == 1
        and real["layout"] == "TILE"
        and (differing(real, ours) <= {"mem", "bank", "addr"} or ("must be tile" in _text(real) and ours["ok"])),
    ),
    Deviation(
        "shard_nd",
        "shards of rank 1 make no 2-D grid",
        lambda real, ours: len(real["shard"]) == 1 and real["strategy"] == "GRID" and real["ok"] and _refused(ours),
    ),
    Deviation(
        "shard_edges",
        "of two faults of an empty shard the other one is named",
        lambda real, ours: real["q"] == "zero shard" and real["shard"] == [32, 0] and _refused(real) and _refused(ours),
    ),
    # --- ops_models ---
    Deviation(
        "ops_models",
        "a mask must be as wide as the scores; the real one takes a narrower one in place and reads what lies behind it",
        lambda real, ours: real["op"] == "scale_mask_softmax_in_place" and real.get("mask") == [2, 1, 32, 64] and "both must have the same number" in _text(ours),
    ),
    Deviation(
        "ops_models",
        "scores of rank 3 are one batch for their mask, as those of rank 2 are",
        lambda real, ours: real["op"].startswith("attention_softmax") and real.get("mask") is True and len(real["shape"]) == 3 and ours["ok"],
    ),
    Deviation(
        "ops_models",
        "columns that do not make up the heads are refused as such, not by the size of what would be left",
        lambda real, ours: real["op"] == "split_heads" and _refused(real) and ("do not make up" in _text(ours) or "do not fit evenly" in _text(ours)),
    ),
    Deviation("ops_models", "a layout is named, not numbered", lambda real, ours: "found 0" in _text(real) and "ROW_MAJOR" in _text(ours)),
    Deviation(
        "ops_models",
        "what has too few dimensions is refused as such, not by the index that was looked for",
        lambda real, ours: _text(real).startswith("ShapeBase[] index out of range") and _refused(ours),
    ),
    Deviation(
        "ops_models",
        "heads that fill no tiles keep their size; the real one rounds it up and takes columns of the next head",
        lambda real, ours: real["op"] == "nlp_create_qkv_heads" and real["shape"] == [2, 1, 64, 384] and real["kv"] == 2 and ours["ok"],
    ),
    Deviation(
        "ops_models",
        "a way to sample that does not exist is refused",
        lambda real, ours: real["op"] == "grid_sample" and real.get("mode") == "bicubic" and _refused(ours),
    ),
    Deviation(
        "ops_models",
        "rows that a tensor does not have cannot be asked for",
        lambda real, ours: real["op"] == "untilize_with_unpadding" and "lies outside of" in _text(ours) and real["ok"],
    ),
    Deviation(
        "ops_models",
        "padding beyond the last tile is part of the shape: a spec has no room for another",
        lambda real, ours: real["op"] == "tilize_with_val_padding" and differing(real, ours) == {"got"} and ours["got"]["shape"] == real["got"]["padded"],
    ),
    Deviation(
        "ops_models",
        "normalize_global keeps its input's shape, also where tiles are padded",
        lambda real, ours: real["op"] == "normalize_global" and real.get("shape") == [2, 3, 50, 70] and ours["got"]["shape"] == real["shape"],
    ),
    Deviation(
        "ops_models",
        "narrow copies, wherever the pages lie; the real one makes a view, which most tensors do not allow",
        lambda real, ours: real["op"] == "narrow" and _refused(real) and ours["ok"],
    ),
    Deviation(
        "ops_models",
        "group_norm takes rows on Blackhole too",
        lambda real, ours: real["op"] == "group_norm" and "or on Wormhole" in _text(real) and ours["ok"],
    ),
    # --- ops_gradients ---
    Deviation(
        "ops_gradients",
        "gradients of logaddexp take block floats, as those of all other functions do",
        lambda real, ours: real["op"].startswith("logaddexp") and real.get("dtype") == "bfloat8_b" and ours["ok"],
    ),
    # --- ops_vision ---
    Deviation(
        "ops_vision",
        "images that are interleaved change their order too, and stay where they are",
        lambda real, ours: real["op"] in ("convert_to_hwc", "convert_to_chw") and real.get("src") == "dram" and _refused(real) and ours["ok"],
    ),
    # --- conv2d_calls ---
    Deviation("conv2d_calls", "prepared weights and biases show the padding that is between their channels", _only_shapes_of_prepared_differ),
    Deviation(
        "conv2d_calls",
        "a bias is prepared in block floats for every input",
        lambda real, ours: real["op"] == "prepare_conv_bias" and "Only TILE layout" in _text(real) and ours["ok"],
    ),
    Deviation(
        "conv2d_calls",
        "a product tilizes its input after its weights have been sent",
        lambda real, ours: real["q"][5:7] == [1, 1] and real["shard"] is None and real["lay"] == "RM" and differing(real, ours) == {"got"},
    ),
    Deviation(
        "conv2d_calls",
        "the output's padding is less than the stride, as PyTorch has it",
        lambda real, ours: real["op"] == "conv_transpose2d" and real["window"].get("output_padding") == [2, 0] and "less than the stride" in _text(ours),
    ),
]
