#include "tessera/io/layer_file.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/text.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <string>

namespace tessera {
namespace {

constexpr std::int64_t kMostExtent = 1 << 20;
constexpr double kMostElements = 0x1p40;  // of one array: beyond any machine, and far from overflow

struct Word {
  std::string_view key;
  std::int64_t ConvBlock::* member;
  std::int64_t least;
};
constexpr Word kWords[] = {
    {"n", &ConvBlock::n, 1},     {"h", &ConvBlock::h, 1},       {"w", &ConvBlock::w, 1},   {"ic", &ConvBlock::ic, 1},
    {"oc", &ConvBlock::oc, 1},   {"s", &ConvBlock::stride, 1},  {"p", &ConvBlock::pad, 0}, {"g", &ConvBlock::groups, 1},
    {"x", &ConvBlock::times, 1}, {"pool", &ConvBlock::pool, 1},
};

std::int64_t parse_number(std::string_view digits, std::string_view word, std::int64_t least) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  check(error == std::errc() && end == digits.data() + digits.size() && value >= least && value <= kMostExtent,
        Code::parse, "'{}' takes a whole number from {} to {}", word, least, kMostExtent);
  return value;
}

void parse_kernel(std::string_view extents, std::string_view word, ConvBlock& layer) {
  const std::size_t by = extents.find('x');
  layer.kh = parse_number(extents.substr(0, by), word, 1);
  layer.kw = by == std::string_view::npos ? layer.kh : parse_number(extents.substr(by + 1), word, 1);
}

[[noreturn]] void unknown_word(std::string_view word, std::string_view key) {
  std::vector<std::string> keys{"k", "bias", "relu"};
  for (const Word& known : kWords) keys.emplace_back(known.key);
  fail(Code::parse, Hint{"a layer reads: NAME n1 h56 w56 ic64 oc64 k3x3 s1 p1 g1 bias relu pool2 x1"},
       "unknown word '{}'{}", word, did_you_mean(key, keys));
}

// Returns the key that the word sets.
std::string parse_word(const std::string& word, ConvBlock& layer) {
  if (word == "bias" || word == "relu") {
    (word == "bias" ? layer.bias : layer.relu) = true;
    return word;
  }
  const std::string key = word.substr(0, std::min(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), word.size()));
  const std::string_view value = std::string_view(word).substr(key.size());
  if (key == "k") {
    parse_kernel(value, word, layer);
    return key;
  }
  const auto known = std::find_if(std::begin(kWords), std::end(kWords), [&](const Word& w) { return w.key == key; });
  if (known == std::end(kWords)) unknown_word(word, key);
  layer.*known->member = parse_number(value, word, known->least);
  return key;
}

void check_layer(const ConvBlock& l, const std::set<std::string>& given) {
  for (const char* key : {"h", "w", "ic", "oc", "k"}) check(given.contains(key), Code::parse, "'{}' is missing", key);
  check(l.ic % l.groups == 0 && l.oc % l.groups == 0, Code::parse,
        "{} input and {} output channels do not divide into {} groups", l.ic, l.oc, l.groups);
  check(l.kh <= l.h + 2 * l.pad && l.kw <= l.w + 2 * l.pad, Code::parse,
        "a kernel of {}x{} does not fit into {}x{} with a padding of {}", l.kh, l.kw, l.h, l.w, l.pad);
  check(l.pool <= l.oh() && l.pool <= l.ow(), Code::parse, "a pool of {}x{} does not fit into the result of {}x{}",
        l.pool, l.pool, l.oh(), l.ow());
  const auto product = [](std::initializer_list<std::int64_t> extents) {
    double all = 1;
    for (const std::int64_t extent : extents) all *= static_cast<double>(extent);
    return all;
  };
  check(product({l.n, l.ic, l.h, l.w}) <= kMostElements && product({l.n, l.oc, l.oh(), l.ow()}) <= kMostElements &&
            product({l.oc, l.ic / l.groups, l.kh, l.kw}) <= kMostElements,
        Code::parse, "its arrays have more than {:.0f} elements", kMostElements);
}

ConvBlock parse_layer(const std::string& line) {
  std::istringstream words(line);
  ConvBlock layer;
  words >> layer.name;
  std::set<std::string> given;
  for (std::string word; words >> word;)
    check(given.insert(parse_word(word, layer)).second, Code::parse, "'{}' says again what was said", word);
  check_layer(layer, given);
  return layer;
}

}  // namespace

std::vector<ConvBlock> parse_layers(std::string_view text) {
  std::vector<ConvBlock> layers;
  std::set<std::string> names;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line.resize(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    with_context(fmt::format("in line {}", number), [&] {
      layers.push_back(parse_layer(line));
      check(names.insert(layers.back().name).second, Code::parse, "there is a layer '{}' already", layers.back().name);
    });
  }
  check(!layers.empty(), Code::parse, "there is no layer in it");
  return layers;
}

std::vector<ConvBlock> load_layers(const std::filesystem::path& path) {
  const std::string text = read_text_file(path);
  return with_context(fmt::format("while reading {}", path.string()), [&] { return parse_layers(text); });
}

}  // namespace tessera
