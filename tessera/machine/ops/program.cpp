#include "tessera/machine/ops/program.h"

namespace tessera {

void finish_program(TraceRecord record, const std::vector<const DeviceTensor*>& inputs, const DeviceTensor& output) {
  std::string key = record.op + " " + output.spec().to_string();
  for (const DeviceTensor* x : inputs) key.append(" ").append(x->spec().to_string());
  output.device()->finish_program(std::move(record), key);
}

}  // namespace tessera
