// tessera memory: places tensors on a simulated device and says where they lie.

#include "command.h"
#include "tensor_argument.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/machine/machine_file.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/card/memory_report.h"
#include "tessera/targets/tensix/views/memory_page.h"
#include "tessera/targets/tensix/views/memory_picture.h"
#include "tessera/targets/tensix/views/memory_state.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace tessera::cli {
namespace {

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
    context.print(fmt::format(
        "\n{}: simulated device, exact bytes. Banks of a memory are given out in lock step; useful: bytes of "
        "pages among those taken in all banks; padding: elements that fill up tiles.\n",
        device->machine().title));
}

}  // namespace

void add_memory(CLI::App& app, const Context& context) {
  CLI::App* memory =
      app.add_subcommand("memory", "Place tensors on a simulated device; tables, pictures and reports of its memory");
  auto options = std::make_shared<MemoryOptions>();
  memory
      ->add_option("--device", options->device,
                   "A Wormhole or Blackhole machine that `tessera machines` lists, or a machine file")
      ->required()
      ->type_name("NAME");
  memory->add_option("--l1-small", options->l1_small_bytes, "Bytes of each core's L1 that L1_SMALL gets")
      ->type_name("BYTES");
  memory->add_option("--trace-region", options->trace_region_bytes, "Bytes of DRAM, over all banks, that TRACE gets")
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
  memory->add_option("--json", options->json, "Write the state of every memory as JSON")->type_name("FILE");
  memory->add_option("--csv", options->csv, "Write one row for each block of every memory")->type_name("FILE");
  memory->add_option("--svg", options->svg, "Draw where everything lies")->type_name("FILE");
  memory->add_option("--html", options->html, "Write the drawing as a page, with tables")->type_name("FILE");
  memory->add_option("--reports", options->reports, "Write the three report files that TTNN users know")
      ->type_name("DIR");
  memory->callback([options, &context] { place(*options, context); });
}

}  // namespace tessera::cli
