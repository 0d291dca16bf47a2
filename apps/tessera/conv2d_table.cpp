#include "conv2d_table.h"

#include "tessera/core/refusal.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstdint>
#include <optional>

namespace tessera::cli {
namespace {

using tensix::Conv2dPlan;
using tensix::Conv2dProblem;
using tensix::Conv2dTrial;

class TableRow {
 public:
  TableRow(const Csv& csv, std::size_t row) : csv_(csv), cells_(csv.rows[row]) {}

  bool has(std::string_view column) const { return csv_.find(column) >= 0; }

  const std::string& text(std::string_view column) const {
    const int at = csv_.find(column);
    check(at >= 0, Code::parse, "the table has no column '{}'", column);
    return cells_[static_cast<std::size_t>(at)];
  }

  std::int64_t number(std::string_view column) const {
    const std::string& cell = text(column);
    std::int64_t value = 0;
    const auto [end, failed] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    check(failed == std::errc() && end == cell.data() + cell.size(), Code::parse,
          "column '{}' has '{}' where a whole number is needed", column, cell);
    return value;
  }

  std::optional<bool> flag(std::string_view column) const {
    const std::string& cell = text(column);
    if (cell.empty() || cell == "None") return std::nullopt;
    if (cell == "True" || cell == "true" || cell == "1") return true;
    check(cell == "False" || cell == "false" || cell == "0", Code::parse,
          "column '{}' has '{}' where True, False or nothing is needed", column, cell);
    return false;
  }
  bool flag_or(std::string_view column, bool otherwise) const {
    return has(column) ? flag(column).value_or(otherwise) : otherwise;
  }

