#include "tessera/scale/chunked_run.h"

#include "tessera/core/error.h"
#include "tessera/scale/run_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Chunks go out several at a time, ever fewer: bytes move between two ranks only while both look for messages, which
// they do between chunks. At most so many bytes at a time.
constexpr std::size_t kMostBytes = 4 << 20;

// Messages begin with the number of a chunk, or with one of these. What is handed out then says how many chunks follow
// each other in it.
constexpr std::int64_t kEnd = -1, kFailed = -2;

Payload message_of(std::int64_t head, std::span<const std::byte> body) {
  Payload out(sizeof(head) + body.size());
  std::memcpy(out.data(), &head, sizeof(head));
  std::copy(body.begin(), body.end(), out.begin() + sizeof(head));
  return out;
}
Payload failure_message(const std::string& text) { return message_of(kFailed, std::as_bytes(std::span(text))); }
std::int64_t head_of(const Payload& message) {
  std::int64_t head = 0;
  check(message.size() >= sizeof(head), Code::internal, "a message of {} B", message.size());
  std::memcpy(&head, message.data(), sizeof(head));
  return head;
}
std::span<const std::byte> body_of(const Payload& message) { return std::span(message).subspan(sizeof(std::int64_t)); }

// Arrays of known types and shapes, one behind the other.
Payload joined(const std::vector<Array>& arrays) {
  Payload out;
  for (const Array& x : arrays) out.insert(out.end(), x.bytes().begin(), x.bytes().end());
  return out;
}

class ChunkMaker {
 public:
  ChunkMaker(const Session& session, std::int64_t chunk) : session_(session) {
    for (const Port& port : session.inputs()) {
      check(port.type.is_static() && port.type.shape().rank() >= 1 && port.type.shape()[0] == chunk,
            Code::invalid_argument, Hint{"all inputs need a first extent that counts samples"},
            "input '{}' is {}: it cannot be cut into chunks of {} samples", port.name, port.type.to_string(), chunk);
    }
  }

  std::size_t chunk_bytes() const {
    std::size_t bytes = 0;
    for (const Port& port : session_.inputs()) bytes += Array(port.type.type, port.type.shape()).bytes().size();
    return bytes;
  }

  std::vector<Array> arrays(std::span<const std::byte> bytes) const {
    std::vector<Array> out;
    for (const Port& port : session_.inputs()) {
      Array x(port.type.type, port.type.shape());
      check(bytes.size() >= x.bytes().size(), Code::internal, "a chunk is {} B short", x.bytes().size() - bytes.size());
      std::copy_n(bytes.begin(), x.bytes().size(), x.bytes().begin());
      bytes = bytes.subspan(x.bytes().size());
      out.push_back(std::move(x));
    }
    return out;
  }

 private:
  const Session& session_;
};

class Worker {
 public:
  Worker(Communicator& world, const Session& session, const ChunkMaker& maker)
      : world_(world), session_(session), maker_(maker) {}

  void run() {
    while (!ended_ || !here_.empty()) {
      if (std::optional<Communicator::Message> message = here_.empty() ? world_.receive() : world_.poll()) {
        take(*std::move(message));
        continue;
      }
      Given& given = here_.front();
      const auto start = Clock::now();
      try {
        const std::vector<Array> outputs = session_.run(maker_.arrays(given.next()));
        busy_ += seconds_since(start);
        world_.send(0, message_of(given.chunk, joined(outputs)));
      } catch (const Error& error) {
        world_.send(0, failure_message(scale_detail::cause_of(error)));
        throw;
      }
      ++given.chunk;
      if (given.rest.empty()) here_.pop_front();
    }
    world_.send(0, message_of(kEnd, std::as_bytes(std::span(&busy_, 1))));
  }

 private:
  // Chunks that follow each other, those that are still to do.
  struct Given {
    Communicator::Message message;
    std::int64_t chunk = 0;
    std::size_t chunk_bytes = 0;
    std::span<const std::byte> rest = {};

    std::span<const std::byte> next() {
      const std::span<const std::byte> bytes = rest.first(chunk_bytes);
      rest = rest.subspan(chunk_bytes);
      return bytes;
    }
  };

