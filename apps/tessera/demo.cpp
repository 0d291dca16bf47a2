// tessera demo: a short tour of the simulated device, with checks, reports and pictures.

#include "command.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/tensor.h"
#include "tessera/machine/machine_file.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/card/circular_buffers.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/card/memory_report.h"
#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"
#include "tessera/targets/tensix/ops/typecast/typecast.h"
#include "tessera/targets/tensix/views/memory_page.h"
#include "tessera/targets/tensix/views/memory_picture.h"
#include "tessera/targets/tensix/views/memory_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tessera::cli {
namespace {

// What ResNet-50 hands on after its first stage, for 8 images: 56 x 56 positions of 256 channels, rows of one matrix.
constexpr std::int64_t kImages = 8, kPositions = 56 * 56, kChannels = 256;
constexpr std::int64_t kL1SmallBytes = 16384;

// Like the output of a ReLU after batch normalisation: about half zeros, each channel with a spread of its own.
std::vector<float> activations(std::int64_t rows, std::int64_t channels) {
  std::mt19937 generator(2024);
  std::normal_distribution<float> normal;
  std::vector<float> spread(static_cast<std::size_t>(channels));
  for (float& s : spread) s = std::exp2(normal(generator));
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(rows * channels));
  for (std::int64_t row = 0; row < rows; ++row)
    for (const float s : spread) values.push_back(std::max(0.0F, s * normal(generator)));
  return values;
}

struct RoundingError {
  double largest = 0;
  double rms = 0;
  double rms_of_values = 0;
  double correlation = 0;  // Pearson's
};

RoundingError compare(const std::vector<float>& a, const std::vector<float>& b) {
  RoundingError d;
  const auto n = static_cast<double>(a.size());
  double sum_a = 0, sum_b = 0, sum_aa = 0, sum_bb = 0, sum_ab = 0, squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i], y = b[i];
    d.largest = std::max(d.largest, std::abs(x - y));
    squares += (x - y) * (x - y);
    sum_a += x, sum_b += y, sum_aa += x * x, sum_bb += y * y, sum_ab += x * y;
  }
  d.rms = std::sqrt(squares / n);
  d.rms_of_values = std::sqrt(sum_aa / n);
  d.correlation = (sum_ab - sum_a * sum_b / n) / std::sqrt((sum_aa - sum_a * sum_a / n) * (sum_bb - sum_b * sum_b / n));
  return d;
}

class Tour {
 public:
  Tour(const Context& context, const std::string& machine, std::filesystem::path directory)
      : context_(context), directory_(std::move(directory)) {
    device_ = tensix::Device::open(load_machine(machine), {.l1_small_bytes = kL1SmallBytes});
  }

  void run() {
    show_machine();
    move_a_tensor();
    pack();
    fill_up();
    provoke();
    write();
  }

 private:
  void say(const std::string& text) const {
    if (!context_.quiet) context_.print(text);
  }
  void heading(std::string_view text) const { say(fmt::format("\n{}\n{}\n", text, std::string(text.size(), '-'))); }
  tensix::CoreRangeSet all_cores() const { return device_->grid().to_core_range_set(); }
  void keep(std::string name, tensix::DeviceTensor tensor) {
    names_.push_back(std::move(name));
    kept_.push_back(std::move(tensor));
  }

  void show_machine() const {
    const Machine& machine = device_->machine();
    const TensixSpec& card = device_->card();
    heading("1. The machine");
    Table table({{.name = machine.title}, {.name = "value"}});
    table.add_row({"cores", fmt::format("{} x {}", card.grid_x, card.grid_y)});
    table.add_row({"L1 of a core", fmt::format("{} B ({} B of it reserved)", format_count(card.l1_bytes),
                                               format_count(card.l1_unreserved_base_bytes))});
    table.add_row({"DRAM", fmt::format("{} banks of {} B", card.dram_banks, format_count(card.dram_bank_bytes))});
    table.add_row({"alignment", fmt::format("L1 {} B, DRAM {} B", card.l1_alignment_bytes, card.dram_alignment_bytes)});
    say(render_text(table));
    say(fmt::format("For every number with its source: tessera machines show {}\n", machine.name));
    say("The device is simulated: sizes and addresses are exact and values are computed. Plans predict times "
        "(docs/time.md).\n");
  }

