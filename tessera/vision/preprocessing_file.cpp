// Preprocessing as text: TOML files, single fields, presets.

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/text.h"
#include "tessera/core/toml.h"
#include "tessera/vision/preprocessing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <utility>

namespace tessera {
namespace {

constexpr std::int64_t kMostPixels = 16384;
constexpr std::uint64_t kFileBytes = 64 << 10;

const std::vector<std::string> kFields = {"fit",      "size",   "crop",  "resize", "fill", "filter",
                                          "channels", "layout", "range", "mean",   "std",  "strokes"};

// A field's value in either form, TOML's or a command line's.
struct FieldText {
  std::string field, text;
  std::vector<std::string> words;  // of a list, or of the text cut at commas, blanks and 'x'
};

template <class T>
T one_of(const FieldText& given, std::initializer_list<T> values) {
  std::vector<std::string> names;
  for (const T value : values) {
    if (name(value) == given.text) return value;
    names.emplace_back(name(value));
  }
  fail(Code::invalid_argument, "{} is one of {}, not '{}'{}", given.field, fmt::join(names, ", "), given.text,
       did_you_mean(given.text, names));
}

double number(const FieldText& given, const std::string& word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  check(error == std::errc() && end == word.data() + word.size() && std::isfinite(value), Code::invalid_argument,
        "{} has numbers, and '{}' is none", given.field, word);
  return value;
}

std::int64_t whole(const FieldText& given, const std::string& word, std::int64_t least, std::int64_t most) {
  const double value = number(given, word);
  check(value == std::floor(value) && value >= static_cast<double>(least) && value <= static_cast<double>(most),
        Code::invalid_argument, "{} is a whole number from {} to {}, not {}", given.field, least, most, word);
  return static_cast<std::int64_t>(value);
}

std::vector<double> numbers(const FieldText& given, std::size_t least, std::size_t most) {
  check(given.words.size() >= least && given.words.size() <= most, Code::invalid_argument, "{} has {} number{}, not {}",
        given.field, least == most ? fmt::format("{}", least) : "1 or 3", most == 1 ? "" : "s", given.words.size());
  std::vector<double> values;
  for (const std::string& word : given.words) values.push_back(number(given, word));
  return values;
}

const std::string& single(const FieldText& given) {
  check(given.words.size() == 1, Code::invalid_argument, "{} has one value, not {}", given.field, given.words.size());
  return given.words[0];
}

void set(Preprocessing& to, const FieldText& given) {
  if (given.field == "fit") {
    to.fit = one_of(given, {Fit::stretch, Fit::crop, Fit::pad});
  } else if (given.field == "size") {
    check(given.words.size() == 1 || given.words.size() == 2, Code::invalid_argument,
          "size is width and height, 640x480, or one number for both, not '{}'", given.text);
    to.width = whole(given, given.words.front(), 1, kMostPixels);
    to.height = whole(given, given.words.back(), 1, kMostPixels);
  } else if (given.field == "crop") {
    to.crop = number(given, single(given));
    check(to.crop > 0 && to.crop <= 1, Code::invalid_argument, "crop is the part that is kept, above 0 to 1, not {}",
          to.crop);
    to.resize = 0;
  } else if (given.field == "resize") {
    to.resize = whole(given, single(given), 0, kMostPixels);
  } else if (given.field == "fill") {
    to.fill = static_cast<std::uint8_t>(whole(given, single(given), 0, 255));
  } else if (given.field == "filter") {
    to.filter = one_of(given, {Filter::nearest, Filter::bilinear, Filter::bicubic});
  } else if (given.field == "channels") {
    to.channels = one_of(given, {ChannelOrder::rgb, ChannelOrder::bgr, ChannelOrder::gray});
  } else if (given.field == "layout") {
    to.layout = one_of(given, {InputLayout::nchw, InputLayout::nhwc});
  } else if (given.field == "range") {
    const std::vector<double> values = numbers(given, 2, 2);
    check(values[0] < values[1], Code::invalid_argument, "range begins at {} and ends at {}", values[0], values[1]);
    to.range = {values[0], values[1]};
  } else if (given.field == "mean") {
    to.mean = numbers(given, 1, 3);
  } else if (given.field == "std") {
    to.std = numbers(given, 1, 3);
    for (const double value : to.std)
      check(value > 0, Code::invalid_argument, "std is {}, and values are divided by it", value);
  } else if (given.field == "strokes") {
    check(given.text == "true" || given.text == "false", Code::invalid_argument, "strokes is true or false, not '{}'",
          given.text);
    to.strokes = given.text == "true";
  } else {
    fail(Code::invalid_argument, Hint{fmt::format("there are {}", fmt::join(kFields, ", "))},
         "preprocessing has no field '{}'{}", printable(given.field), did_you_mean(given.field, kFields));
  }
}

std::vector<std::string> cut_words(std::string_view text, std::string_view at) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (at.find(c) == std::string_view::npos)
      words.back() += c;
    else
      words.emplace_back();
  }
  return words;
}

