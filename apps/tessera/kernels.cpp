// tessera kernels: what the planner can choose from.

#include "command.h"

#include "tessera/targets/cpu/kernels/kernel.h"

#include <fmt/format.h>

#include <memory>
#include <string>

namespace tessera::cli {

void add_kernels(CLI::App& app, const Context& context) {
  CLI::App* command = app.add_subcommand("kernels", "List the kernels there are for the CPU");
  auto op = std::make_shared<std::string>();
  command->add_option("op", *op, "Only those for this operator: Conv, Gemm, Unary, ...")->type_name("OP");
  command->callback([op, &context] {
    Table table({{.name = "kernel"},
                 {.name = "operator", .key = "op"},
                 {.name = "isa"},
                 {.name = "stores"},
                 {.name = "tile"},
                 {.name = "runs here"}});
    for (const cpu::CpuKernel& kernel : cpu::kernels()) {
      const KernelInfo& info = kernel.info;
      if (!op->empty() && info.op != *op) continue;
      table.add_row({info.name, info.op, name(info.isa), name(info.type),
                     info.m > 0 ? Cell(fmt::format("{}x{}", info.m, info.n)) : Cell(), info.isa <= host_isa()});
    }
    context.print(table);
  });
}

}  // namespace tessera::cli
