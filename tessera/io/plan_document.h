#pragma once

// A plan file: JSON with a head and steps that are the same for every machine, and a body that its target alone reads.
// `tessera plan -o` and `--format json` write the same document.
//
//   schema, kind       2, "tessera plan"
//   target             the family of the machine: "cpu", "tensix"
//   machine, machine_digest, model, model_inputs, network_digest, batch
//   totals             times of a batch in ns
//   memory, accuracy
//   steps              what runs, its time and basis, what bounds it, moves before it, what else was weighed
//   body               what the target follows; steps above are for readers

#include "tessera/core/export.h"
#include "tessera/target/network_plan.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace tessera {

constexpr int kPlanDocumentSchema = 2;

TSR_API std::string encode_plan_document(const NetworkPlan& plan);
// Replaces the file in one step; a failure leaves an older one as it was.
TSR_API void save_plan_document(const std::filesystem::path& path, const NetworkPlan& plan);

struct PlanDocument {
  std::string target;
  std::string body;
};
// Files of schema 1, which had a form for each target, are all body.
TSR_API PlanDocument parse_plan_document(std::string_view text);
TSR_API PlanDocument load_plan_document(const std::filesystem::path& path);

// Whether a file can be meant as one: it begins as JSON objects do, and as no model does.
TSR_API bool looks_like_plan(const std::filesystem::path& path);

}  // namespace tessera
