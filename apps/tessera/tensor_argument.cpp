#include "tensor_argument.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"

#include <charconv>
#include <vector>

namespace tessera::cli {
namespace {

constexpr const char* kForm =
    "[NAME=]SHAPE:DTYPE:LAYOUT:MEMORY[:SHARDING[:ORIENTATION][:shard=HxW]], for instance "
    "1x1x2048x64:bfloat16:tile:l1:height@8x8 or 1x1x2048x64:bfloat16:tile:dram";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// A whole number of at least 1, or nothing.
std::optional<std::int64_t> parse_count(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

std::vector<std::int64_t> parse_counts(std::string_view text, std::string_view what, std::string_view example) {
  std::vector<std::int64_t> counts;
  for (const std::string_view part : split(text, 'x')) {
    const std::optional<std::int64_t> count = parse_count(part);
    if (!count)
      fail(Code::invalid_argument, "{} '{}' is not made of whole numbers from 1 on with an 'x' between them, like {}",
           what, text, example);
    counts.push_back(*count);
  }
  return counts;
}

template <class T>
struct Word {
  const char* text;
  T value;
};

template <class T, std::size_t N>
T parse_word(std::string_view text, std::string_view what, const Word<T> (&words)[N]) {
  std::vector<std::string> names;
  for (const Word<T>& word : words) {
    if (text == word.text) return word.value;
    names.emplace_back(word.text);
  }
  fail(Code::invalid_argument, "{} '{}' is none of {}{}", what, text, fmt::join(names, ", "),
       did_you_mean(text, names));
}

DType parse_dtype_word(std::string_view text) {
  if (const std::optional<DType> dtype = parse_dtype(text)) return *dtype;
  std::vector<std::string> names;
  for (const DType dtype : all_dtypes()) names.emplace_back(name(dtype));
  fail(Code::invalid_argument, "dtype '{}' is none of {}{}", text, fmt::join(names, ", "), did_you_mean(text, names));
}

tensix::CoreRangeSet parse_cores(std::string_view text, tensix::CoreGrid grid) {
  const std::vector<std::int64_t> counts = parse_counts(text, "the cores", "8x8 (columns x rows) or 48 (row by row)");
  check(counts.size() <= 2, Code::invalid_argument, "the cores '{}' are neither COLUMNSxROWS nor a number of cores",
        text);
  if (counts.size() == 1) {
    check(counts[0] <= grid.num_cores(), Code::invalid_argument,
          "{} cores are more than the {} x {} that the device has", counts[0], grid.x, grid.y);
    return tensix::num_cores_to_corerangeset({0, 0}, counts[0], grid, true);
  }
  constexpr std::int64_t kMaxExtent = 1 << 15;  // far beyond any grid, so that coordinates fit an int
  check(counts[0] < kMaxExtent && counts[1] < kMaxExtent, Code::invalid_argument,
        "{} x {} cores are more than the {} x {} that the device has", counts[0], counts[1], grid.x, grid.y);
  return tensix::CoreRange({0, 0}, {static_cast<int>(counts[0]) - 1, static_cast<int>(counts[1]) - 1});
}

struct Sharding {
  tensix::ShardStrategy strategy = tensix::ShardStrategy::height;
  tensix::CoreRangeSet cores;
  tensix::ShardOrientation orientation = tensix::ShardOrientation::row_major;
  std::optional<Extent2d> shard;
};

Sharding parse_sharding(const std::vector<std::string_view>& words, tensix::CoreGrid grid) {
  Sharding sharding;
  const std::size_t at = words.front().find('@');
  const std::string_view strategy = words.front().substr(0, at);
  sharding.strategy = parse_word<tensix::ShardStrategy>(strategy, "the sharding",
                                                        {{"height", tensix::ShardStrategy::height},
                                                         {"width", tensix::ShardStrategy::width},
                                                         {"block", tensix::ShardStrategy::block}});
  check(at != std::string_view::npos, Code::invalid_argument,
        "the sharding '{}' does not say over which cores: write {}@8x8 (columns x rows)", strategy, strategy);
  sharding.cores = parse_cores(words.front().substr(at + 1), grid);
  bool has_orientation = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].starts_with("shard=")) {
      check(!sharding.shard, Code::invalid_argument, "the shard is given twice");
      const std::vector<std::int64_t> shape = parse_counts(words[i].substr(6), "the shard", "32x64");
      check(shape.size() == 2, Code::invalid_argument, "the shard '{}' is not HEIGHTxWIDTH", words[i].substr(6));
      sharding.shard = {shape[0], shape[1]};
    } else {
      check(!has_orientation, Code::invalid_argument, "'{}' after the orientation is not expected", words[i]);
      sharding.orientation = parse_word<tensix::ShardOrientation>(
          words[i], "the orientation",
          {{"row_major", tensix::ShardOrientation::row_major}, {"col_major", tensix::ShardOrientation::col_major}});
      has_orientation = true;
    }
  }
  return sharding;
}

