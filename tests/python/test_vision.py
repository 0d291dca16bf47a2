"""tessera.vision: pictures in, answers out, beside PIL where it does the same."""

import io
import json
import pathlib

import numpy as np
import pytest
from PIL import Image

import tessera
from tessera import vision

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "vision"
SEVEN = ROOT / "examples" / "pictures" / "seven.png"
RANDOM = np.random.default_rng(7)


@pytest.fixture(scope="module")
def digits():
    return vision.load("digits")


def noise(height, width):
    return RANDOM.integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.mark.parametrize("name", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(224, 224), (7, 5), (300, 20), (1, 1), (61, 90), (90, 61), (33, 61)])
def test_resizing_has_the_bits_of_pil(name, size):
    picture = noise(61, 90)
    image, how = Image.fromarray(picture), Image.Resampling[name.upper()]
    found = vision.resize(picture, *size, name)
    np.testing.assert_array_equal(found, np.asarray(image.resize((size[0], 61), how).resize(size, how)))
    if name == "bilinear":
        # In one call PIL may change heights first. Each order rounds twice, by 1/2 each time: 2 apart at most.
        assert np.abs(found.astype(int) - np.asarray(image.resize(size, how)).astype(int)).max() <= 2


@pytest.mark.parametrize("path", sorted(DATA.glob("orientation_*")) + [DATA / "rgb.png", DATA / "palette.png", DATA / "gray.png"])
def test_files_are_what_pil_reads(path):
    from PIL import ImageOps

    expected = np.asarray(ImageOps.exif_transpose(Image.open(path)).convert("RGB")).astype(int)
    # The two have different versions of libjpeg: one step of its whole-number arithmetic apart, three channels deep.
    tolerance = 2 if path.suffix == ".jpg" else 0
    assert np.abs(vision.read(path).astype(int) - expected).max() <= tolerance


def test_a_progressive_jpeg_of_few_colours_is_what_pil_reads():
    expected = np.asarray(Image.open(DATA / "progressive.jpg")).astype(int)
    assert np.abs(vision.read(DATA / "progressive.jpg").astype(int) - expected).max() <= 3  # chroma is interpolated


def test_an_image_of_pil_a_path_and_an_array_are_the_same_picture(digits, tmp_path):
    by_path = vision.read(SEVEN)
    np.testing.assert_array_equal(vision.read(str(SEVEN)), by_path)
    np.testing.assert_array_equal(vision.read(Image.open(SEVEN)), by_path)
    np.testing.assert_array_equal(vision.read(by_path), by_path)
    for path in sorted(DATA.glob("orientation_*.png")):
        np.testing.assert_array_equal(vision.read(Image.open(path)), vision.read(path))
    for name in ("transparent.png", "gray_alpha.png", "palette.png", "gray16.png"):
        np.testing.assert_array_equal(vision.read(Image.open(DATA / name)), vision.read(DATA / name))
    gray = by_path[:, :, 0]
    np.testing.assert_array_equal(vision.read(gray), np.repeat(gray[:, :, None], 3, 2))
    np.testing.assert_array_equal(vision.read(gray[:, :, None]), vision.read(gray))
    found = [digits(form).json() for form in (SEVEN, Image.open(SEVEN), by_path, by_path[::1, ::-1][:, ::-1])]
    assert len(set(found)) == 1


@pytest.mark.parametrize(
    ("picture", "text"),
    [
        (np.zeros((4, 4, 3), np.float32), "uint8, 0 to 255; this array is of float32"),
        (np.zeros((4, 4, 2), np.uint8), r"this array is \[4, 4, 2\]"),
        (np.zeros(4, np.uint8), r"this array is \[4\]"),
        (np.zeros((0, 4, 3), np.uint8), "0 pixels has nothing in it"),
    ],
)
def test_what_is_no_picture_is_refused(picture, text):
    with pytest.raises(tessera.InvalidArgument, match=text):
        vision.resize(picture, 2, 2)


def test_a_jpeg_goes_in_and_a_labelled_answer_comes_out(digits, tmp_path):
    vision.write(tmp_path / "seven.jpg", SEVEN)
    answers = digits(tmp_path / "seven.jpg")
    assert answers.task == "classify"
    assert answers.classes[0].label == "7"
    assert str(answers).startswith("7 (0.")
    told = json.loads(answers.json())
    assert told["classes"][0]["label"] == "7" and len(told["classes"]) == 5
    assert abs(sum(one.probability for one in vision.load("digits", top=10)(SEVEN).classes) - 1) < 1e-6
    assert digits.labels == list("0123456789")
    assert any("comes with the network" in remark for remark in digits.remarks)


