// tessera doctor: what this machine has, and what this command was built with.

#include "command.h"

#include "tessera/core/isa.h"
#include "tessera/core/memory_size.h"
#include "tessera/core/parallel_for.h"
#include "tessera/io/onnx/import.h"
#include "tessera/machine/host_cpu.h"
#include "tessera/machine/machine_file.h"
#include "tessera/report/units.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {
namespace {

std::string instruction_sets() {
  std::string text;
  for (const Isa isa : usable_isas()) text += fmt::format("{}{}", text.empty() ? "" : ", ", name(isa));
  return text;
}

std::string machine_folders() {
  std::string text;
  for (const auto& folder : machine_directories())
    text += fmt::format("{}{}", text.empty() ? "" : ", ", folder.string());
  return text;
}

void examine(const Context& context) {
  const HostCpu cpu = host_cpu(active_isa());
  const std::optional<Machine> machine = match_machine(cpu);
  const std::int64_t memory = memory_size_bytes();
#ifdef TESSERA_MPI
  constexpr bool kMpi = true;
#else
  constexpr bool kMpi = false;
#endif
  Table table({{.name = "what"}, {.name = "found"}, {.name = "remark"}});
  table.add_row({"version", TESSERA_VERSION, ""});
  table.add_row({"CPU", cpu.vendor.empty() ? std::string("unknown") : cpu.vendor,
                 cpu.vendor.empty() ? std::string() : fmt::format("family {}, model {}", cpu.family, cpu.model)});
  table.add_row({"instruction set", name(active_isa()), fmt::format("usable: {}", instruction_sets())});
  table.add_row({"threads", max_threads(), fmt::format("the process may use {}", hardware_threads())});
  table.add_row({"memory", Cell(memory, format_bytes(static_cast<double>(memory))), ""});
  table.add_row({"machine file", machine ? machine->name : std::string("none"),
                 machine ? machine->title : std::string("kernels are chosen by generic estimates")});
  table.add_row({"machines", machine_names().size(), machine_folders()});
  table.add_row({"ONNX", Cell(has_onnx(), has_onnx() ? "yes" : "no"),
                 has_onnx() ? "" : "build with protobuf and the onnx package to read models"});
  table.add_row({"MPI", Cell(kMpi, kMpi ? "yes" : "no"), kMpi ? "" : "install libopenmpi-dev and build again"});
  context.print(table);
}

}  // namespace

void add_doctor(CLI::App& app, const Context& context) {
  CLI::App* command =
      app.add_subcommand("doctor", "Show what this machine offers and what this command was built with");
  command->callback([&context] { examine(context); });
}

}  // namespace tessera::cli