  void take(Communicator::Message message) {
    const std::int64_t chunk = head_of(message.bytes);
    const std::span<const std::byte> body = body_of(message.bytes);
    if (chunk == kEnd) {
      ended_ = true;
    } else if (chunk == kFailed) {
      world_.send(0, message_of(kEnd, std::as_bytes(std::span(&busy_, 1))));
      fail(Code::invalid_argument, "{}", std::string(reinterpret_cast<const char*>(body.data()), body.size()));
    } else {
      std::int64_t count = 0;
      std::memcpy(&count, body.data(), sizeof(count));
      Given& given = here_.emplace_back(Given{std::move(message), chunk, 0, {}});
      given.rest = body_of(given.message.bytes).subspan(sizeof(count));
      given.chunk_bytes = given.rest.size() / static_cast<std::size_t>(count);
    }
  }

  Communicator& world_;
  const Session& session_;
  const ChunkMaker& maker_;
  std::deque<Given> here_;
  bool ended_ = false;
  double busy_ = 0;
};

class Leader {
 public:
  Leader(Communicator& world, const Session& session, const ChunkMaker& maker, const std::vector<Array>& inputs,
         const ChunkedRunOptions& options, FunctionRef<void(std::int64_t)> progress)
      : world_(world), session_(session), maker_(maker), inputs_(inputs), options_(options), progress_(progress) {}

  ChunkedRun run() {
    try {
      begin();
      const auto start = Clock::now();
      hand_out_first();
      work();
      report_.seconds = seconds_since(start);
      finish();
      return {std::move(outputs_), std::move(report_)};
    } catch (const Error& error) {
      const std::string text = failed_ < 0
                                   ? fmt::format("{} failed: {}", rank_text(world_, 0), scale_detail::cause_of(error))
                                   : error.message();
      stop_others(text);
      throw;
    }
  }

 private:
  // Everybody hears of it, and says so: nothing is on its way any more when all of them end.
  void stop_others(const std::string& text) {
    int still = 0;
    for (int rank = 1; rank < world_.size(); ++rank)
      if (rank != failed_) world_.send(rank, failure_message(text)), ++still;
    while (still > 0) {
      const std::int64_t head = head_of(world_.receive().bytes);
      if (head == kEnd || head == kFailed) --still;
    }
  }

  void begin() {
    check(inputs_.size() == session_.inputs().size(), Code::invalid_argument,
          "the network takes {} inputs, {} were given", session_.inputs().size(), inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) check_input(i);
    report_.samples = inputs_[0].shape()[0];
    report_.chunks = (report_.samples + options_.chunk - 1) / options_.chunk;
    report_.busy_seconds.resize(static_cast<std::size_t>(world_.size()));
    report_.rank_chunks.resize(static_cast<std::size_t>(world_.size()));
    ahead_.resize(static_cast<std::size_t>(world_.size()));
    given_.resize(static_cast<std::size_t>(world_.size()));
    done_.assign(static_cast<std::size_t>(report_.chunks), false);
    if (!options_.parts.empty()) {
      parts_.emplace(options_.parts, options_.identity, options_.resume);
      for (const auto& [chunk, bytes] : parts_->there()) {
        check(chunk >= 0 && chunk < report_.chunks, Code::parse, "{} holds chunk {} of a run that has {}",
              options_.parts.string(), chunk, report_.chunks);
        keep(chunk, bytes);
        ++report_.resumed_chunks;
      }
    }
    for (std::int64_t chunk = 0; chunk < report_.chunks; ++chunk)
      if (!done_[static_cast<std::size_t>(chunk)]) waiting_.push_back(chunk);
  }