tensix::TensorSpec apply(const tensix::TensorSpec& whole, const Sharding& sharding) {
  if (sharding.shard) {
    const tensix::TensorMemoryLayout layout =
        sharding.strategy == tensix::ShardStrategy::height  ? tensix::TensorMemoryLayout::height_sharded
        : sharding.strategy == tensix::ShardStrategy::width ? tensix::TensorMemoryLayout::width_sharded
                                                            : tensix::TensorMemoryLayout::block_sharded;
    return whole.with_memory_config(
        tensix::MemoryConfig(layout, whole.memory_config().buffer_type(),
                             tensix::ShardSpec{sharding.cores, *sharding.shard, sharding.orientation}));
  }
  switch (sharding.strategy) {
    case tensix::ShardStrategy::height: return whole.height_sharded(sharding.cores, sharding.orientation);
    case tensix::ShardStrategy::width: return whole.width_sharded(sharding.cores, sharding.orientation);
    case tensix::ShardStrategy::block: return whole.block_sharded(sharding.cores, sharding.orientation);
  }
  fail(Code::internal, "unknown sharding strategy");
}

TensorArgument parse(std::string_view text, tensix::CoreGrid grid) {
  std::string name;
  if (const std::size_t equals = text.find('='); equals < text.find(':')) {
    name = text.substr(0, equals);
    text.remove_prefix(equals + 1);
  }
  const std::vector<std::string_view> words = split(text, ':');
  check(words.size() >= 4, Code::invalid_argument, Hint{std::string("the form is ") + kForm},
        "a tensor has a shape, a dtype, a layout and a memory; {} of the four are here", words.size());
  Shape shape(parse_counts(words[0], "the shape", "1x1x2048x64"));
  const DType dtype = parse_dtype_word(words[1]);
  const Layout layout =
      parse_word<Layout>(words[2], "the layout", {{"tile", Layout::tile}, {"row_major", Layout::row_major}});
  const tensix::BufferType memory = parse_word<tensix::BufferType>(
      words[3], "the memory",
      {{"dram", tensix::BufferType::dram}, {"l1", tensix::BufferType::l1}, {"l1_small", tensix::BufferType::l1_small}});
  const tensix::TensorSpec whole(std::move(shape), dtype, layout,
                                 tensix::MemoryConfig(tensix::TensorMemoryLayout::interleaved, memory));
  if (words.size() == 4) return {std::move(name), whole};
  return {std::move(name), apply(whole, parse_sharding({words.begin() + 4, words.end()}, grid))};
}

}  // namespace

TensorArgument parse_tensor_argument(std::string_view text, tensix::CoreGrid grid) {
  return with_context(fmt::format("in --tensor '{}'", text), [&] { return parse(text, grid); });
}

}  // namespace tessera::cli
