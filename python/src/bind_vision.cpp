// tessera.vision: pictures in, answers out. What takes PIL's images and chooses between forms is
// python/tessera/vision.py.

#include "arrays.h"
#include "bind.h"

#include "tessera/core/error.h"
#include "tessera/session/recognizer.h"
#include "tessera/vision/resample.h"

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using Pixels = nb::ndarray<const std::uint8_t, nb::shape<-1, -1, 3>, nb::c_contig, nb::device::cpu>;

Image to_image(const Pixels& pixels) {
  const auto height = static_cast<std::int64_t>(pixels.shape(0)), width = static_cast<std::int64_t>(pixels.shape(1));
  return Image(width, height, std::vector<std::uint8_t>(pixels.data(), pixels.data() + pixels.size()));
}

// A numpy array that owns `values`.
template <class T>
nb::object owned_array(std::vector<T> values, const std::vector<std::size_t>& shape) {
  auto kept = std::make_unique<std::vector<T>>(std::move(values));
  T* data = kept->data();
  const nb::capsule owner(kept.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(data, shape.size(), shape.data(), owner));
}

nb::object from_image(Image image) {
  const std::vector<std::size_t> shape{static_cast<std::size_t>(image.height), static_cast<std::size_t>(image.width),
                                       3};
  return owned_array(std::move(image.rgb), shape);
}

nb::object mask_array(const Answers& answers) {
  if (!answers.mask) return nb::none();
  return owned_array(answers.mask->classes,
                     {static_cast<std::size_t>(answers.mask->height), static_cast<std::size_t>(answers.mask->width)});
}

std::optional<Task> task_of(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const std::optional<Task> task = parse_task(*text);
  check(task.has_value(), Code::invalid_argument, "task is 'classify', 'detect' or 'segment', not '{}'", *text);
  return task;
}

void bind_answers(nb::module_& module) {
  nb::class_<RankedClass>(module, "RankedClass", "One class, and how sure the network is of it.")
      .def_ro("index", &RankedClass::index)
      .def_ro("label", &RankedClass::label, "Its name; empty where nobody has named it.")
      .def_ro("score", &RankedClass::score, "As the network gives it.")
      .def_ro("probability", &RankedClass::probability, "Of all classes together 1.")
      .def("__repr__", [](const RankedClass& one) {
        return fmt::format("<RankedClass {} '{}' {:.4f}>", one.index, one.label, one.probability);
      });
  nb::class_<DetectedBox>(module, "DetectedBox", "A box, in pixels of the picture from its upper left corner.")
      .def_ro("left", &DetectedBox::left)
      .def_ro("top", &DetectedBox::top)
      .def_ro("right", &DetectedBox::right)
      .def_ro("bottom", &DetectedBox::bottom)
      .def_ro("index", &DetectedBox::index, "Of its class.")
      .def_ro("label", &DetectedBox::label)
      .def_ro("score", &DetectedBox::score)
      .def("__repr__", [](const DetectedBox& box) {
        return fmt::format("<DetectedBox {} '{}' {:.4f}: {:.1f}, {:.1f}, {:.1f}, {:.1f}>", box.index, box.label,
                           box.score, box.left, box.top, box.right, box.bottom);
      });
  nb::class_<MaskArea>(module, "MaskArea", "A class of a mask, and which part of the picture it has.")
      .def_ro("index", &MaskArea::index)
      .def_ro("label", &MaskArea::label)
      .def_ro("pixels", &MaskArea::pixels)
      .def_ro("fraction", &MaskArea::fraction)
      .def("__repr__", [](const MaskArea& area) {
        return fmt::format("<MaskArea {} '{}' {:.4f}>", area.index, area.label, area.fraction);
      });
  nb::class_<Answers>(module, "Answers", "What a network says about a picture.")
      .def_prop_ro(
          "task", [](const Answers& answers) { return std::string(name(answers.task)); },
          "\"classify\", \"detect\" or \"segment\".")
      .def_ro("form", &Answers::form, "Which kind of outputs this was read from.")
      .def_ro("width", &Answers::width)
      .def_ro("height", &Answers::height)
      .def_ro("classes", &Answers::classes, "classify: the best first.")
      .def_ro("boxes", &Answers::boxes, "detect: the surest first.")
      .def_ro("areas", &Answers::areas, "segment: the largest first.")
      .def_prop_ro("mask", mask_array, nb::sig("def mask(self) -> typing.Any"),
                   "segment: the class of each pixel, uint16 of (height, width), 65535 where the network saw nothing.")
      .def("json", answers_json, "All of it but the mask as a JSON object.")
      .def("__str__", &Answers::to_string)
      .def("__repr__", [](const Answers& answers) { return fmt::format("<Answers: {}>", answers.to_string()); });
}

