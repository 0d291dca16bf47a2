#include "tessera/targets/tensix/ops/halo/halo.h"

#include "tessera/core/error.h"
#include "tessera/core/tile.h"

#include <algorithm>
#include <span>

namespace tessera::tensix {
namespace {

constexpr std::int64_t kWordBytes = 2;  // the lists are of 16-bit words

// Sticks that follow each other at the source and at the destination.
struct Piece {
  std::int64_t from = 0, to = 0, length = 0;
};

struct Move {
  std::int64_t destination = 0;
  Piece piece;
};

// What the cores along the rows of a tensor send each other, by source: destination by destination, and of each in the
// order of its sticks.
struct Exchange {
  std::vector<std::vector<Move>> moves;
  std::vector<std::int64_t> paddings;  // runs of padding, by destination
  std::int64_t most_sticks = 0;
  std::int64_t padding_sticks = 0;
};

// Walks over the stretch of the padded image that one core needs, run by run.
class Gather {
 public:
  Gather(const HaloProblem& problem, std::int64_t shard_rows, std::int64_t destination, Exchange& exchange)
      : problem_(problem), shard_rows_(shard_rows), destination_(destination), exchange_(exchange) {}

  void stretch(std::int64_t first, std::int64_t last) {
    const std::int64_t w = problem_.padded_w();
    for (std::int64_t row = first / w; row <= last / w; ++row)
      image_row(row, std::max(first - row * w, std::int64_t{0}), std::min(last - row * w, w - 1));
  }

 private:
  // Columns [x, end] of one row of the padded image.
  void image_row(std::int64_t row, std::int64_t x, std::int64_t end) {
    const std::int64_t y = row % problem_.padded_h() - problem_.window.top;
    if (y < 0 || y >= problem_.spread_height() || y % problem_.spread_h != 0) return pad(end - x + 1);
    const std::int64_t image = row / problem_.padded_h();
    const std::int64_t sticks = (image * problem_.height + y / problem_.spread_h) * problem_.width;
    const std::int64_t left = problem_.window.left;
    const std::int64_t right = left + problem_.spread_width();  // where the padding on the right begins
    if (x < left) pad(std::min(end + 1, left) - x);
    x = std::max(x, left);
    if (problem_.spread_w == 1) {
      if (x < right && x <= end) copy(sticks + x - left, std::min(end + 1, right) - x);
      x = std::max(x, right);
    } else {
      for (; x < right && x <= end; ++x)
        if ((x - left) % problem_.spread_w == 0)
          copy(sticks + (x - left) / problem_.spread_w, 1);
        else
          pad(1);
    }
    if (x <= end) pad(end - x + 1);
  }

  void pad(std::int64_t length) {
    if (!padding_) ++exchange_.paddings[static_cast<std::size_t>(destination_)];
    padding_ = true;
    exchange_.padding_sticks += length;
    to_ += length;
  }

  void copy(std::int64_t stick, std::int64_t length) {
    while (length > 0) {
      const std::int64_t source = stick / shard_rows_, from = stick % shard_rows_;
      const std::int64_t n = std::min(length, shard_rows_ - from);
      std::vector<Move>& moves = exchange_.moves[static_cast<std::size_t>(source)];
      // The last move of that source is this core's if it is what came last here.
      if (!padding_ && source == last_source_ && moves.back().piece.from + moves.back().piece.length == from)
        moves.back().piece.length += n;
      else
        moves.push_back({destination_, {from, to_, n}});
      last_source_ = source;
      padding_ = false;
      stick += n, to_ += n, length -= n;
    }
  }

