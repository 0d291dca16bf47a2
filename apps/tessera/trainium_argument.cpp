#include "trainium_argument.h"

#include "tessera/core/error.h"

#include <charconv>
#include <vector>

namespace tessera::cli {
namespace {

constexpr std::int64_t kMaxExtent = 1 << 20;

std::vector<std::int64_t> extents(const std::string& text) {
  std::vector<std::int64_t> out;
  const char *at = text.data(), *end = text.data() + text.size();
  while (at <= end) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 1 || value > kMaxExtent || (next != end && *next != 'x')) return {};
    out.push_back(value);
    if (next == end) return out;
    at = next + 1;
  }
  return {};
}

}  // namespace

void TrainiumArgument::add_to(CLI::App& command) {
  command.add_option("--device", device, "A Trainium machine that `tessera machines` lists, or a file")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--in", in, "The image: batch, channels, rows, columns")
      ->type_name("NxCxHxW")
      ->capture_default_str();
  command.add_option("--out-channels", out_channels, "Channels out")->type_name("N")->capture_default_str();
  command.add_option("--kernel", kernel, "Rows and columns of the filter")->type_name("K")->capture_default_str();
  command.add_option("--dtype", dtype, "f32, f16 or bf16")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}))
      ->capture_default_str();
  command.add_option("--pool", pool, "1 or 2")->type_name("N")->capture_default_str();
}

neuron::ConvProblem TrainiumArgument::problem() const {
  const std::vector<std::int64_t> sizes = extents(in);
  check(sizes.size() == 4, Code::invalid_argument, Hint{"1x256x224x224 is one image of 256 channels"},
        "--in '{}' is not four sizes with an x between them", in);
  check(out_channels >= 1 && out_channels <= kMaxExtent && kernel >= 1 && kernel <= kMaxExtent, Code::invalid_argument,
        "--out-channels {} and --kernel {} are not sizes", out_channels, kernel);
  neuron::ConvProblem p;
  p.n = sizes[0];
  p.ic = sizes[1];
  p.h = sizes[2];
  p.w = sizes[3];
  p.oc = out_channels;
  p.k = kernel;
  p.pool = pool;
  p.type = dtype == "f32" ? ElementType::float32 : dtype == "f16" ? ElementType::float16 : ElementType::bfloat16;
  return p;
}

}  // namespace tessera::cli
