// tessera memory: places tensors on a simulated device and says where they lie.

#include "command.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/text.h"
#include "tessera/machine/machine_file.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/card/device.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/card/memory_report.h"
#include "tessera/targets/tensix/card/tensor_spec.h"
#include "tessera/targets/tensix/views/memory_page.h"
#include "tessera/targets/tensix/views/memory_picture.h"
#include "tessera/targets/tensix/views/memory_state.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {
namespace {

// A tensor as one word of the command line:
//
//   [NAME=]SHAPE:DTYPE:LAYOUT:MEMORY[:SHARDING[:ORIENTATION][:shard=HxW]]
//
//   1x1x2048x64:bfloat16:tile:dram
//   act=1x1x2048x64:bfloat16:tile:l1:height@8x8
//   1x1x32x2048:bfloat8_b:tile:l1:width@1x8:col_major
//   1x64:uint16:row_major:l1_small:height@2:shard=1x64
//
// The cores of a sharding are COLUMNSxROWS from core 0,0 on, or a number of cores, taken row by row.
struct TensorArgument {
  std::string name;
  tensix::TensorSpec spec;
};

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
      fail(Code::invalid_argument, "{} '{}' is not a list of positive whole numbers separated by 'x', such as {}", what,
           text, example);
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
  fail(Code::invalid_argument, "{} '{}' is not one of {}{}", what, text, fmt::join(names, ", "),
       did_you_mean(text, names));
}

DType parse_dtype_word(std::string_view text) {
  if (const std::optional<DType> dtype = parse_dtype(text)) return *dtype;
  std::vector<std::string> names;
  for (const DType dtype : all_dtypes()) names.emplace_back(name(dtype));
  fail(Code::invalid_argument, "dtype '{}' is not one of {}{}", text, fmt::join(names, ", "),
       did_you_mean(text, names));
}

tensix::CoreRangeSet parse_cores(std::string_view text, tensix::CoreGrid grid) {
  const std::vector<std::int64_t> counts = parse_counts(text, "the cores", "8x8 (columns x rows) or 48 (row by row)");
  check(counts.size() <= 2, Code::invalid_argument, "the cores '{}' must be COLUMNSxROWS or a number of cores", text);
  if (counts.size() == 1) {
    check(counts[0] <= grid.num_cores(), Code::invalid_argument, "{} cores were asked for, but the device has {} x {}",
          counts[0], grid.x, grid.y);
    return tensix::num_cores_to_corerangeset({0, 0}, counts[0], grid, true);
  }
  constexpr std::int64_t kMaxExtent = 1 << 15;  // far beyond any grid, so that coordinates fit an int
  check(counts[0] < kMaxExtent && counts[1] < kMaxExtent, Code::invalid_argument,
        "{} x {} cores were asked for, but the device has {} x {}", counts[0], counts[1], grid.x, grid.y);
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
        "the sharding '{}' names no cores: write {}@8x8 (columns x rows)", strategy, strategy);
  sharding.cores = parse_cores(words.front().substr(at + 1), grid);
  bool has_orientation = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].starts_with("shard=")) {
      check(!sharding.shard, Code::invalid_argument, "the shard is given twice");
      const std::vector<std::int64_t> shape = parse_counts(words[i].substr(6), "the shard", "32x64");
      check(shape.size() == 2, Code::invalid_argument, "the shard '{}' is not HEIGHTxWIDTH", words[i].substr(6));
      sharding.shard = {shape[0], shape[1]};
    } else {
      check(!has_orientation, Code::invalid_argument, "unexpected '{}' after the orientation", words[i]);
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
        "a tensor needs a shape, a dtype, a layout and a memory; {} of the four were given", words.size());
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

// Refuses with what was found, what is expected there, and the whole word as context. Device `grid` is what a number of
// cores is taken from.
TensorArgument parse_tensor_argument(std::string_view text, tensix::CoreGrid grid) {
  return with_context(fmt::format("in --tensor '{}'", text), [&] { return parse(text, grid); });
}

