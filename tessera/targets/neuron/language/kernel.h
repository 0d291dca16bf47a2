#pragma once

// A kernel for one NeuronCore, written as a sequence of instructions in host loops. Each instruction is checked against
// the machine's limits, carried out on values (unless they are switched off) and put on the timeline of its engine,
// behind the instructions whose data or memory it needs. Engines run on their own; which of its waiting instructions an
// engine takes next is decided by which is ready first, as the compiler's scheduler would arrange them.
//
//   Kernel k(spec);
//   const View x = k.input("x", array), y = k.output("y", ElementType::float32, {128, 512});
//   const View tile = k.sbuf("tile", ElementType::float32, {128, 512});
//   k.dma_copy(tile, x);
//   k.tensor_scalar(tile, tile, MathOp::multiply, 2.0F);
//   k.dma_copy(y, tile);
//   const Profile profile = k.profile();

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/neuron/core/instruction.h"
#include "tessera/targets/neuron/core/profile.h"
#include "tessera/targets/neuron/core/traffic.h"
#include "tessera/targets/neuron/core/view.h"
#include "tessera/timeline/timeline.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::neuron {

class Core;  // core.h

class TSR_API Kernel {
 public:
  using Where = std::source_location;

  explicit Kernel(const NeuronSpec& spec, KernelOptions options = {});
  ~Kernel();
  Kernel(Kernel&&) noexcept;
  Kernel& operator=(Kernel&&) noexcept;

  const NeuronSpec& spec() const;
  const KernelOptions& options() const;

  // Tensors in HBM. An input without an array has a type and a shape only: for runs without values.
  View input(std::string name, const Array& array);
  View input(std::string name, ElementType type, std::vector<std::int64_t> shape);
  // Numbers of `type` that are given as float32.
  View input(std::string name, ElementType type, const Array& numbers);
  View output(std::string name, ElementType type, std::vector<std::int64_t> shape);
  Array read(const View& view) const;  // values of any view; an Error in a run without

  // Tiles. Fresh memory holds NaN.
  View sbuf(std::string name, ElementType type, std::vector<std::int64_t> shape, Where where = Where::current());
  View psum(std::string name, ElementType type, std::vector<std::int64_t> shape, Where where = Where::current());
  // A tile at a byte that the kernel chose, in every partition. Such tiles may share memory; who writes when is up to
  // the kernel.
  View placed(std::string name, Memory memory, ElementType type, std::vector<std::int64_t> shape, std::int64_t address,
              Where where = Where::current());
  // A tile of PSUM that the first products overwrite: zeros that cost nothing.
  void zero(View dst, Where where = Where::current());
  void memset(View dst, float value, Engine engine = Engine::vector, Where where = Where::current());

  // Converts where types differ.
  void dma_copy(View dst, const View& src, Where where = Where::current());

  // dst[m, n] (+)= sum over k of stationary[k, m] * moving[k, n]; dst in one bank of PSUM.
  void nc_matmul(View dst, const View& stationary, const View& moving, Accumulate accumulate = Accumulate::overwrite,
                 Where where = Where::current());
  // dst[n, m] = src[m, n]. TensorE writes PSUM, up to 128x128; VectorE moves 32x32.
  void nc_transpose(View dst, const View& src, Engine engine = Engine::tensor, Where where = Where::current());

  void tensor_copy(View dst, const View& src, Engine engine = Engine::vector, Where where = Where::current());
  // The one of VectorE and ScalarE that would be through with its work sooner if it copied this as well: what a
  // compiler chooses by, where a kernel leaves the engine open.
  Engine engine_for_copy(const View& dst, const View& src) const;
  void tensor_tensor(View dst, const View& a, const View& b, MathOp op, Engine engine = Engine::vector,
                     Where where = Where::current());
  // (a op0 operand0) op1 operand1, in one pass.
  void tensor_scalar(View dst, const View& a, MathOp op0, const Operand& operand0, MathOp op1 = MathOp::copy,
                     const Operand& operand1 = 0.0F, Engine engine = Engine::vector, Where where = Where::current());
  // Over the last `axes` dimensions of src: [p, rest..., reduced...] to [p, rest...]; add, max or min.
  void tensor_reduce(View dst, const View& src, MathOp op, int axes, Where where = Where::current());
  // function(src * scale + bias); bias is [p, 1] or empty.
  void activation(View dst, Function function, const View& src, const View& bias = {}, float scale = 1,
                  Where where = Where::current());

  // An instruction whose values somebody else computes: checked and timed as a pass of `engine` over the first
  // `streams` inputs. Results are written through `values` and rounded by `wrote`.
  void pass(std::string_view op, Engine engine, std::vector<View> results, const std::vector<View>& inputs,
            int streams = 1, Where where = Where::current());
  // The same for a copy by DMA; `read_too` where what is there is part of the result.
  void transfer(View dst, const View& src, bool read_too = false, Where where = Where::current());
  // All that a view's tile holds. Nothing in a run without values.
  std::span<float> values(const View& view) const;
  void wrote(const View& view) const;  // somebody wrote through `values`
  const Lifetimes& lifetimes() const;  // so far
  // How many elements of a tensor in HBM nobody has written.
  std::int64_t unwritten(const View& view) const;

  // A loop whose turns have no order among themselves, NKI's affine_range: what one turn writes, no other may read or
  // write, but for products that are added up in PSUM. What breaks that is an Error that names both lines.
  template <class Body>
  void affine_range(std::int64_t turns, Body&& body, Where where = Where::current()) {
    begin_affine_range(where);
    const LoopEnd end{this};
    for (std::int64_t i = 0; i < turns; ++i) {
      next_turn();
      body(i);
    }
  }
  // The same, for loops that somebody else runs.
  void begin_affine_range(Where where = Where::current());
  void next_turn();
  void end_affine_range();
  // Where the kernel is in such loops now; and instructions from here on belong there, until the next turn. For scripts
  // whose results are computed later than they are written down.
  std::int64_t turn() const;
  void set_turn(std::int64_t turn);

  // From here on turns that meet each other are no errors: they are run as they are written, for compilers that leave
  // loops alone. The first such meeting, or "".
  void run_turns_as_written();
  const std::string& carried() const;
  // A loop whose turns stay in order, NKI's sequential_range: no engine takes an instruction of a later turn before
  // those of an earlier one. Whole loops that are not told so are free to overlap, as far as data and memory let them.
  void begin_sequential_range();
  void next_sequential_turn();
  void end_sequential_range();

  // Instructions from here on belong to this line of somebody's script; "" returns to the lines of C++.
  void set_location(std::string location);

  // How many instructions there are, and how long they take together.
  Profile profile() const;
  const sim::Timeline& timeline() const;
  sim::Schedule schedule() const;
  // The line that a task of the timeline belongs to: of a script as set_location had it, or of the kernel in C++.
  const std::string& line_of(sim::TaskId task) const;
  // What copies moved, by tensor in HBM, in the order in which those were made.
  const std::vector<TensorTraffic>& traffic() const;

 private:
  struct LoopEnd {
    Kernel* kernel;
    ~LoopEnd() { kernel->end_affine_range(); }
  };
  std::shared_ptr<Core> core_;
};

}  // namespace tessera::neuron