  void place(const tensix::DeviceTensor& tensor, std::string_view how) const {
    const tensix::TensorSpec& spec = tensor.spec();
    say(fmt::format("{:<26} {:<4} at {:>9}, {} pages of {} B in {} banks\n", how,
                    name(spec.memory_config().buffer_type()), format_count(tensor.address()),
                    format_count(spec.num_pages()), format_count(spec.page_bytes()), tensor.pages().banks_used()));
  }

  void move_a_tensor() {
    heading("2. A tensor on its way over the card");
    const Shape shape{1, 1, kImages * kPositions, kChannels};
    values_ = activations(kImages * kPositions, kChannels);
    const Tensor host = Tensor::from_float32(values_, shape, DType::bfloat16, Layout::tile);
    say(fmt::format("{}: activations like those of ResNet-50 after its first stage, {} images\n", host.to_string(),
                    kImages));

    const tensix::DeviceTensor in_dram = tensix::to_device(host, device_, tensix::kDramMemoryConfig);
    place(in_dram, "to_device");
    const tensix::DeviceTensor by_height = tensix::interleaved_to_sharded(
        in_dram,
        in_dram.spec().with_memory_config(tensix::kL1MemoryConfig).height_sharded(all_cores()).memory_config());
    place(by_height, "interleaved_to_sharded");
    const tensix::DeviceTensor by_block = tensix::reshard(
        by_height,
        by_height.spec().with_memory_config(tensix::kL1MemoryConfig).block_sharded(all_cores()).memory_config());
    place(by_block, "reshard to blocks");
    const tensix::DeviceTensor back = tensix::sharded_to_interleaved(by_block, tensix::kDramMemoryConfig);
    place(back, "sharded_to_interleaved");

    const Tensor arrived = tensix::from_device(back);
    const bool same = std::ranges::equal(host.bytes(), arrived.bytes());
    say(fmt::format("check: {} of {} bytes came back unchanged: {}\n", same ? "all" : "not all",
                    format_count(static_cast<std::int64_t>(host.bytes().size())), same ? "exact" : "DIFFERENT"));
    check(same, Code::internal, "the tensor read back from the device differs from the one written");
    keep("input", in_dram);
    keep("activations", by_height);
    keep("output", back);
    blocks_ = std::make_unique<tensix::DeviceTensor>(by_block);
    exact_ = arrived.to_float32();
  }

  void pack() {
    heading("3. The same in bfloat8_b");
    const tensix::DeviceTensor packed = typecast(*blocks_, DType::bfloat8_b);
    const RoundingError d = compare(exact_, tensix::from_device(packed).to_float32());
    say(fmt::format("{} B instead of {} B on every core. Accuracy compared with bfloat16:\n",
                    format_count(packed.aligned_page_bytes() * packed.pages().slots_per_bank()),
                    format_count(blocks_->aligned_page_bytes() * blocks_->pages().slots_per_bank())));
    say(fmt::format("largest error {:.4f}, rms error {:.5f} ({:.2f}% of the rms of the values), correlation {:.6f}\n",
                    d.largest, d.rms, 100 * d.rms / d.rms_of_values, d.correlation));
    blocks_->deallocate();
    keep("activations, packed", packed);
  }

  // What a convolution would have beside its input: weights, an index table, and the circular buffers of its program.
  void fill_up() {
    const Shape weights{1, 1, 9 * kChannels, kChannels};
    keep("weights", tensix::DeviceTensor::allocate(device_, tensix::TensorSpec(weights, DType::bfloat8_b, Layout::tile,
                                                                               tensix::kDramMemoryConfig)));
    const std::int64_t cores = device_->grid().num_cores();
    const tensix::TensorSpec indices(
        Shape{cores, 2048}, DType::uint16, Layout::row_major,
        tensix::MemoryConfig(tensix::TensorMemoryLayout::interleaved, tensix::BufferType::l1_small));
    keep("halo indices", tensix::DeviceTensor::allocate(device_, indices.height_sharded(all_cores())));
    constexpr std::int64_t kTileBytes = 2048;
    const std::vector<tensix::CircularBuffer> program = {{"activation block", all_cores(), 2 * 36 * kTileBytes},
                                                         {"weight block", all_cores(), 2 * 24 * kTileBytes},
                                                         {"partial sums", all_cores(), 32 * kTileBytes}};
    circular_buffers_ = tensix::place_circular_buffers(*device_, program, device_->next_program_id());
  }

