#pragma once

// Timings that others measured on cards, as programs whose time can be predicted.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/program_work.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::tensix {

struct MeasuredOp {
  std::string name;     // what people read: "conv2d 1x56x56x64 -> 64, 3x3"
  std::string kind;     // "conv2d", "halo", ...: rows are summed up by it
  std::string machine;  // a file in machines/
  ProgramWork work;
  double measured_ns = 0;
  // Of rows that were timed on the host: what its loop took as well.
  bool from_host = false, traced = false;
};

struct MeasuredOps {
  std::vector<MeasuredOp> rows;
  std::vector<std::string> left_out;  // a sentence each: what, and why
};

// {"ops": [...]} with a row for each group of equal operations of a profile, {"conv_perf_targets_us": [...]} besides.
TSR_API MeasuredOps read_measured_ops(const std::filesystem::path& path);

// device,mode,grid,M,K,N,trace,in0_storage,in1_storage,out_storage,dtype,fidelity,time_ns,...
TSR_API MeasuredOps read_measured_gemms(const std::filesystem::path& path);

}  // namespace tessera::tensix