// Everything that a TOML value may be here, as words.
std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return std::nullopt;
}

FieldText field_text(std::string field, const toml::node& node) {
  FieldText out{std::move(field), {}, {}};
  const auto word = [&](const toml::node& of) {
    std::optional<std::string> text = scalar_text(of);
    check(text.has_value(), Code::invalid_argument, "{} is neither a word, a number, nor a list of numbers", out.field);
    return printable(*text);
  };
  if (const toml::array* list = node.as_array()) {
    for (const toml::node& item : *list) out.words.push_back(word(item));
    out.text = fmt::format("{}", fmt::join(out.words, ", "));
  } else {
    out.text = word(node);
    out.words = {out.text};
  }
  return out;
}

}  // namespace

std::string_view name(Fit fit) { return fit == Fit::stretch ? "stretch" : fit == Fit::crop ? "crop" : "pad"; }
std::string_view name(Filter filter) {
  return filter == Filter::nearest ? "nearest" : filter == Filter::bilinear ? "bilinear" : "bicubic";
}
std::string_view name(ChannelOrder order) {
  return order == ChannelOrder::rgb ? "rgb" : order == ChannelOrder::bgr ? "bgr" : "gray";
}
std::string_view name(InputLayout layout) { return layout == InputLayout::nchw ? "nchw" : "nhwc"; }

Preprocessing preprocessing_preset(std::string_view preset) {
  Preprocessing out;
  if (preset == "imagenet") {
    out.fit = Fit::crop;
    out.crop = 0.875;
    out.mean = {0.485, 0.456, 0.406};
    out.std = {0.229, 0.224, 0.225};
    return out;
  }
  if (preset == "yolo") {
    out.fit = Fit::pad;
    out.fill = 114;
    return out;
  }
  fail(Code::not_found, Hint{fmt::format("there are {}", fmt::join(preprocessing_presets(), ", "))},
       "there is no preset '{}' of preprocessing{}", printable(preset), did_you_mean(preset, preprocessing_presets()));
}

std::vector<std::string> preprocessing_presets() { return {"imagenet", "yolo"}; }

Preprocessing parse_preprocessing(std::string_view text, std::string_view file) {
  toml::table root;
  try {
    root = toml::parse(text, std::string(file));
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    fail(Code::parse, "{}:{}:{}: not valid TOML: {}", file, at.line, at.column, printable(error.description()));
  }
  Preprocessing out;
  if (const toml::node* preset = root.get("preset")) {
    check(preset->is_string(), Code::invalid_argument, "{}: preset is the name of one, in quotes", file);
    out = preprocessing_preset(preset->as_string()->get());
  }
  for (const auto& [key, node] : root) {
    if (key.str() == "preset") continue;
    with_context(fmt::format("at {}:{}", file, node.source().begin.line),
                 [&] { set(out, field_text(std::string(key.str()), node)); });
  }
  return out;
}

Preprocessing load_preprocessing(const std::string& preset_or_file) {
  const bool is_file = preset_or_file.ends_with(".toml") || preset_or_file.find('/') != std::string::npos;
  if (!is_file) return preprocessing_preset(preset_or_file);
  return parse_preprocessing(read_text_file(preset_or_file, kFileBytes), preset_or_file);
}

void set_preprocessing_field(Preprocessing& preprocessing, std::string_view field, const std::string& text) {
  set(preprocessing, {std::string(field), text, cut_words(text, field == "size" ? "x," : ",")});
}

std::string to_toml(const Preprocessing& p) {
  std::string out = fmt::format("fit = \"{}\"\n", name(p.fit));
  if (p.width > 0) out += fmt::format("size = [{}, {}]\n", p.width, p.height);
  if (p.fit == Fit::crop && p.resize > 0)
    out += fmt::format("resize = {}\n", p.resize);
  else if (p.fit == Fit::crop)
    out += fmt::format("crop = {}\n", p.crop);
  if (p.fit == Fit::pad) out += fmt::format("fill = {}\n", p.fill);
  out += fmt::format("filter = \"{}\"\n", name(p.filter));
  if (p.channels) out += fmt::format("channels = \"{}\"\n", name(*p.channels));
  if (p.layout) out += fmt::format("layout = \"{}\"\n", name(*p.layout));
  out += fmt::format("range = [{}, {}]\n", p.range[0], p.range[1]);
  if (!p.mean.empty()) out += fmt::format("mean = [{}]\n", fmt::join(p.mean, ", "));
  if (!p.std.empty()) out += fmt::format("std = [{}]\n", fmt::join(p.std, ", "));
  if (p.strokes) out += "strokes = true\n";
  return out;
}

}  // namespace tessera