  void provoke() const {
    heading("4. Too much");
    const tensix::MemoryView l1 = device_->memory_view(tensix::BufferType::l1);
    const std::int64_t rows = round_up(l1.num_banks * l1.total_bytes_per_bank / (kChannels * 2) * 5 / 4, 32);
    const Shape shape{1, 1, rows, kChannels};
    say(fmt::format("{} bfloat16 TILE, height sharded over every core:\n", shape.to_string()));
    const tensix::TensorSpec whole(shape, DType::bfloat16, Layout::tile, tensix::kL1MemoryConfig);
    const std::string before = tensix::memory_state_json(tensix::memory_state(*device_));
    try {
      tensix::DeviceTensor::allocate(device_, whole.height_sharded(all_cores()));
    } catch (const Error& error) {
      say(fmt::format("{}\n", error.what()));
      check(tensix::memory_state_json(tensix::memory_state(*device_)) == before, Code::internal,
            "a refused allocation changed the device");
      say("check: nothing on the device changed\n");
      return;
    }
    fail(Code::internal, "an allocation larger than L1 was not refused");
  }

  void write() const {
    tensix::MemoryState state = tensix::memory_state(*device_, circular_buffers_);
    for (std::size_t i = 0; i < kept_.size(); ++i)
      for (tensix::MemoryState::Buffer& buffer : state.buffers)
        if (buffer.memory == kept_[i].spec().memory_config().buffer_type() && buffer.address == kept_[i].address())
          buffer.name = names_[i];
    const auto save = [&](const char* file, const std::string& text) {
      write_file_atomically(directory_ / file, text, Directories::create);
    };
    save("memory.json", tensix::memory_state_json(state));
    save("memory.csv", tensix::memory_state_csv(state));
    save("memory.svg", tensix::memory_svg(state));
    save("memory.html", tensix::memory_html(state));
    tensix::dump_device_memory_state(*device_, "", directory_ / "reports");

    heading("5. Written");
    const std::string root = directory_.string();
    Table table({{.name = "file"}, {.name = "what"}});
    table.add_row({root + "/memory.html", "the page: open it in a browser and click a core"});
    table.add_row({root + "/memory.svg", "the picture alone"});
    table.add_row({root + "/memory.json, memory.csv", "every block and buffer, for scripts"});
    table.add_row({root + "/reports/*.csv", "the three files of a ttnn memory report"});
    context_.print(render_text(table));
    say(
        fmt::format("For your own tensors: tessera memory --device {} --tensor 1x1x2048x64:bfloat16:tile:l1:height@8x8 "
                    "--html memory.html\n",
                    device_->machine().name));
  }

  const Context& context_;
  std::filesystem::path directory_;
  std::shared_ptr<tensix::Device> device_;
  std::vector<float> values_, exact_;
  std::unique_ptr<tensix::DeviceTensor> blocks_;
  std::vector<std::string> names_;
  std::vector<tensix::DeviceTensor> kept_;
  tensix::CircularBufferPlacement circular_buffers_;
};

}  // namespace

void add_demo(CLI::App& app, const Context& context) {
  CLI::App* demo = app.add_subcommand("demo", "Take a tour: place, move, pack and draw a tensor on a simulated card");
  auto machine = std::make_shared<std::string>("wormhole_n150");
  auto directory = std::make_shared<std::string>("demo");
  demo->add_option("--device", *machine, "A Wormhole or Blackhole machine")->type_name("NAME")->capture_default_str();
  demo->add_option("-o,--output", *directory, "Output directory; created if it does not exist")
      ->type_name("DIR")
      ->capture_default_str();
  demo->callback([=, &context] { Tour(context, *machine, *directory).run(); });
}

}  // namespace tessera::cli
