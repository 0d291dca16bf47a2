#include "tessera/targets/tensix/ops/ttnn_call.h"

#include "tessera/core/error.h"
#include "tessera/io/emit/python_text.h"

#include <fmt/format.h>

namespace tessera::tensix {

std::string py_dtype(DType dtype) { return fmt::format("ttnn.{}", name(dtype)); }
std::string py_layout(Layout layout) { return layout == Layout::tile ? "TILE" : "ROWS"; }

std::string py_cores(const CoreRangeSet& cores) {
  std::vector<std::string> parts;
  for (const CoreRange& range : cores.ranges())
    parts.push_back(fmt::format("({}, {}, {}, {})", range.start.x, range.start.y, range.end.x, range.end.y));
  return fmt::format("cores({})", fmt::join(parts, ", "));
}

std::string py_memory(const MemoryConfig& memory) {
  if (!memory.is_sharded()) return memory.is_dram() ? "DRAM" : "L1";
  check(memory.shard_spec().has_value(), Code::unsupported, "a tensor in {} cannot be written as TTNN code",
        memory.to_string());
  const ShardSpec& shards = *memory.shard_spec();
  return fmt::format("sharded({}, [{}, {}], {}{}{})", emit::py(name(memory.layout())), shards.shape.height,
                     shards.shape.width, py_cores(shards.grid),
                     shards.orientation == ShardOrientation::row_major ? "" : ", \"COL_MAJOR\"",
                     memory.is_l1() ? "" : ", place=ttnn.BufferType.DRAM");
}

std::string py_compute(const ComputeConfig& c) {
  return fmt::format("compute({}, {}, {}, {})", emit::py(name(c.fidelity)), emit::py(c.fp32_dest_acc_en),
                     emit::py(c.packer_l1_acc), emit::py(c.approximate));
}

std::string py_function(const VectorFunction& f) {
  using Kind = VectorFunction::Kind;
  if (f.kind == Kind::clamp)
    return fmt::format("unary(\"clamp_tss\", {}, {})", emit::py(double{f.low}), emit::py(double{f.high}));
  if (takes_alpha(f))
    return fmt::format("unary({}, {})", emit::py(f.name), emit::py(double{f.activation.function.alpha}));
  return fmt::format("unary({})", emit::py(f.name));
}

std::string py_in_dram(const std::string& x) { return fmt::format("ttnn.to_memory_config({}, DRAM)", x); }
std::string py_in_layout(const std::string& x, Layout layout) {
  return fmt::format("ttnn.to_layout({}, {})", x, py_layout(layout));
}

ComputeConfig TtnnCall::compute() const {
  ComputeConfig compute;
  config().apply_to(compute);
  return compute;
}

std::string TtnnCall::assign(const std::string& function, const std::vector<std::string>& arguments) const {
  return emit::py_call(4, fmt::format("{} = {}(", result(), function), arguments);
}

std::string TtnnCall::tiles(std::size_t i) const {
  return is_tiled(i) ? input(i) : py_in_layout(input(i), Layout::tile);
}

std::string TtnnCall::near_tiles(std::size_t i) const {
  const MemoryConfig& memory = place(i).memory;
  const std::string moved =
      memory.is_dram() || memory == kL1MemoryConfig ? input(i) : fmt::format("ttnn.to_memory_config({}, L1)", input(i));
  return is_tiled(i) ? moved : py_in_layout(moved, Layout::tile);
}

}  // namespace tessera::tensix
