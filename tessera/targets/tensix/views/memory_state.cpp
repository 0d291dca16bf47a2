#include "tessera/targets/tensix/views/memory_state.h"

#include "tessera/core/error.h"
#include "tessera/report/table.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

namespace tessera::tensix {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kStateSchema = 1;

MemoryState::Memory memory_of(const Device& device, BufferType type) {
  MemoryState::Memory memory{type, device.memory_view(type), device.allocator().base_address(type), {}};
  const std::vector<FreeList::Block>& blocks = device.allocator().free_list(type).blocks();
  for (std::size_t id = 0; id < blocks.size(); ++id) {
    const FreeList::Block& block = blocks[id];
    if (!block.in_use || block.size_bytes == 0) continue;
    memory.blocks.push_back(
        {static_cast<int>(id), memory.base_address + block.address, block.size_bytes, block.allocated});
  }
  std::sort(memory.blocks.begin(), memory.blocks.end(),
            [](const auto& a, const auto& b) { return a.address < b.address; });
  return memory;
}

void add_buffer(MemoryState& state, const Buffer& buffer) {
  const auto memory = std::find_if(state.memories.begin(), state.memories.end(),
                                   [&](const auto& candidate) { return candidate.type == buffer.type(); });
  check(memory != state.memories.end(), Code::internal, "a buffer lies in {}, which device {} does not have",
        name(buffer.type()), state.device_id);
  const auto block = std::find_if(memory->blocks.begin(), memory->blocks.end(), [&](const auto& candidate) {
    return candidate.allocated && candidate.address == buffer.address();
  });
  check(block != memory->blocks.end(), Code::internal, "no block of {} starts at address {} of a live buffer",
        name(buffer.type()), buffer.address());
  const std::size_t described = buffer.holds().bytes_by_bank.size();
  check(described == 0 || described == static_cast<std::size_t>(memory->view.num_banks), Code::internal,
        "the contents of '{}' are given for {} banks, {} has {}", buffer.holds().label, described, name(buffer.type()),
        memory->view.num_banks);
  block->buffer = static_cast<int>(state.buffers.size());
  state.buffers.push_back({"", buffer.holds().label, buffer.type(), buffer.address(), buffer.bytes_per_bank(),
                           block->size_bytes * memory->view.num_banks, buffer.holds().bytes_by_bank});
}

Json useful_runs(const MemoryState::Buffer& buffer) {
  if (!buffer.knows_contents()) return nullptr;
  const std::vector<std::int64_t>& bytes = buffer.useful_bytes_by_bank;
  Json runs = Json::array();
  for (std::size_t first = 0; first < bytes.size();) {
    std::size_t end = first;
    while (end < bytes.size() && bytes[end] == bytes[first]) ++end;
    runs.push_back({{"first_bank", first}, {"banks", end - first}, {"bytes", bytes[first]}});
    first = end;
  }
  return runs;
}

Json device_json(const MemoryState& state) {
  return {{"id", state.device_id},
          {"machine", state.machine},
          {"title", state.title},
          {"arch", state.arch},
          {"kind", "simulated"},
          {"grid", {{"columns", state.cores.columns}, {"rows", state.cores.rows}}},
          {"l1_bytes_per_core", state.l1_bytes},
          {"l1_reserved_bytes_per_core", state.l1_reserved_bytes},
          {"dram_banks", state.dram_banks},
          {"dram_bytes_per_bank", state.dram_bank_bytes},
          {"dram_reserved_bytes_per_bank", state.dram_reserved_bytes}};
}

Json memory_json(const MemoryState::Memory& memory) {
  Json blocks = Json::array();
  for (const MemoryState::Block& block : memory.blocks) {
    Json entry = {
        {"id", block.id}, {"address", block.address}, {"size_bytes", block.size_bytes}, {"allocated", block.allocated}};
    if (block.buffer != MemoryState::kNoBuffer) entry["buffer"] = block.buffer;
    blocks.push_back(std::move(entry));
  }
  return {{"name", name(memory.type)},
          {"banks", memory.view.num_banks},
          {"base_address", memory.base_address},
          {"bytes_per_bank", memory.view.total_bytes_per_bank},
          {"allocated_bytes_per_bank", memory.view.allocated_bytes_per_bank},
          {"free_bytes_per_bank", memory.view.free_bytes_per_bank},
          {"largest_free_block_bytes_per_bank", memory.view.largest_free_block_bytes_per_bank},
          {"fragmentation", memory.fragmentation()},
          {"blocks", std::move(blocks)}};
}

Json buffer_json(const MemoryState::Buffer& buffer) {
  return {{"name", buffer.name},
          {"label", buffer.label},
          {"memory", name(buffer.memory)},
          {"address", buffer.address},
          {"bytes_per_bank", buffer.bytes_per_bank},
          {"reserved_bytes", buffer.reserved_bytes},
          {"useful_bytes", buffer.knows_contents() ? Json(buffer.useful_bytes()) : Json(nullptr)},
          {"useful_bytes_by_bank", useful_runs(buffer)}};
}

Json circular_buffer_json(const PlacedCircularBuffer& placed) {
  return {{"name", placed.buffer.name},
          {"cores", placed.buffer.cores.to_string()},
          {"address", placed.address},
          {"bytes", placed.buffer.bytes}};
}

Json move_json(const TraceRecord& record) {
  Json transfers = Json::array();
  for (const Transfer& transfer : record.transfers)
    transfers.push_back({{"from", name(transfer.from)},
                         {"to", name(transfer.to)},
                         {"bytes", transfer.bytes},
                         {"pieces", transfer.pieces},
                         {"local_bytes", transfer.local_bytes},
                         {"busiest_bank_bytes", transfer.busiest_bank_bytes}});
  return {{"op", record.op()}, {"detail", record.detail}, {"transfers", std::move(transfers)}};
}

template <class Items, class Convert>
Json array_of(const Items& items, Convert convert) {
  Json array = Json::array();
  for (const auto& item : items) array.push_back(convert(item));
  return array;
}

}  // namespace