using Fields = std::vector<std::pair<std::string, std::string>>;

void make_recognizer(Recognizer* self, const std::string& model, const std::optional<std::string>& preprocess,
                     const Fields& fields, const std::optional<std::string>& task,
                     const std::vector<std::string>& labels, std::int64_t top, double least_score, double most_overlap,
                     int threads) {
  RecognizerOptions options;
  options.task = task_of(task);
  options.fields = fields;
  options.labels = labels;
  options.top = top;
  options.least_score = least_score;
  options.most_overlap = most_overlap;
  check(threads >= 0, Code::invalid_argument, "{} threads cannot run anything", threads);
  options.session.threads = threads;
  const nb::gil_scoped_release release;
  if (preprocess) options.preprocessing = load_preprocessing(*preprocess);
  new (self) Recognizer(model, options);
}

}  // namespace

void bind_vision(nb::module_& module) {
  bind_answers(module);
  nb::class_<Recognizer>(module, "PictureRecognizer", "A network that answers about pictures.")
      .def("__init__", make_recognizer, "model"_a, "preprocess"_a.none() = nb::none(), "fields"_a = Fields{},
           "task"_a.none() = nb::none(), "labels"_a = std::vector<std::string>{}, "top"_a = 5, "least_score"_a = 0.25,
           "most_overlap"_a = 0.45, "threads"_a = 0)
      .def(
          "run_file",
          [](const Recognizer& self, const std::filesystem::path& picture) {
            const nb::gil_scoped_release release;
            return self.run(picture);
          },
          "picture"_a)
      .def(
          "run_pixels",
          [](const Recognizer& self, const Pixels& pixels) {
            const Image image = to_image(pixels);
            const nb::gil_scoped_release release;
            return self.run(image);
          },
          "pixels"_a, nb::sig("def run_pixels(self, pixels: typing.Any) -> Answers"))
      .def_prop_ro("labels", [](const Recognizer& self) { return self.labels(); })
      .def_prop_ro("remarks", [](const Recognizer& self) { return self.remarks(); })
      .def_prop_ro("preprocessing", [](const Recognizer& self) { return to_toml(self.preprocessing()); });
  module.def(
      "load_image", [](const std::filesystem::path& path) { return from_image(load_image(path)); }, "path"_a,
      nb::sig("def load_image(path: str | os.PathLike[str]) -> typing.Any"));
  module.def(
      "save_image", [](const std::filesystem::path& path, const Pixels& pixels) { save_image(path, to_image(pixels)); },
      "path"_a, "pixels"_a, nb::sig("def save_image(path: str | os.PathLike[str], pixels: typing.Any) -> None"));
  module.def(
      "draw_answers",
      [](const Pixels& pixels, const Answers& answers) { return from_image(draw_answers(to_image(pixels), answers)); },
      "pixels"_a, "answers"_a, nb::sig("def draw_answers(pixels: typing.Any, answers: Answers) -> typing.Any"));
  module.def(
      "prepare_picture",
      [](const Pixels& pixels, const std::string& preprocessing, const std::vector<std::int64_t>& shape) {
        const Preprocessing how = parse_preprocessing(preprocessing);
        const PictureInput input = picture_input(TensorType(ElementType::float32, shape), how);
        return export_host_array(prepare_picture(to_image(pixels), input, how).values);
      },
      "pixels"_a, "preprocessing"_a, "shape"_a,
      nb::sig("def prepare_picture(pixels: typing.Any, preprocessing: str, shape: collections.abc.Sequence[int]) -> "
              "typing.Any"));
  module.def(
      "resample_image",
      [](const Pixels& pixels, std::int64_t width, std::int64_t height, const std::string& filter) {
        Preprocessing how;
        set_preprocessing_field(how, "filter", filter);
        return from_image(resample(to_image(pixels), width, height, how.filter));
      },
      "pixels"_a, "width"_a, "height"_a, "filter"_a = "bilinear",
      nb::sig("def resample_image(pixels: typing.Any, width: int, height: int, filter: str = \"bilinear\") -> "
              "typing.Any"));
}

}  // namespace tessera::python
