#include "tessera/targets/tensix/ops/conv2d/conv2d_step_builder.h"

#include <fmt/format.h>

namespace tessera::tensix {

void ConvolutionSteps::allocate_output() {
  const Shape shape{1, 1, out_rows(), p_.out_channels};
  const Layout layout = out_layout();
  const MemoryConfig place = plan_.output_memory();
  if (layout == Layout::tile || !place.is_sharded()) {
    slots_.output = steps_.allocate(TensorSpec(shape, p_.output_dtype, layout, place), "output");
    return;
  }
  // Row by row, shards keep their padding to whole tiles but the tensor shows only its own channels.
  const ShardSpec& shards = *place.shard_spec();
  Extent2d visible = shards.shape;
  if (place.layout() == TensorMemoryLayout::height_sharded) visible.width = p_.out_channels;
  if (place.layout() == TensorMemoryLayout::width_sharded) visible.height = out_rows();
  const TensorSpec spec(
      shape, p_.output_dtype, layout,
      MemoryConfig(place.layout(), BufferType::l1, ShardSpec{shards.grid, visible, shards.orientation}));
  const std::int64_t bytes = shards.shape.height * round_up(shards.shape.width * element_bytes(p_.output_dtype),
                                                            device_.card().l1_alignment_bytes);
  slots_.output = steps_.allocate(spec, "output", on_each(bytes, shards.num_cores()));
}

void ConvolutionSteps::move_output() {
  const MemorySteps::Slot before = slots_.output;
  const TensorSpec spec({1, 1, out_rows(), p_.out_channels}, p_.output_dtype, out_layout(), *in_.memory_config);
  slots_.output = steps_.allocate(spec, "output");
  const ProgramKind kind = in_.memory_config->is_sharded() ? ProgramKind::reshard : ProgramKind::sharded_to_interleaved;
  run(kind, fmt::format("{} {} {}", name(kind), conv_key(plan_), in_.memory_config->to_string()),
      in_.memory_config->to_string(),
      {transfer(MemoryKind::l1, memory_kind(in_.memory_config->buffer_type()), out_bytes(), out_rows(), 0)},
      work_on(kind, {output_facts(out_layout(), plan_.output_memory()), facts_of(spec)}));
  steps_.free(before);
}

void ConvolutionSteps::write_slice() {
  MemorySteps::Slot slice = slots_.output;
  slots_.output = in_.slice_of->output;
  const Layout layout = asked_.config.output_layout;
  if (layout == Layout::row_major && p_.config.output_layout == Layout::tile) {
    const ShardSpec shards = *plan_.output_memory().shard_spec();
    const std::int64_t bytes = shards.shape.height * shards.shape.width * element_bytes(p_.output_dtype);
    const MemorySteps::Slot rows =
        steps_.allocate("untilized slice", BufferType::l1, on_each(bytes, shards.num_cores()));
    run(ProgramKind::untilize, "untilize " + conv_key(plan_), "slice",
        {transfer(MemoryKind::l1, MemoryKind::l1, out_bytes(), out_rows(), bytes, out_bytes())},
        work_on(ProgramKind::untilize, {output_facts(Layout::tile, plan_.output_memory()),
                                        output_facts(Layout::row_major, plan_.output_memory())}));
    steps_.free(slice);
    slice = rows;
  }
  run(ProgramKind::slice_write, "slice_write " + conv_key(plan_), "slice",
      {transfer(MemoryKind::l1, MemoryKind::dram, out_bytes(), out_rows(), 0)},
      work_on(ProgramKind::slice_write, {output_facts(layout, plan_.output_memory()),
                                         facts_of({asked_.batch * asked_.out_h() * asked_.out_w(), asked_.out_channels},
                                                  asked_.output_dtype, layout, kDramMemoryConfig)}));
  steps_.free(slice);
}

}  // namespace tessera::tensix
