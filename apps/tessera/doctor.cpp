// tessera doctor: what this machine has, what this command was built with, and what is missing.

#include "build_info.h"
#include "command.h"
#include "world.h"

#include "tessera/core/error.h"
#include "tessera/core/isa.h"
#include "tessera/core/memory_size.h"
#include "tessera/core/parallel_for.h"
#include "tessera/io/onnx/import.h"
#include "tessera/machine/host_cpu.h"
#include "tessera/machine/machine_file.h"
#include "tessera/report/units.h"
#include "tessera/targets/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

struct Finding {
  std::string what;
  Cell found;
  std::string remark;
  bool missing = false;
};

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

// The first line "key : value" of Linux's description of the processors.
std::string cpuinfo(std::string_view key) {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || !line.starts_with(key)) continue;
    const std::size_t value = line.find_first_not_of(" \t", colon + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return {};
}

// Linux's names of what kernels are written for, lowest first.
constexpr std::string_view kFeatures[] = {"avx2",     "fma",         "f16c",     "bmi2",     "avx512f",
                                          "avx512bw", "avx512dq",    "avx512vl", "avx512cd", "avx512_vnni",
                                          "amx_tile", "avx512_bf16", "amx_bf16", "amx_int8"};

Finding cpu_features() {
  std::istringstream flags(cpuinfo("flags"));
  const std::vector<std::string> all{std::istream_iterator<std::string>(flags), {}};
  std::vector<std::string_view> present, absent;
  for (const std::string_view feature : kFeatures)
    (std::find(all.begin(), all.end(), feature) == all.end() ? absent : present).push_back(feature);
  return {"CPU features", fmt::format("{}", fmt::join(present, " ")),
          absent.empty() ? "all that kernels are written for"
                         : fmt::format("kernels for {} are not used", fmt::join(absent, ", "))};
}

Finding gpu() {
  try {
    const Machine machine = find_machine("cuda");
    return {"GPU", machine.title, fmt::format("{} multiprocessors", machine.gpu->multiprocessors)};
  } catch (const Error& error) {
    return {"GPU", "none", error.hint().empty() ? error.message() : error.message() + "; " + error.hint(), true};
  }
}

std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const fs::path file = fs::path(folder) / name; ::access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file))
      return file.string();
  return {};
}

Finding program(const std::string& name, const std::string& purpose) {
  const std::string file = find_program(name);
  return {name, file.empty() ? "none" : file, purpose, file.empty()};
}

std::vector<Finding> build_findings() {
  utsname system{};
  ::uname(&system);
  return {{"version", TESSERA_VERSION, fmt::format("built with {}, {}", kCompiler, kBuildType)},
          {"libraries", kLibraries, ""},
          {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine),
           fmt::format("glibc {}", ::gnu_get_libc_version())}};
}

std::vector<Finding> machine_findings() {
  const HostCpu cpu = host_cpu(active_isa());
  const std::optional<Machine> machine = match_machine(cpu);
  const std::int64_t memory = memory_size_bytes();
  const std::string model = cpuinfo("model name");
  std::vector<Finding> findings;
  findings.push_back(
      {"CPU", model.empty() ? "unknown" : model,
       cpu.vendor.empty() ? std::string() : fmt::format("{}, family {}, model {}", cpu.vendor, cpu.family, cpu.model)});
  findings.push_back(cpu_features());
  findings.push_back({"instruction set", name(active_isa()), fmt::format("usable: {}", instruction_sets())});
  findings.push_back({"threads", max_threads(), thread_count_report().source});
  findings.push_back({"memory", Cell(memory, format_bytes(static_cast<double>(memory))),
                      fmt::format("a run takes {} at most, unless --memory-limit says otherwise",
                                  format_bytes(static_cast<double>(default_memory_limit_bytes())))});
  findings.push_back({"machine file", machine ? machine->name : std::string("none"),
                      machine ? machine->title : std::string("kernels are chosen by generic estimates"), !machine});
  findings.push_back({"machines", machine_names().size(), machine_folders()});
  findings.push_back(gpu());
  return findings;
}

std::vector<Finding> extra_findings() {
  const bool mpi = built_with_mpi();
  return {{"ONNX", Cell(has_onnx(), has_onnx() ? "yes" : "no"),
           has_onnx() ? "" : "build with protobuf and the onnx package to read models", !has_onnx()},
          {"MPI", Cell(mpi, mpi ? "yes" : "no"), mpi ? "" : "install libopenmpi-dev and build from source", !mpi},
          program("mpirun", "starts several processes that share a task"),
          program("python3", "tessera compare --against onnxruntime runs ONNX Runtime in it")};
}

void examine(const Context& context) {
  std::vector<Finding> findings = build_findings();
  for (const auto& more : {machine_findings(), extra_findings()})
    findings.insert(findings.end(), more.begin(), more.end());
  Table table({{.name = "what"}, {.name = "found"}, {.name = "missing"}, {.name = "remark"}});
  std::vector<std::string> missing;
  for (const Finding& finding : findings) {
    table.add_row(
        {finding.what, finding.found, Cell(finding.missing, finding.missing ? "missing" : ""), finding.remark});
    if (finding.missing) missing.push_back(finding.what);
  }
  context.print(table);
  if (!context.for_people() || context.quiet) return;
  context.print(missing.empty()
                    ? "\nnothing is missing\n"
                    : fmt::format("\nmissing: {}; everything else works without\n", fmt::join(missing, ", ")));
}

}  // namespace

void add_doctor(CLI::App& app, const Context& context) {
  CLI::App* command = app.add_subcommand(
      "doctor", "Show what this machine offers, what this command was built with, and what is missing");
  command->callback([&context] { examine(context); });
}

}  // namespace tessera::cli
