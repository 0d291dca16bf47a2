"""Pictures in, answers out.

::

    from tessera import vision

    digits = vision.load("digits")        # a network by name, or an ONNX file
    answers = digits("seven.png")         # or a PIL image, or a numpy array
    print(answers)                        # 7 (0.99)
    vision.draw("seven.png", answers)     # the picture with the answers on it, as an array
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tessera._tessera import (
    Answers,
    DetectedBox,
    InvalidArgument,
    MaskArea,
    PictureRecognizer,
    RankedClass,
    draw_answers,
    load_image,
    prepare_picture,
    resample_image,
    save_image,
)

__all__ = ["Answers", "DetectedBox", "MaskArea", "RankedClass", "Recognizer", "draw", "load", "prepare", "read", "resize", "write"]

Picture = Any
"""A path, an image of PIL, or a uint8 array of (height, width), (height, width, 1), (..., 3) or (..., 4)."""


def _on_white(colour: np.ndarray[Any, Any], alpha: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    a = alpha.astype(np.int32)
    return ((colour.astype(np.int32) * a + 255 * (255 - a) + 127) // 255).astype(np.uint8)


def _of_pil(image: Any) -> np.ndarray[Any, Any]:
    from PIL import ImageOps

    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I;16"):
        wide = np.asarray(image).astype(np.uint32)
        return ((wide * 255 + 32895) >> 16).astype(np.uint8)
    transparent = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    return np.asarray(image.convert("RGBA" if transparent else "RGB"))


def read(picture: Picture) -> np.ndarray[Any, Any]:
    """A picture as uint8 of (height, width, 3): red, green, blue, upright, what is transparent on white."""
    if isinstance(picture, (str, os.PathLike)):
        return np.asarray(load_image(picture))
    pil = sys.modules.get("PIL.Image")
    if pil is not None and isinstance(picture, pil.Image):
        pixels = _of_pil(picture)
    else:
        pixels = np.asarray(picture)
    if pixels.dtype != np.uint8:
        raise InvalidArgument(f"a picture is of uint8, 0 to 255; this array is of {pixels.dtype}")
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3, 4):
        raise InvalidArgument(
            f"a picture is (height, width), or (height, width, 1, 3 or 4); this array is {list(np.shape(picture))}"
        )
    if pixels.shape[2] == 1:
        pixels = np.repeat(pixels, 3, axis=2)
    if pixels.shape[2] == 4:
        pixels = _on_white(pixels[:, :, :3], pixels[:, :, 3:])
    return np.ascontiguousarray(pixels)


def write(path: str | os.PathLike[str], picture: Picture) -> None:
    """Writes a picture as PNG or JPEG: the ending of the path says which."""
    save_image(path, read(picture))


def resize(picture: Picture, width: int, height: int, filter: str = "bilinear") -> np.ndarray[Any, Any]:
    """The picture in another size, as PIL's Image.resize() makes it. filter: "nearest", "bilinear", "bicubic"."""
    return np.asarray(resample_image(read(picture), width, height, filter))


def prepare(picture: Picture, preprocessing: str, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """What a network with a float32 input of this shape gets to see. preprocessing: TOML, as `Recognizer.preprocessing`."""
    return np.asarray(prepare_picture(read(picture), preprocessing, list(shape)))


def draw(picture: Picture, answers: Answers) -> np.ndarray[Any, Any]:
    """The picture with what was found: boxes with labels, masks as a layer of colour, the best classes below."""
    return np.asarray(draw_answers(read(picture), answers))


def _field_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(str(item) for item in value)
    return str(value)


class Recognizer:
    """A network that answers about pictures.

    model: a network by name ("digits", "resnet50", ...), or an ONNX file
    preprocess: "imagenet", "yolo", or a TOML file; None: as the network's file says, or guessed (see `remarks`)
    fields: single fields of it: {"fit": "pad", "mean": [0.5, 0.5, 0.5]}
    task: "classify", "detect" or "segment"; None: as the outputs look
    labels: names of the classes; None: those of the network's file
    top: classes that are listed
    least_score, most_overlap: which boxes are kept
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        preprocess: str | os.PathLike[str] | None = None,
        fields: Mapping[str, Any] | None = None,
        task: str | None = None,
        labels: Sequence[str] | None = None,
        top: int = 5,
        least_score: float = 0.25,
        most_overlap: float = 0.45,
        threads: int = 0,
    ) -> None:
        self._recognizer = PictureRecognizer(
            os.fspath(model),
            None if preprocess is None else os.fspath(preprocess),
            [(name, _field_text(value)) for name, value in (fields or {}).items()],
            task,
            list(labels or []),
            top,
            least_score,
            most_overlap,
            threads,
        )

    def __call__(self, picture: Picture) -> Answers:
        """What the network says about one picture."""
        if isinstance(picture, (str, os.PathLike)):
            return self._recognizer.run_file(picture)
        return self._recognizer.run_pixels(read(picture))

    def run(self, pictures: Sequence[Picture]) -> list[Answers]:
        """The same for several."""
        return [self(picture) for picture in pictures]

    @property
    def labels(self) -> list[str]:
        return self._recognizer.labels

    @property
    def remarks(self) -> list[str]:
        """What was taken from the network's file, and what was guessed."""
        return self._recognizer.remarks

    @property
    def preprocessing(self) -> str:
        """How a picture becomes the network's input, as TOML."""
        return self._recognizer.preprocessing

    def __repr__(self) -> str:
        return f"<tessera.vision.Recognizer: {'; '.join(self.remarks)}>"


def load(model: str | os.PathLike[str], **options: Any) -> Recognizer:
    """A Recognizer, with its options."""
    return Recognizer(model, **options)