struct MemoryOptions {
  std::string device;
  std::int64_t l1_small_bytes = 0;
  std::int64_t trace_region_bytes = 0;
  std::vector<std::string> tensors;
  std::string json, csv, svg, html, reports;
};

Cell count_cell(std::int64_t value) { return Cell(value, format_count(value)); }

std::string shard_text(const tensix::TensorSpec& spec) {
  const tensix::MemoryConfig& config = spec.memory_config();
  if (config.shard_spec())
    return fmt::format("{}x{}", config.shard_spec()->shape.height, config.shard_spec()->shape.width);
  return config.nd_shard_spec() ? config.nd_shard_spec()->shard_shape.to_string() : "";
}

Table tensor_table(const std::vector<TensorArgument>& arguments, const std::vector<tensix::DeviceTensor>& tensors,
                   const tensix::MemoryState& state) {
  Table table({{.name = "tensor"},
               {.name = "shape"},
               {.name = "dtype"},
               {.name = "layout"},
               {.name = "memory"},
               {.name = "sharding"},
               {.name = "shard"},
               {.name = "banks", .align = Align::right},
               {.name = "page", .key = "page_bytes", .unit = "B", .align = Align::right},
               {.name = "pages", .align = Align::right},
               {.name = "address", .align = Align::right},
               {.name = "per bank", .key = "bytes_per_bank", .unit = "B", .align = Align::right},
               {.name = "useful", .key = "useful_fraction", .align = Align::right},
               {.name = "padding", .key = "padding_fraction", .align = Align::right}});
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const tensix::TensorSpec& spec = tensors[i].spec();
    const tensix::MemoryConfig& config = spec.memory_config();
    const tensix::MemoryState::Buffer& buffer = state.buffers[i];
    const double padding =
        1 - static_cast<double>(spec.logical_shape().volume()) / static_cast<double>(spec.padded_shape().volume());
    const std::string shard = shard_text(spec);
    table.add_row({arguments[i].name.empty() ? Cell(static_cast<std::int64_t>(i + 1)) : Cell(arguments[i].name),
                   spec.logical_shape().to_string(), name(spec.dtype()), name(spec.layout()),
                   name(config.buffer_type()), name(config.layout()), shard.empty() ? Cell() : Cell(shard),
                   tensors[i].pages().banks_used(), count_cell(spec.page_bytes()), count_cell(spec.num_pages()),
                   count_cell(tensors[i].address()), count_cell(buffer.bytes_per_bank),
                   Cell(buffer.useful_fraction(), fmt::format("{:.1f}%", 100 * buffer.useful_fraction())),
                   Cell(padding, fmt::format("{:.1f}%", 100 * padding))});
  }
  return table;
}

Table memory_table(const tensix::MemoryState& state) {
  Table table({{.name = "memory"},
               {.name = "banks", .align = Align::right},
               {.name = "per bank", .key = "bytes_per_bank", .unit = "B", .align = Align::right},
               {.name = "allocated", .key = "allocated_bytes_per_bank", .unit = "B", .align = Align::right},
               {.name = "free", .key = "free_bytes_per_bank", .unit = "B", .align = Align::right},
               {.name = "largest free", .key = "largest_free_bytes_per_bank", .unit = "B", .align = Align::right},
               {.name = "fragmentation", .align = Align::right}});
  for (const tensix::MemoryState::Memory& memory : state.memories)
    table.add_row({name(memory.type), memory.view.num_banks, count_cell(memory.view.total_bytes_per_bank),
                   count_cell(memory.view.allocated_bytes_per_bank), count_cell(memory.view.free_bytes_per_bank),
                   count_cell(memory.view.largest_free_block_bytes_per_bank),
                   Cell(memory.fragmentation(), fmt::format("{:.1f}%", 100 * memory.fragmentation()))});
  return table;
}

