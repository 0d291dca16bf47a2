#pragma once

// The machine that kernels are chosen for: one of a family whose kernels run natively.

#include "tessera/core/error.h"
#include "tessera/core/export.h"
#include "tessera/machine/machine.h"

#include <utility>
#include <variant>

namespace tessera {

class KernelMachine {
 public:
  KernelMachine() = default;  // a processor of which nothing is known
  // Explicit, since problems refer to their machine: one made on the way into a call would be gone after it.
  explicit KernelMachine(CpuSpec spec) : spec_(std::move(spec)) {}
  explicit KernelMachine(GpuSpec spec) : spec_(std::move(spec)) {}

  bool is_gpu() const { return std::holds_alternative<GpuSpec>(spec_); }
  // A kernel only ever asks for the machine that its own table is for.
  const CpuSpec& cpu() const { return get<CpuSpec>(); }
  CpuSpec& cpu() { return const_cast<CpuSpec&>(std::as_const(*this).cpu()); }
  const GpuSpec& gpu() const { return get<GpuSpec>(); }

 private:
  template <class Spec>
  const Spec& get() const {
    const Spec* spec = std::get_if<Spec>(&spec_);
    check(spec != nullptr, Code::internal, "a kernel was asked about a machine of another family");
    return *spec;
  }

  std::variant<CpuSpec, GpuSpec> spec_;
};

}  // namespace tessera