def test_the_picture_is_drawn_with_its_answers(digits):
    drawn = vision.draw(SEVEN, digits(SEVEN))
    picture = vision.read(SEVEN)
    assert drawn.shape[0] > picture.shape[0]
    np.testing.assert_array_equal(drawn[: picture.shape[0], : picture.shape[1]], picture)


def test_what_the_network_sees_can_be_looked_at(digits):
    seen = vision.prepare(SEVEN, digits.preprocessing, (1, 1, 8, 8))
    assert seen.shape == (1, 8, 8) and seen.dtype == np.float32
    assert seen.min() >= 0 and seen.max() <= 1
    scores = tessera.Session("digits").run([seen[None]])[0][0]
    assert abs(scores.max() - digits(SEVEN).classes[0].score) < 1e-6


def test_imagenet_is_what_torchvision_does_by_pil():
    # Resize to 256 on the shorter side, the middle 224 x 224, divided by 255, normalised: written out with PIL.
    picture = noise(300, 411)
    image = Image.fromarray(picture)
    image = image.resize((int(256 * 411 / 300), 256), Image.Resampling.BILINEAR)
    left, top = round((image.width - 224) / 2), round((image.height - 224) / 2)
    pixels = np.asarray(image.crop((left, top, left + 224, top + 224))).astype(np.float64) / 255
    expected = ((pixels - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]).transpose(2, 0, 1)
    seen = vision.prepare(picture, 'preset = "imagenet"', (1, 3, 224, 224))
    assert np.abs(seen - expected).max() <= np.abs(expected).max() * np.finfo(np.float32).eps


def test_fields_change_what_is_guessed():
    network = vision.load("resnet18", fields={"mean": [0.5, 0.5, 0.5], "fit": "stretch", "std": 0.5})
    assert 'fit = "stretch"' in network.preprocessing and "mean = [0.5, 0.5, 0.5]" in network.preprocessing
    assert "guessed" in network.remarks[0]
    with pytest.raises(tessera.InvalidArgument, match="did you mean 'mean'"):
        vision.load("resnet18", fields={"meen": 1})
    with pytest.raises(tessera.InvalidArgument, match="1000"):
        vision.load("resnet18", labels=["one", "two"])


def test_masks_come_as_arrays():
    answers = vision.load("unet")(SEVEN)
    assert answers.task == "segment"
    assert answers.mask.shape == vision.read(SEVEN).shape[:2] and answers.mask.dtype == np.uint16
    assert sum(area.pixels for area in answers.areas) == answers.mask.size


# --- trained networks -----------------------------------------------------------------------------------------------------


def test_digits_that_it_was_not_trained_on(digits):
    """The last 360 of scikit-learn's digits. networks/README.md says 97.2 %."""
    held_out = np.load(DATA / "digits.npz")
    pictures = np.round(held_out["pictures"] * (255 / 16)).astype(np.uint8)
    right = sum(digits(p).classes[0].index == c for p, c in zip(pictures, held_out["classes"], strict=True))
    assert right / len(pictures) >= 0.965  # two pictures fewer: other kernels round otherwise


def test_shapes_that_it_was_not_trained_on(monkeypatch):
    """Drawn as the training draws them, by another seed. networks/README.md says 98.3 %."""
    monkeypatch.syspath_prepend(ROOT / "networks" / "training")
    import shapes

    network = vision.load("shapes", top=1)
    pictures, classes = shapes.sample(shapes.TEST, shapes.TEST_SEED)
    right = sum(network(p).classes[0].index == c for p, c in zip(pictures, classes, strict=True))
    assert right / len(pictures) >= 0.97


def test_trained_networks_say_what_they_are_and_are_small():
    onnx = pytest.importorskip("onnx")
    for name in ("digits", "shapes"):
        path = ROOT / "networks" / f"{name}.onnx"
        assert path.stat().st_size <= 300_000
        about = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
        assert {"license", "accuracy", "data", "tessera.labels", "tessera.preprocessing"} <= set(about)
        assert "trained" in tessera.zoo()[name]
        assert (ROOT / "networks" / "README.md").read_text(encoding="utf-8").count(f"`{name}`") > 0


def test_a_png_in_memory_through_pil(digits):
    with Image.open(io.BytesIO(SEVEN.read_bytes())) as image:
        assert digits(image).classes[0].label == "7"