 private:
  const Csv& csv_;
  const std::vector<std::string>& cells_;
};

int small(std::int64_t value, std::string_view column) {
  check(value >= INT32_MIN && value <= INT32_MAX, Code::parse, "column '{}': {} is out of range", column, value);
  return static_cast<int>(value);
}

std::string error_text(const std::optional<Refusal>& refusal) { return refusal ? refusal->message : std::string(); }

}  // namespace

DType dtype_named(const std::string& text, const std::string& what) {
  const std::optional<DType> dtype = parse_dtype(text);
  check(dtype.has_value(), Code::parse, "{}: there is no dtype '{}'", what, text);
  return *dtype;
}

Layout layout_named(const std::string& text, const std::string& what) {
  const std::optional<Layout> layout = parse_layout(text);
  check(layout.has_value(), Code::parse, "{}: there is no layout '{}', only TILE and ROW_MAJOR", what, text);
  return *layout;
}

tensix::TensorMemoryLayout sharding_named(const std::string& text, const std::string& what) {
  for (const tensix::TensorMemoryLayout layout :
       {tensix::TensorMemoryLayout::height_sharded, tensix::TensorMemoryLayout::block_sharded,
        tensix::TensorMemoryLayout::width_sharded}) {
    const std::string_view full = name(layout);
    const std::string_view word = full.substr(0, full.find('_'));
    if (CLI::detail::to_lower(text) == CLI::detail::to_lower(std::string(word)) || text == full) return layout;
  }
  fail(Code::parse, "{}: there is no sharding '{}', only HEIGHT, BLOCK and WIDTH", what, text);
}

tensix::MathFidelity fidelity_named(const std::string& text, const std::string& what) {
  for (const tensix::MathFidelity fidelity : {tensix::MathFidelity::lofi, tensix::MathFidelity::hifi2,
                                              tensix::MathFidelity::hifi3, tensix::MathFidelity::hifi4})
    if (CLI::detail::to_lower(text) == CLI::detail::to_lower(std::string(name(fidelity)))) return fidelity;
  fail(Code::parse, "{}: there is no fidelity '{}', only LoFi, HiFi2, HiFi3 and HiFi4", what, text);
}

Conv2dProblem problem_of_row(const Csv& csv, std::size_t index) {
  const TableRow row(csv, index);
  Conv2dProblem p;
  p.batch = row.number("N");
  p.height = row.number("H");
  p.width = row.number("W");
  p.in_channels = row.number("C");
  p.out_channels = row.number("K");
  p.groups = row.number("groups");
  const std::int64_t kernel = row.number("k"), stride = row.number("s"), pad = row.number("p"),
                     dilation = row.number("dil");
  p.window = {kernel, kernel, stride, stride, dilation, dilation, pad, pad, pad, pad};
  p.has_bias = row.flag("bias").value_or(true);
  p.input_dtype = dtype_named(row.text("in_dtype"), "column 'in_dtype'");
  p.weights_dtype = dtype_named(row.text("w_dtype"), "column 'w_dtype'");
  p.output_dtype = dtype_named(row.text("out_dtype"), "column 'out_dtype'");
  p.input_layout = p.input_dtype == DType::bfloat16 ? Layout::row_major : Layout::tile;

  tensix::Conv2dConfig& c = p.config;
  c.weights_dtype = p.weights_dtype;
  if (!row.text("shard").empty()) c.shard_layout = sharding_named(row.text("shard"), "column 'shard'");
  c.act_block_h_override = small(row.number("abh"), "abh");
  c.enable_act_double_buffer = row.flag("act_db").value_or(false);
  c.enable_weights_double_buffer = row.flag("w_db").value_or(false);
  c.output_layout = layout_named(row.text("out_layout"), "column 'out_layout'");
  c.force_split_reader = row.flag("split_reader");
  c.deallocate_activation = row.flag_or("dealloc", false);
  c.full_inner_dim = row.flag_or("full_inner", false);
  c.reshard_if_not_optimal = row.flag_or("reshard", false);
  if (row.has("abw_div")) c.act_block_w_div = small(row.number("abw_div"), "abw_div");
  const bool named = ("_" + row.text("name") + "_").find("_reuse_") != std::string::npos;
  c.enable_activation_reuse = row.flag_or("reuse", named);

  p.compute = {};
  p.compute.fp32_dest_acc_en = p.input_dtype == DType::float32 && p.weights_dtype == DType::float32;
  if (!row.text("fidelity").empty()) {
    p.compute.fidelity = fidelity_named(row.text("fidelity"), "column 'fidelity'");
    p.compute.fp32_dest_acc_en = row.flag("fp32acc").value_or(false);
    p.compute.packer_l1_acc = row.flag("l1acc").value_or(false);
  }
  return p;
}

std::vector<Column> result_columns() {
  std::vector<Column> columns;
  for (const char* name :
       {"status", "conv_cb_bytes", "conv_cb_list", "halo_out_bytes_per_core", "conv_out_bytes_per_core",
        "normal_peak_cb", "normal_peak_l1", "normal_peak_total", "nodispatch_peak_total", "nodispatch_status",
        "out_mem", "out_shard", "out_cores", "error_at", "error"})
    columns.push_back({.name = name});
  return columns;
}

std::vector<Cell> result_cells(const Conv2dTrial& trial) {
  // A product is another program: its buffers are not those of a convolution.
  const bool convolves = !trial.plan || !trial.plan->as_matmul;
  std::vector<std::int64_t> sizes;
  if (trial.plan && convolves)
    for (const tensix::PlannedBuffer& buffer : trial.plan->circular_buffers) sizes.push_back(buffer.bytes);
  std::vector<Cell> cells{trial.fits() ? "ok" : "error",
                          convolves ? trial.circular_buffer_bytes : 0,
                          fmt::format("{}", fmt::join(sizes, " ")),
                          convolves ? trial.halo_bytes : 0,
                          convolves ? trial.output_bytes : 0,
                          trial.peak.circular_buffer_bytes,
                          trial.peak.l1_bytes,
                          trial.peak.total_bytes,
                          trial.wanted_bytes,
                          trial.plan ? "ok" : "error"};
  std::string memory, shard, cores;
  if (trial.fits()) {
    const tensix::MemoryConfig output = trial.plan->output_memory();
    memory = name(output.layout());
    if (output.shard_spec()) {
      shard = fmt::format("{}x{}", output.shard_spec()->shape.height, output.shard_spec()->shape.width);
      cores = output.shard_spec()->grid.to_string();
    }
  }
  cells.insert(cells.end(), {memory, shard, cores, "", error_text(trial.refusal)});
  return cells;
}

}  // namespace tessera::cli
