#pragma once

// The schema of machine files: one line for each key, in the order in which `tessera machines show` prints them.

#include "tessera/machine/internal/field_reader.h"
#include "tessera/machine/machine.h"

namespace tessera::internal {

void read_fields(FieldReader& in, TensixSpec& spec);
void read_fields(FieldReader& in, NeuronSpec& spec);
void read_fields(FieldReader& in, UnifiedSpec& spec);
void read_fields(FieldReader& in, CpuSpec& spec);
void read_fields(FieldReader& in, GpuSpec& spec);

}  // namespace tessera::internal