  void check_input(std::size_t i) const {
    const Port& port = session_.inputs()[i];
    const Shape& found = inputs_[i].shape();
    std::vector<std::int64_t> wanted = port.type.shape().dims();
    check(found.dims().size() == wanted.size() && found.rank() >= 1 && found[0] >= 1 &&
              std::equal(wanted.begin() + 1, wanted.end(), found.dims().begin() + 1),
          Code::invalid_argument, "input '{}' is {}, wanted are samples of {}", port.name, found.to_string(),
          Shape(std::vector<std::int64_t>(wanted.begin() + 1, wanted.end())).to_string());
    check(inputs_[i].type() == port.type.type, Code::invalid_argument, "input '{}' is {}, wanted is {}", port.name,
          name(inputs_[i].type()), name(port.type.type));
    check(found[0] == inputs_[0].shape()[0], Code::invalid_argument, "input '{}' has {} samples, '{}' has {}",
          port.name, found[0], session_.inputs()[0].name, inputs_[0].shape()[0]);
  }

  // The samples of a chunk; what is missing in the last one is the last sample again.
  Payload cut(std::int64_t chunk) const {
    Payload out;
    out.reserve(maker_.chunk_bytes());
    cut(chunk, out);
    return out;
  }
  void cut(std::int64_t chunk, Payload& out) const {
    for (const Array& x : inputs_) {
      const std::size_t each = x.bytes().size() / static_cast<std::size_t>(report_.samples);
      for (std::int64_t i = chunk * options_.chunk; i < (chunk + 1) * options_.chunk; ++i) {
        const auto at = static_cast<std::size_t>(std::min(i, report_.samples - 1)) * each;
        out.insert(out.end(), x.bytes().begin() + static_cast<std::ptrdiff_t>(at),
                   x.bytes().begin() + static_cast<std::ptrdiff_t>(at + each));
      }
    }
  }

  // One each, to begin with, and then more.
  void hand_out_first() {
    for (int rank = 1; rank < world_.size(); ++rank) hand_out(rank, 1);
    for (int rank = 1; rank < world_.size(); ++rank) hand_out(rank);
  }
  // More for a rank before it is done with what it was given last, so that the next chunks have all that time for their
  // way. Nobody gets more than an equal share of what is left, but for those who have nothing: otherwise one would
  // compute several chunks at the end while the others wait for it.
  void hand_out(int rank, std::size_t at_most = kMostBytes) {
    std::int64_t& ahead = ahead_[static_cast<std::size_t>(rank)];
    if (waiting_.empty() || ahead > std::max<std::int64_t>(2, given_[static_cast<std::size_t>(rank)])) return;
    const std::int64_t left = static_cast<std::int64_t>(waiting_.size()) + underway_;
    if (ahead > 0 && ahead >= left / static_cast<std::int64_t>(ahead_.size())) return;
    const std::int64_t first = waiting_.front();
    const std::size_t fair = waiting_.size() / (2 * ahead_.size()), fit = kMostBytes / maker_.chunk_bytes();
    const std::size_t most = std::max<std::size_t>(1, std::min({fair, fit, at_most}));
    std::int64_t count = 0;
    Payload message(sizeof(first) + sizeof(count));
    message.reserve(message.size() + most * maker_.chunk_bytes());
    while (!waiting_.empty() && waiting_.front() == first + count && static_cast<std::size_t>(count) < most) {
      cut(waiting_.front(), message);
      waiting_.pop_front();
      ++count;
    }
    std::memcpy(message.data(), &first, sizeof(first));
    std::memcpy(message.data() + sizeof(first), &count, sizeof(count));
    world_.send(rank, std::move(message));
    given_[static_cast<std::size_t>(rank)] = count;
    ahead += count;
    underway_ += count;
  }

  void work() {
    while (!waiting_.empty() || underway_ > 0) {
      if (std::optional<Communicator::Message> message = waiting_.empty() ? world_.receive() : world_.poll()) {
        take(*message);
        continue;
      }
      const std::int64_t chunk = waiting_.front();
      waiting_.pop_front();
      const auto start = Clock::now();
      const Payload bytes = joined(session_.run(maker_.arrays(cut(chunk))));
      report_.busy_seconds[0] += seconds_since(start);
      ++report_.rank_chunks[0];
      result(chunk, bytes);
    }
  }

