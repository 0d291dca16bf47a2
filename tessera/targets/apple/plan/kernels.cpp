#include "tessera/targets/apple/plan/kernels.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace tessera::apple {
namespace {

// MLX's own limits: so deep, and so many arrays in and out of one kernel.
constexpr int kMostDepth = 11;
constexpr std::size_t kMostArrays = 24;

class Compiler {
 public:
  explicit Compiler(const MlxProgram& program)
      : program_(program), made_by_(program.arrays.size(), -1), readers_(program.arrays.size()) {
    for (std::size_t p = 0; p < program.primitives.size(); ++p) {
      made_by_[at(program.primitives[p].output)] = static_cast<int>(p);
      for (const int input : program.primitives[p].inputs) readers_[at(input)].push_back(static_cast<int>(p));
    }
    kept_.insert(program.outputs.begin(), program.outputs.end());
  }

  std::vector<MlxKernel> run() {
    std::vector<bool> taken(program_.primitives.size(), false);
    std::vector<MlxKernel> kernels;
    for (std::size_t p = program_.primitives.size(); p-- > 0;) {
      const Primitive& root = program_.primitives[p];
      if (taken[p] || root.kind == Primitive::Kind::view) continue;
      std::set<int> section{static_cast<int>(p)};
      if (root.kind == Primitive::Kind::element_wise) {
        std::set<int> inputs;
        for (const int input : root.inputs) grow(input, 1, static_cast<int>(p), section, inputs, taken);
      }
      for (const int each : section) taken[at(each)] = true;
      kernels.push_back(kernel_of(section, root.output));
    }
    std::reverse(kernels.begin(), kernels.end());
    return kernels;
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  // Takes what makes `array` into the section if nobody outside reads it.
  void grow(int array, int depth, int root, std::set<int>& section, std::set<int>& inputs,
            const std::vector<bool>& taken) {
    const int maker = made_by_[at(array)];
    const auto outside = [&] { inputs.insert(array); };
    if (maker < 0 || section.contains(maker)) return maker < 0 ? outside() : void();
    const Primitive& primitive = program_.primitives[at(maker)];
    const bool read_elsewhere = std::any_of(readers_[at(array)].begin(), readers_[at(array)].end(),
                                            [&](int reader) { return !section.contains(reader); });
    const bool fits = inputs.size() + primitive.inputs.size() + 1 <= kMostArrays;
    if (primitive.kind != Primitive::Kind::element_wise || taken[at(maker)] || depth >= kMostDepth || read_elsewhere ||
        !fits || kept_.contains(array) || program_.repeats[at(maker)] != program_.repeats[at(root)])
      return outside();
    section.insert(maker);
    for (const int input : primitive.inputs) grow(input, depth + 1, root, section, inputs, taken);
  }

  MlxKernel kernel_of(const std::set<int>& section, int output) const {
    MlxKernel kernel{.primitives = {section.begin(), section.end()}, .reads = {}, .output = output, .launches = 0};
    std::map<int, std::int64_t> bytes;  // by root: views of it together, and no more than there are
    for (const int p : section) {
      const Primitive& primitive = program_.primitives[at(p)];
      kernel.flops += primitive.flops;
      kernel.specials += primitive.specials;
      kernel.launches = std::max(kernel.launches, primitive.launches);
      kernel.repeats = program_.repeats[at(p)];
      for (const int input : primitive.inputs) {
        const int maker = made_by_[at(input)];
        if (maker >= 0 && section.contains(maker)) continue;
        const MlxArray& array = program_.arrays[at(input)];
        const std::int64_t all = program_.arrays[at(array.root)].bytes;
        bytes[array.root] = std::min(all, bytes[array.root] + array.bytes);
      }
    }
    for (const auto& [root, count] : bytes) {
      kernel.reads.push_back(root);
      kernel.read_bytes += static_cast<double>(count);
    }
    kernel.written_bytes = static_cast<double>(program_.arrays[at(output)].bytes);
    return kernel;
  }

  const MlxProgram& program_;
  std::vector<int> made_by_;               // by array: the primitive, or -1
  std::vector<std::vector<int>> readers_;  // by array: primitives
  std::set<int> kept_;
};

}  // namespace

std::vector<MlxKernel> compiled_kernels(const MlxProgram& program) { return Compiler(program).run(); }

std::int64_t peak_bytes(const MlxProgram& program, const std::vector<MlxKernel>& kernels) {
  std::vector<std::size_t> last(program.arrays.size(), 0);
  for (std::size_t k = 0; k < kernels.size(); ++k)
    for (const int read : kernels[k].reads) last[static_cast<std::size_t>(read)] = k;
  for (const int output : program.outputs)
    last[static_cast<std::size_t>(program.arrays[static_cast<std::size_t>(output)].root)] = kernels.size();
  std::int64_t live = 0, most = 0;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    live += program.arrays[static_cast<std::size_t>(kernels[k].output)].bytes;
    most = std::max(most, live);
    const auto freed = [&](int array) {
      const MlxArray& a = program.arrays[static_cast<std::size_t>(array)];
      if (a.place == MlxArray::Place::computed && last[static_cast<std::size_t>(array)] == k) live -= a.bytes;
    };
    for (const int read : kernels[k].reads) freed(read);
    if (std::ranges::find(kernels[k].reads, kernels[k].output) == kernels[k].reads.end() &&
        last[static_cast<std::size_t>(kernels[k].output)] <= k)
      freed(kernels[k].output);
  }
  return most;
}

}  // namespace tessera::apple
