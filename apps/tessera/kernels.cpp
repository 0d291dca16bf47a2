// tessera kernels: what the planner can choose from.

#include "command.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"
#include "tessera/targets/cpu/kernels/kernel.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace tessera::cli {
namespace {

[[noreturn]] void fail_unknown_operator(const std::string& op) {
  std::vector<std::string> names;
  for (const cpu::CpuKernel& kernel : cpu::kernels())
    if (std::ranges::find(names, kernel.info.op) == names.end()) names.emplace_back(kernel.info.op);
  fail(Code::not_found, Hint{fmt::format("operators with kernels: {}", fmt::join(names, ", "))},
       "there is no kernel for an operator '{}'{}", op, did_you_mean(op, names));
}

}  // namespace

void add_kernels(CLI::App& app, const Context& context) {
  CLI::App* command = app.add_subcommand("kernels", "List the CPU kernels");
  auto op = std::make_shared<std::string>();
  command->add_option("op", *op, "List only kernels for this operator: Conv, Gemm, Unary, ...")->type_name("OP");
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
    if (table.rows().empty()) fail_unknown_operator(*op);
    context.print(table);
  });
}

}  // namespace tessera::cli