  void take(const Communicator::Message& message) {
    const std::int64_t chunk = head_of(message.bytes);
    const std::span<const std::byte> body = body_of(message.bytes);
    if (chunk == kFailed) {
      failed_ = message.from;
      fail(Code::invalid_argument, "{} failed: {}", rank_text(world_, failed_),
           std::string(reinterpret_cast<const char*>(body.data()), body.size()));
    }
    --underway_;
    --ahead_[static_cast<std::size_t>(message.from)];
    ++report_.rank_chunks[static_cast<std::size_t>(message.from)];
    hand_out(message.from);
    result(chunk, Payload(body.begin(), body.end()));
  }

  void result(std::int64_t chunk, const Payload& bytes) {
    keep(chunk, bytes);
    if (parts_) parts_->add(chunk, bytes);
    progress_(std::min(report_.samples, ++finished_ * options_.chunk));
  }

  // Into its place in the outputs.
  void keep(std::int64_t chunk, const Payload& bytes) {
    if (outputs_.empty())
      for (const Port& port : session_.outputs()) {
        check(port.type.is_static() && port.type.shape().rank() >= 1 && port.type.shape()[0] == options_.chunk,
              Code::invalid_argument, "output '{}' is {}: it does not count samples in its first extent", port.name,
              port.type.to_string());
        std::vector<std::int64_t> dims = port.type.shape().dims();
        dims[0] = report_.samples;
        outputs_.emplace_back(port.type.type, Shape(dims));
      }
    std::size_t at = 0;
    const std::int64_t first = chunk * options_.chunk, here = std::min(options_.chunk, report_.samples - first);
    for (Array& y : outputs_) {
      const std::size_t each = y.bytes().size() / static_cast<std::size_t>(report_.samples);
      const std::size_t whole = each * static_cast<std::size_t>(options_.chunk);
      check(bytes.size() >= at + whole, Code::parse, "the results of chunk {} are {} B", chunk, bytes.size());
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), each * static_cast<std::size_t>(here),
                  y.bytes().begin() + static_cast<std::ptrdiff_t>(each * static_cast<std::size_t>(first)));
      at += whole;
    }
    check(at == bytes.size(), Code::parse, "the results of chunk {} are {} B, wanted are {}", chunk, bytes.size(), at);
    done_[static_cast<std::size_t>(chunk)] = true;
  }

  void finish() {
    for (int rank = 1; rank < world_.size(); ++rank) world_.send(rank, message_of(kEnd, {}));
    for (int i = 1; i < world_.size(); ++i) {
      const Communicator::Message message = world_.receive();
      double busy = 0;
      check(head_of(message.bytes) == kEnd && body_of(message.bytes).size() == sizeof(busy), Code::internal,
            "{} says something else than that it has ended", rank_text(world_, message.from));
      std::memcpy(&busy, body_of(message.bytes).data(), sizeof(busy));
      report_.busy_seconds[static_cast<std::size_t>(message.from)] = busy;
    }
    if (parts_) parts_->flush();
  }

  Communicator& world_;
  const Session& session_;
  const ChunkMaker& maker_;
  const std::vector<Array>& inputs_;
  const ChunkedRunOptions& options_;
  FunctionRef<void(std::int64_t)> progress_;
  ChunkedRunReport report_;
  std::vector<Array> outputs_;
  std::vector<bool> done_;
  std::deque<std::int64_t> waiting_;
  std::vector<std::int64_t> ahead_, given_;  // how many chunks each rank has, and was given last
  std::int64_t underway_ = 0, finished_ = 0;
  std::optional<RunParts> parts_;
  int failed_ = -1;
};

}  // namespace

ChunkedRun run_chunks(Communicator& world, const Session& session, const std::vector<Array>& inputs,
                      const ChunkedRunOptions& options, FunctionRef<void(std::int64_t)> progress) {
  check(options.chunk >= 1, Code::invalid_argument, "chunks of {} samples", options.chunk);
  const ChunkMaker maker(session, options.chunk);
  if (world.rank() == 0) return Leader(world, session, maker, inputs, options, progress).run();
  Worker(world, session, maker).run();
  return {};
}

}  // namespace tessera
