#pragma once

// Kernels of a plan for this machine's own processor, the body of its plan file (plan_document.h): what was chosen for
// each node and why, and what memory it takes. A session that is handed one takes its kernels without looking for
// others. Weights are not in it.

#include "tessera/core/export.h"
#include "tessera/kernel_plan/plan.h"

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

constexpr int kPlanFileSchema = 1;  // rises when the meaning of a field changes

struct PlanFile {
  std::string network;
  std::string network_digest;  // empty: of a body, or of a file that does not say it
  std::string isa;
  int threads = 0;
  std::map<std::string, std::string> kernels;  // by node
};

// JSON. The plans of all stages of a network, first to last.
TSR_API std::string encode_plan_file(std::string_view network, std::span<const std::shared_ptr<const Plan>> plans);

// The body, or a whole plan file.
TSR_API PlanFile parse_plan_file(std::string_view text);
TSR_API PlanFile load_plan_file(const std::filesystem::path& path);

}  // namespace tessera
