// A gradient added up over all ranks through our exchange, beside a bare MPI_Allreduce of the same numbers: in turns in
// one run, so that a neighbour who wakes up disturbs both. Run by mpirun; the first rank prints.
//
//     mpirun -n 2 tessera_all_reduce [--megabytes 50] [--rounds 21] [--most RATIO]
//
// Each side reads the gradient from one buffer and leaves the sum in another. With --most, a median ratio above it is
// a failure.

#include "bench/measure.h"
#include "tessera/core/error.h"
#include "tessera/ncp/gradient_exchange.h"
#include "tessera/scale/mpi/mpi_communicator.h"
#include "tessera/scale/rank_exchange.h"

#define OMPI_SKIP_MPICXX 1
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

namespace {

using namespace tessera;

struct Options {
  double megabytes = 50;
  int rounds = 21;
  double most = 0;
};

Options options_of(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view flag = argv[i];
    check(i + 1 < argc, Code::invalid_argument, "{} needs a number", flag);
    const double value = std::atof(argv[i + 1]);
    if (flag == "--megabytes")
      out.megabytes = value;
    else if (flag == "--rounds")
      out.rounds = static_cast<int>(value);
    else if (flag == "--most")
      out.most = value;
    else
      fail(Code::invalid_argument, "'{}' is none of --megabytes, --rounds, --most", flag);
  }
  check(out.megabytes > 0 && out.rounds >= 1, Code::invalid_argument, "{} MB in {} rounds", out.megabytes, out.rounds);
  return out;
}

// Until the slowest rank has it, from when all were ready.
double seconds_of_all(const std::function<void()>& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  double seconds = bench::seconds_of(work);
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

int run(Communicator& world, const Options& options) {
  const auto count = static_cast<std::size_t>(options.megabytes * 1e6 / sizeof(float));
  std::vector<float> gradient(count), bare(count), ours(count), in_order(count);
  // Whole numbers, whose sums are exact in any order.
  for (std::size_t i = 0; i < count; ++i)
    gradient[i] = static_cast<float>(i % 1021) * static_cast<float>(world.rank() + 1);
  RankExchange any(world, SumOrder::any), as_one(world, SumOrder::as_one_rank);
  const auto through = [&](RankExchange& exchange, std::vector<float>& sum) {
    const float* row = gradient.data();
    begin_buckets(exchange, std::span(&row, 1), 0, static_cast<std::int64_t>(count), sum);
    exchange.wait();
  };
  const std::function<void()> works[] = {
      [&] { MPI_Allreduce(gradient.data(), bare.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); },
      [&] { through(any, ours); }, [&] { through(as_one, in_order); }};
  std::vector<double> seconds[3], ratios[3];
  for (int round = -1; round < options.rounds; ++round) {
    double now[3];
    for (int i = 0; i < 3; ++i) now[i] = seconds_of_all(works[i]);
    if (round < 0) continue;  // memory is there only now
    for (int i = 0; i < 3; ++i) {
      seconds[i].push_back(now[i]);
      ratios[i].push_back(now[i] / now[0]);
    }
  }
  check(ours == bare && in_order == bare, Code::internal, "rank {}: sums differ", world.rank());
  const double ratio = bench::median(ratios[1]);
  if (world.rank() == 0) {
    const char* names[] = {"bare MPI_Allreduce", "our buckets", "our buckets, --deterministic"};
    fmt::print("{:.0f} MB of gradients over {} ranks, medians of {} rounds by turns, measured\n", options.megabytes,
               world.size(), options.rounds);
    for (int i = 0; i < 3; ++i)
      fmt::print("  {:<30} {:7.2f} ms  +- {:.2f}   {:.3f} x bare  +- {:.3f}\n", names[i],
                 1e3 * bench::median(seconds[i]), 1e3 * bench::deviation(seconds[i]), bench::median(ratios[i]),
                 bench::deviation(ratios[i]));
    if (options.most > 0 && ratio > options.most)
      fmt::print(stderr,
                 "error: our buckets take {:.3f} times as long as a bare MPI_Allreduce; at most {} was asked for\n",
                 ratio, options.most);
  }
  return options.most > 0 && ratio > options.most ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = options_of(argc, argv);
    const std::unique_ptr<Communicator> world = mpi_world();
    return run(*world, options);
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.message());
    return 1;
  }
}