double MemoryState::Memory::fragmentation() const {
  if (view.free_bytes_per_bank == 0) return 0;
  return 1 -
         static_cast<double>(view.largest_free_block_bytes_per_bank) / static_cast<double>(view.free_bytes_per_bank);
}

std::int64_t MemoryState::Buffer::useful_bytes() const {
  if (!knows_contents()) return reserved_bytes;
  return std::accumulate(useful_bytes_by_bank.begin(), useful_bytes_by_bank.end(), std::int64_t{0});
}

int MemoryState::Buffer::banks_used() const {
  return static_cast<int>(std::count_if(useful_bytes_by_bank.begin(), useful_bytes_by_bank.end(),
                                        [](std::int64_t bytes) { return bytes > 0; }));
}

double MemoryState::Buffer::useful_fraction() const {
  return reserved_bytes == 0 ? 0 : static_cast<double>(useful_bytes()) / static_cast<double>(reserved_bytes);
}

std::string MemoryState::Buffer::title() const {
  if (name.empty()) return label.empty() ? "(not labelled)" : label;
  return label.empty() ? name : fmt::format("{}: {}", name, label);
}

const MemoryState::Memory* MemoryState::find(BufferType type) const {
  for (const Memory& memory : memories)
    if (memory.type == type) return &memory;
  return nullptr;
}

MemoryState memory_state(const Device& device, CircularBufferPlacement circular_buffers) {
  device.check_open();
  const TensixSpec& card = device.card();
  MemoryState state;
  state.device_id = device.id();
  state.machine = device.machine().name;
  state.title = device.machine().title;
  state.arch = card.arch;
  state.cores = device.banks(BufferType::l1);
  state.dram_banks = card.dram_banks;
  state.l1_bytes = card.l1_bytes;
  state.l1_reserved_bytes = device.allocator().circular_buffer_base();
  state.dram_bank_bytes = card.dram_bank_base_bytes + card.dram_bank_bytes;
  state.dram_reserved_bytes = card.dram_bank_base_bytes;
  for (BufferType type : {BufferType::dram, BufferType::l1, BufferType::l1_small, BufferType::trace})
    if (device.memory_view(type).total_bytes_per_bank > 0) state.memories.push_back(memory_of(device, type));
  for (const Buffer* buffer : device.live_buffers()) add_buffer(state, *buffer);
  state.circular_buffers = std::move(circular_buffers);
  state.moves = device.trace();
  return state;
}

std::string memory_state_json(const MemoryState& state) {
  const Json document = {{"schema", kStateSchema},
                         {"device", device_json(state)},
                         {"memories", array_of(state.memories, memory_json)},
                         {"buffers", array_of(state.buffers, buffer_json)},
                         {"circular_buffers", array_of(state.circular_buffers.buffers, circular_buffer_json)},
                         {"moves", array_of(state.moves, move_json)}};
  // Labels may not be UTF-8; the reader gets U+FFFD rather than no report at all.
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string memory_state_csv(const MemoryState& state) {
  Table table({{.name = "memory"},
               {.name = "id"},
               {.name = "address"},
               {.name = "size_bytes"},
               {.name = "allocated"},
               {.name = "name"},
               {.name = "label"},
               {.name = "useful_bytes"}});
  for (const MemoryState::Memory& memory : state.memories)
    for (const MemoryState::Block& block : memory.blocks) {
      const auto* buffer =
          block.buffer == MemoryState::kNoBuffer ? nullptr : &state.buffers[static_cast<std::size_t>(block.buffer)];
      table.add_row({name(memory.type), block.id, block.address, block.size_bytes, block.allocated,
                     buffer ? Cell(buffer->name) : Cell(), buffer ? Cell(buffer->label) : Cell(),
                     buffer && buffer->knows_contents() ? Cell(buffer->useful_bytes()) : Cell()});
    }
  return render_csv(table);
}

}  // namespace tessera::tensix
