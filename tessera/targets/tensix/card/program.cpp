#include "tessera/targets/tensix/card/program.h"

#include "tessera/targets/tensix/card/operand_facts.h"

#include <utility>

namespace tessera::tensix {

void place_program(const Device& device, const std::vector<CircularBuffer>& buffers) {
  if (!buffers.empty()) place_circular_buffers(device, buffers, device.next_program_id());
}

void finish_program(TraceRecord record, const std::vector<const DeviceTensor*>& inputs, const DeviceTensor& output) {
  std::string key = std::string(record.op()) + " " + output.spec().to_string();
  for (const DeviceTensor* x : inputs) key.append(" ").append(x->spec().to_string());
  if (!record.work) {
    std::vector<OperandFacts> operands;
    for (const DeviceTensor* x : inputs) operands.push_back(facts_of(x->spec()));
    operands.push_back(facts_of(output.spec()));
    record.work = work_on(record.kind, std::move(operands));
  }
  output.device()->finish_program(std::move(record), key);
}

}  // namespace tessera::tensix
