#include "tessera/targets/tensix/plan/trial_bytes.h"

#include "tessera/core/refusal.h"

#include <cstring>
#include <type_traits>

namespace tessera::tensix {
namespace {

class ByteWriter {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof(T));
  }
  void put(const std::string& text) {
    put(text.size());
    const auto from = std::as_bytes(std::span(text));
    bytes.insert(bytes.end(), from.begin(), from.end());
  }
  void put(const MemoryConfig& memory) {
    put(memory.layout());
    put(memory.buffer_type());
    put(memory.shard_spec().has_value());
    if (!memory.shard_spec()) return;
    put(memory.shard_spec()->grid.ranges().size());
    for (const CoreRange& range : memory.shard_spec()->grid.ranges()) put(range);
    put(memory.shard_spec()->shape);
    put(memory.shard_spec()->orientation);
  }

  std::vector<std::byte> bytes;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T get() {
    T value{};
    const auto from = take(sizeof(T));
    std::memcpy(&value, from.data(), sizeof(T));
    return value;
  }
  std::string text() {
    const auto from = take(get<std::size_t>());
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  MemoryConfig memory() {
    const auto layout = get<TensorMemoryLayout>();
    const auto type = get<BufferType>();
    if (!get<bool>()) return MemoryConfig(layout, type);
    std::vector<CoreRange> ranges(get<std::size_t>(), CoreRange({0, 0}, {0, 0}));
    for (CoreRange& range : ranges) std::memcpy(&range, take(sizeof(range)).data(), sizeof(range));
    const auto shape = get<Extent2d>();
    const auto orientation = get<ShardOrientation>();
    return MemoryConfig(layout, type, ShardSpec{CoreRangeSet(std::move(ranges)), shape, orientation});
  }
  bool done() const { return bytes_.empty(); }

 private:
  std::span<const std::byte> take(std::size_t count) {
    check(count <= bytes_.size(), Code::internal, "a trial's bytes end {} too early", count - bytes_.size());
    const auto out = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return out;
  }

  std::span<const std::byte> bytes_;
};

// Everything that has to be there again.
bool same(const UnnumberedTrial& a, const UnnumberedTrial& b) {
  return a.result == b.result && a.trial.input_shards == b.trial.input_shards;
}

}  // namespace

std::optional<std::vector<std::byte>> trial_bytes(const UnnumberedTrial& one) {
  static_assert(std::is_trivially_copyable_v<CoreRange> && std::is_trivially_copyable_v<Extent2d>);
  ByteWriter out;
  const Trial& t = one.trial;
  out.put(t.ns);
  out.put(t.kernel_ns);
  out.put(t.programs);
  out.put(t.peak_bytes);
  out.put(t.operand_bytes);
  out.put(t.list_bytes);
  out.put(t.reshards);
  out.put(t.config);
  out.put(t.refusal.message);
  out.put(t.refusal.code);
  out.put(t.refusal.shortage);
  out.put(t.refusal.requested_bytes);
  out.put(t.refusal.free_bytes);
  out.put(t.refusal.largest_free_bytes);
  out.put(t.input_shards.has_value());
  if (t.input_shards) out.put(*t.input_shards);
  out.put(one.result.has_value());
  if (one.result) {
    out.put(one.result->logical_shape().rank());
    for (const std::int64_t extent : one.result->logical_shape().dims()) out.put(extent);
    out.put(one.result->dtype());
    out.put(one.result->layout());
    out.put(one.result->memory_config());
  }
  const auto again = attempt([&] { return trial_of(out.bytes); });
  if (!again || !same(*again, one)) return std::nullopt;
  return std::move(out.bytes);
}

UnnumberedTrial trial_of(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  UnnumberedTrial one;
  Trial& t = one.trial;
  t.ns = in.get<double>();
  t.kernel_ns = in.get<double>();
  t.programs = in.get<std::int64_t>();
  t.peak_bytes = in.get<std::int64_t>();
  t.operand_bytes = in.get<std::int64_t>();
  t.list_bytes = in.get<std::int64_t>();
  t.reshards = in.get<bool>();
  t.config = in.text();
  t.refusal.message = in.text();
  t.refusal.code = in.get<Code>();
  t.refusal.shortage = in.get<Shortage>();
  t.refusal.requested_bytes = in.get<std::int64_t>();
  t.refusal.free_bytes = in.get<std::int64_t>();
  t.refusal.largest_free_bytes = in.get<std::int64_t>();
  if (in.get<bool>()) t.input_shards = in.memory();
  if (in.get<bool>()) {
    std::vector<std::int64_t> extents(static_cast<std::size_t>(in.get<decltype(Shape().rank())>()));
    for (std::int64_t& extent : extents) extent = in.get<std::int64_t>();
    const auto dtype = in.get<DType>();
    const auto layout = in.get<Layout>();
    one.result.emplace(Shape(extents), dtype, layout, in.memory());
  }
  check(in.done(), Code::internal, "a trial's bytes go on behind its end");
  return one;
}

}  // namespace tessera::tensix
