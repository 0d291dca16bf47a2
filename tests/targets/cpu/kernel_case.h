#pragma once

// One node, run by every kernel there is for it, each checked against the definition.

#include "tessera/graph/graph.h"
#include "tessera/targets/cpu/kernels/kernel.h"

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace tessera::cpu {

// A graph of one node. Inputs that are graph inputs get `arrays`, in order.
struct KernelCase {
  Graph graph;
  std::vector<Array> arrays;
  std::vector<Order> orders = {};  // in which the node finds its inputs (as in Node::inputs); empty: row_major

  // Rounding that a right kernel may show: sums of so many products ...
  std::int64_t reduction = 1;
  double rounding = 1;  // times as much (KernelInfo::rounding)
  // ... of numbers of this size (0: of the size of each wanted result) ...
  double magnitude = 0;
  // ... and functions that are this many units of the last place off.
  double ulps = 4;
  // As in Problem.
  bool exact = true;
  DType weights = DType::float32;
};

// What is allowed between a result and the wanted one.
double tolerance(ElementType type, const KernelCase& test, double wanted);

// Runs the node by this kernel: the outputs, row_major, or why it refused.
// `wide`: with every operand that the kernel would take so inside of wider ones (Offer::wide_inputs, wide_outputs), of
// which it may neither use nor change the rest.
std::variant<std::vector<Array>, Refusal> run_kernel(const CpuKernel& kernel, const KernelCase& test, int threads = 2,
                                                     bool wide = false);

// kernels(), and those on AMX once more on emulated tiles: they need no AMX, and no plan takes them.
std::span<const CpuKernel> tested_kernels();

// Runs every kernel for the node's operator (but "reference" and "view") that this CPU can run, on one, two and three
// threads, and expects what evaluate() gives; and the same bits with operands inside of wider ones, from those that
// take them so. The names of those that accepted.
std::vector<std::string> expect_kernels_agree(const KernelCase& test);

// Normal numbers (small whole ones for integer types), and numbers that are hard on kernels: zeros of both signs,
// infinities, NaN, subnormal and huge ones among normal ones.
Array random_array(ElementType type, const Shape& shape, std::mt19937_64& random);
Array nasty_array(ElementType type, const Shape& shape, std::mt19937_64& random);

}  // namespace tessera::cpu