void write_files(const MemoryOptions& options, const tensix::Device& device, const tensix::MemoryState& state) {
  if (!options.json.empty()) write_file_atomically(options.json, tensix::memory_state_json(state));
  if (!options.csv.empty()) write_file_atomically(options.csv, tensix::memory_state_csv(state));
  if (!options.svg.empty()) write_file_atomically(options.svg, tensix::memory_svg(state));
  if (!options.html.empty()) write_file_atomically(options.html, tensix::memory_html(state));
  if (!options.reports.empty()) tensix::dump_device_memory_state(device, "", options.reports);
}

void place(const MemoryOptions& options, const Context& context) {
  const auto device = tensix::Device::open(
      load_machine(options.device),
      {.l1_small_bytes = options.l1_small_bytes, .trace_region_bytes = options.trace_region_bytes});
  std::vector<TensorArgument> arguments;
  for (const std::string& text : options.tensors) arguments.push_back(parse_tensor_argument(text, device->grid()));
  std::vector<tensix::DeviceTensor> tensors;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    tensors.push_back(with_context(fmt::format("while placing --tensor '{}'", options.tensors[i]),
                                   [&] { return tensix::DeviceTensor::allocate(device, arguments[i].spec); }));
  tensix::MemoryState state = tensix::memory_state(*device);
  for (std::size_t i = 0; i < arguments.size(); ++i) state.buffers[i].name = arguments[i].name;

  write_files(options, *device, state);
  const bool for_people = context.format == Format::table || context.format == Format::markdown;
  if (!for_people) return context.print(tensor_table(arguments, tensors, state));
  if (!tensors.empty()) {
    context.print(tensor_table(arguments, tensors, state));
    context.print("\n");
  }
  context.print(memory_table(state));
  if (!context.quiet)
    context.print(
        fmt::format("\n{}: simulated device, exact bytes. All banks of a memory are allocated in lock step. 'useful' "
                    "is the fraction of the reserved bytes that pages fill; 'padding' is the fraction of elements that "
                    "only fill up tiles.\n",
                    device->machine().title));
}

}  // namespace

void add_memory(CLI::App& app, const Context& context) {
  CLI::App* memory = app.add_subcommand(
      "memory", "Place tensors on a simulated card; write tables, pictures and reports of its memory");
  auto options = std::make_shared<MemoryOptions>();
  memory
      ->add_option("--device", options->device, "A Wormhole or Blackhole card of `tessera machines`, or a machine file")
      ->required()
      ->type_name("NAME");
  memory->add_option("--l1-small", options->l1_small_bytes, "Size of L1_SMALL on each core, in bytes")
      ->type_name("BYTES");
  memory
      ->add_option("--trace-region", options->trace_region_bytes,
                   "Size of the trace region, in bytes over all DRAM banks")
      ->type_name("BYTES");
  memory
      ->add_option(
          "--tensor", options->tensors,
          "A tensor, placed in the order given: [NAME=]SHAPE:DTYPE:LAYOUT:MEMORY[:SHARDING[:ORIENTATION][:shard=HxW]], "
          "for instance x=1x1x2048x64:bfloat16:tile:l1:height@8x8 (8 columns x 8 rows of cores). "
          "LAYOUT: tile, row_major. MEMORY: dram, l1, l1_small. SHARDING: height, width or block, then @COLUMNSxROWS "
          "or "
          "@CORES. ORIENTATION: row_major, col_major")
      ->expected(1)
      ->take_all()
      ->type_name("TENSOR");
  memory->add_option("--json", options->json, "Write the state of every memory as a JSON file")->type_name("FILE");
  memory->add_option("--csv", options->csv, "Write a CSV file with one row for each block of memory")
      ->type_name("FILE");
  memory->add_option("--svg", options->svg, "Draw where every buffer lies")->type_name("FILE");
  memory->add_option("--html", options->html, "Write an HTML page with the drawing and the tables")->type_name("FILE");
  memory->add_option("--reports", options->reports, "Write the three memory report files of TTNN")->type_name("DIR");
  memory->callback([options, &context] { place(*options, context); });
}

}  // namespace tessera::cli
