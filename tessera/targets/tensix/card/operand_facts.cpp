#include "tessera/targets/tensix/card/operand_facts.h"

#include <utility>

namespace tessera::tensix {

OperandFacts facts_of(const Extent2d& matrix, DType dtype, Layout layout, const MemoryConfig& memory) {
  OperandFacts facts;
  facts.rows = matrix.height;
  facts.columns = matrix.width;
  facts.dtype = dtype;
  facts.layout = layout;
  facts.place = memory.is_l1() ? OperandPlace::l1 : OperandPlace::dram;
  if (!memory.is_sharded() || !memory.shard_spec()) return facts;
  facts.dram_shards = !memory.is_l1();
  facts.place = memory.layout() == TensorMemoryLayout::height_sharded  ? OperandPlace::height_sharded
                : memory.layout() == TensorMemoryLayout::width_sharded ? OperandPlace::width_sharded
                                                                       : OperandPlace::block_sharded;
  facts.cores = memory.shard_spec()->num_cores();
  facts.shard = memory.shard_spec()->shape;
  return facts;
}

OperandFacts facts_of(const TensorSpec& spec) {
  return facts_of({spec.physical().height, spec.physical().width}, spec.dtype(), spec.layout(), spec.memory_config());
}

std::shared_ptr<const ProgramWork> work_on(ProgramKind kind, std::vector<OperandFacts> operands) {
  auto work = std::make_shared<ProgramWork>();
  work->kind = kind;
  work->operands = std::move(operands);
  return work;
}

}  // namespace tessera::tensix