  const HaloProblem& problem_;
  std::int64_t shard_rows_, destination_;
  Exchange& exchange_;
  std::int64_t to_ = 0;
  std::int64_t last_source_ = -1;
  bool padding_ = false;
};

// Cores of a caller's grid that are left without rows gather the last window nevertheless, as TTNN's do.
Exchange exchange_of(const HaloProblem& problem, std::int64_t shard_rows, std::int64_t out_rows_per_core,
                     std::int64_t row_parts) {
  const std::int64_t in_rows = problem.batch * problem.height * problem.width;
  const std::int64_t out_rows = problem.out_rows();
  Exchange out;
  out.moves.resize(static_cast<std::size_t>(ceil_div(in_rows, shard_rows)));
  const std::int64_t used = ceil_div(out_rows, out_rows_per_core);
  out.paddings.resize(static_cast<std::size_t>(std::max(used, row_parts)));
  for (std::int64_t first = 0; first < out_rows; first += out_rows_per_core) {
    const std::int64_t last = std::min(first + out_rows_per_core, out_rows) - 1;
    const std::int64_t start = problem.start_of(first), end = problem.start_of(last) + problem.reach();
    Gather(problem, shard_rows, first / out_rows_per_core, out).stretch(start, end);
    out.most_sticks = std::max(out.most_sticks, end - start + 1);
  }
  const std::int64_t start = problem.start_of(out_rows - 1);
  for (std::int64_t idle = used; idle < row_parts; ++idle)
    Gather(problem, shard_rows, idle, out).stretch(start, start + problem.reach());
  return out;
}

// Words of a list of moves: one in front, three for each change of destination (its coordinates and how many pieces
// follow) and three for each piece.
std::int64_t words_of(const std::vector<Move>& moves) {
  std::int64_t words = 1, destination = -1;
  for (const Move& move : moves) {
    if (move.destination != destination) words += 3;
    destination = move.destination;
    words += 3;
  }
  return words;
}

// One destination's share of a core's moves.
using Share = std::span<const Move>;

std::vector<Share> shares_of(std::span<const Move> moves) {
  std::vector<Share> out;
  while (!moves.empty()) {
    std::size_t n = 1;
    while (n < moves.size() && moves[n].destination == moves[0].destination) ++n;
    out.push_back(moves.first(n));
    moves = moves.subspan(n);
  }
  return out;
}

// The moves of one core, dealt to its two processors. A row-major shard is dealt piece by piece: those that stay
// first, then the others core by core. A tiled shard is untilized row of tiles by row of tiles, each processor taking
// every other, so pieces are cut there and come in the order of the source; those from the same stick, in the order of
// their destinations' coordinates.
std::array<std::vector<Move>, 2> deal_rows(std::int64_t core, std::span<const Move> moves) {
  std::array<std::vector<Move>, 2> out;
  std::size_t turn = 0;
  for (const bool stays : {true, false})
    for (const Move& move : moves)
      if ((move.destination == core) == stays) out[turn++ % 2].push_back(move);
  return out;
}

std::array<std::vector<Move>, 2> deal_tiles(std::span<const Move> moves, const std::vector<std::int64_t>& rank) {
  const std::int64_t tile = Tile().height;
  std::vector<Share> shares = shares_of(moves);
  std::ranges::sort(shares, {}, [&](Share share) { return rank[static_cast<std::size_t>(share[0].destination)]; });
  // Each share is in the order of its sticks: what is left of its first piece is next, or another share's.
  std::vector<Piece> next;
  for (const Share share : shares) next.push_back(share[0].piece);
  std::array<std::vector<Move>, 2> out;
  while (!shares.empty()) {
    std::size_t first = 0;
    for (std::size_t i = 1; i < next.size(); ++i)
      if (next[i].from < next[first].from) first = i;
    Piece& piece = next[first];
    const std::int64_t n = std::min(piece.length, tile - piece.from % tile);
    out[static_cast<std::size_t>(piece.from / tile % 2)].push_back(
        {shares[first][0].destination, {piece.from, piece.to, n}});
    piece.from += n, piece.to += n, piece.length -= n;
    if (piece.length > 0) continue;
    shares[first] = shares[first].subspan(1);
    if (!shares[first].empty()) {
      piece = shares[first][0].piece;
    } else {
      shares.erase(shares.begin() + static_cast<std::ptrdiff_t>(first));
      next.erase(next.begin() + static_cast<std::ptrdiff_t>(first));
    }
  }
  return out;
}

// The order of the cores along the rows by their coordinates: columns first. Only height shards wrap from row to row.
std::vector<std::int64_t> coordinate_ranks(const Parallel& input, std::size_t count) {
  std::vector<std::int64_t> rank(count);
  for (std::size_t i = 0; i < count; ++i) rank[i] = static_cast<std::int64_t>(i);
  if (input.layout != TensorMemoryLayout::height_sharded) return rank;
  const std::vector<CoreCoord> cores = input.cores.cores(input.orientation == ShardOrientation::row_major);
  check(cores.size() >= count, Code::invalid_argument, "halo: {} shards on {} cores", count, cores.size());
  std::vector<std::int64_t> order = rank;
  std::ranges::sort(order, {}, [&](std::int64_t i) { return cores[static_cast<std::size_t>(i)]; });
  for (std::size_t i = 0; i < count; ++i) rank[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return rank;
}

}  // namespace

std::int64_t HaloProblem::start_of(std::int64_t out_row) const {
  const std::int64_t x = out_row % out_w(), y = out_row / out_w() % out_h(), image = out_row / (out_w() * out_h());
  return (image * padded_h() + y * window.stride_h) * padded_w() + x * window.stride_w;
}

std::int64_t HaloProblem::reach() const {
  return window.dilation_h * (window.kernel_h - 1) * padded_w() + window.dilation_w * (window.kernel_w - 1);
}

HaloPlan plan_halo(const HaloProblem& problem, const Parallel& input, Extent2d input_shard,
                   std::int64_t out_rows_per_core, DType input_dtype, Layout input_layout) {
  check(problem.batch > 0 && problem.height > 0 && problem.width > 0 && problem.out_h() > 0 && problem.out_w() > 0,
        Code::invalid_argument, "halo: a window of {}x{} over {} images of {}x{} has no output",
        problem.window.kernel_h, problem.window.kernel_w, problem.batch, problem.height, problem.width);
  check(input_shard.height > 0 && input_shard.width > 0 && out_rows_per_core > 0, Code::invalid_argument,
        "halo: shards of {}x{} for {} output rows per core", input_shard.height, input_shard.width, out_rows_per_core);
  const bool tiled = input_layout == Layout::tile;
  HaloPlan plan;
  plan.out_dtype = input_dtype == DType::float32 ? DType::float32 : DType::bfloat16;
  const std::int64_t element_bytes = plan.out_dtype == DType::float32 ? 4 : 2;
  plan.stick_bytes = input_shard.width * element_bytes;

  const Exchange exchange = exchange_of(problem, input_shard.height, out_rows_per_core, input.row_parts);
  plan.out_sticks = exchange.most_sticks;
  plan.padding_sticks = exchange.padding_sticks;
  // A run of padding is two words, and each list ends with an empty one. The second processor takes the odd run.
  const std::int64_t most_paddings = *std::ranges::max_element(exchange.paddings);
  plan.config_bytes[0] = 2 * kWordBytes * (most_paddings / 2 + 1);
  plan.config_bytes[1] = 2 * kWordBytes * (ceil_div(most_paddings, 2) + 1);

  const std::size_t cores = std::max(exchange.moves.size(), exchange.paddings.size());
  const std::vector<std::int64_t> rank = coordinate_ranks(input, cores);
  std::array<std::int64_t, 2> words{1, 1};
  std::vector<std::int64_t> received(cores), sent(cores), kept(cores), pieces(cores);
  for (std::size_t core = 0; core < exchange.moves.size(); ++core) {
    const auto dealt = tiled ? deal_tiles(exchange.moves[core], rank)
                             : deal_rows(static_cast<std::int64_t>(core), exchange.moves[core]);
    for (std::size_t i = 0; i < 2; ++i) {
      words[i] = std::max(words[i], words_of(dealt[i]));
      plan.pieces += static_cast<std::int64_t>(dealt[i].size());
      for (const Move& move : dealt[i]) {
        const bool local = move.destination == static_cast<std::int64_t>(core);
        (local ? plan.local_sticks : plan.remote_sticks) += move.piece.length;
        received[static_cast<std::size_t>(move.destination)] += move.piece.length;
        (local ? kept : sent)[core] += move.piece.length;
        ++pieces[core];
      }
    }
  }
  for (std::size_t i = 0; i < 2; ++i) plan.config_bytes[2 + i] = kWordBytes * round_up(words[i], 2);
  plan.busiest_core_sticks = *std::ranges::max_element(received);
  plan.busiest_pieces = *std::ranges::max_element(pieces);
  plan.busiest_local_sticks = *std::ranges::max_element(kept);
  for (std::size_t core = 0; core < cores; ++core)
    plan.busiest_remote_sticks =
        std::max({plan.busiest_remote_sticks, sent[core], core < kept.size() ? received[core] - kept[core] : 0});
  plan.busiest_padding_sticks = ceil_div(plan.padding_sticks, static_cast<std::int64_t>(exchange.paddings.size()));

  // Each processor has a stick of zeros; untilizing takes two rows of tiles for each.
  for (const char* name : {"padding_0", "padding_1"})
    plan.circular_buffers.push_back({name, plan.stick_bytes, 1, plan.out_dtype});
  if (tiled)
    for (const char* name : {"untilized_0", "untilized_1"})
      plan.circular_buffers.push_back(
          {name, 2 * Tile().height * plan.stick_bytes, 2 * ceil_div(input_shard.width, Tile().width), plan.out_dtype});
  return plan;
}

std::int64_t reader_indices_bytes(const HaloProblem& problem, std::int64_t rows_per_core, std::int64_t block_rows,
                                  bool split_reader) {
  const std::int64_t tile = Tile().height;
  check(block_rows > 0 && block_rows % tile == 0 && rows_per_core > 0, Code::invalid_argument,
        "reader indices: blocks of {} rows for {} rows per core", block_rows, rows_per_core);
  const std::int64_t rows = problem.out_rows(), line = problem.out_w(), image = line * problem.out_h();
  // A line of the output ends a run, unless its last window is followed by the next line's first at the same distance;
  // and so does an image.
  const auto breaks = [&](std::int64_t row) {
    return row < rows && problem.start_of(row) - problem.start_of(row - 1) != problem.window.stride_w;
  };
  const std::int64_t at_lines = line < image && breaks(line) ? 1 : 0, at_images = breaks(image) ? 1 : 0;
  const auto runs = [&](std::int64_t first, std::int64_t last) -> std::int64_t {
    if (first >= last) return 0;
    const auto begun = [&](std::int64_t length) { return (last - 1) / length - first / length; };
    const std::int64_t images = begun(image);
    return 1 + at_lines * (begun(line) - images) + at_images * images;
  };
  const std::int64_t first_part = split_reader ? ceil_div(block_rows / tile, 2) * tile : block_rows;
  std::int64_t most = 0;
  for (std::int64_t core = 0; core < rows; core += rows_per_core) {
    const std::int64_t end = std::min(core + rows_per_core, rows);
    std::int64_t pairs = 0;
    for (std::int64_t block = core; block < core + rows_per_core; block += block_rows)
      for (std::int64_t part = block; part < block + block_rows;) {
        const std::int64_t next = part == block ? block + first_part : block + block_rows;
        pairs += 1 + runs(std::min(part, end), std::min(next, end));
        part = next;
      }
    most = std::max(most, pairs);
  }
  return 2 * kWordBytes * most;
}

}  // namespace tessera::tensix
