#include "tessera/fleet/serving.h"

#include "tests/error_of.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace tessera::fleet {
namespace {

using for_tests::error_of;

constexpr double kService = 1e6;  // ns

ServingOptions one_server(double load, Service service, std::uint64_t seed = 1) {
  return {.requests_per_s = load / kService * 1e9,
          .requests = 400'000,
          .seed = seed,
          .chips = 1,
          .interval_ns = kService,
          .latency_ns = kService,
          .service = service};
}

// The mean wait of correlated requests: a queue at load r forgets after about 1 / (1 - r)^2 services, so that so many
// of its requests count as one. Four standard errors, the deviation of a wait being about its mean in the system.
double tolerance(double mean_ns, double load, double requests) {
  const double independent = requests * (1 - load) * (1 - load) / 2;
  return 4 * mean_ns / std::sqrt(independent);
}

TEST(Serving, WaitsAsAnMM1QueueDoes) {
  for (const double load : {0.3, 0.6, 0.8}) {
    const ServingOptions o = one_server(load, Service::exponential);
    const ServingResult r = simulate_serving(o);
    const double mean = kService / (1 - load), requests = 0.9 * static_cast<double>(o.requests);
    const double slack = tolerance(mean, load, requests);
    EXPECT_NEAR(r.mean_ns, mean, slack) << load;
    EXPECT_NEAR(r.mean_wait_ns, mean * load, slack) << load;
    EXPECT_NEAR(r.mean_queue, load * load / (1 - load), slack / kService * load) << load;
    // Times in the system are exponential.
    EXPECT_NEAR(r.p50_ns, mean * std::log(2), slack) << load;
    EXPECT_NEAR(r.p99_ns, mean * std::log(100), std::sqrt(0.99 / 0.01) * slack) << load;  // few are out there
    EXPECT_NEAR(r.utilization, load, slack / mean) << load;
  }
}

TEST(Serving, WaitsAsAnMD1QueueDoes) {
  for (const double load : {0.3, 0.6, 0.8}) {
    const ServingOptions o = one_server(load, Service::fixed);
    const ServingResult r = simulate_serving(o);
    const double wait = kService * load / (2 * (1 - load));  // half of M/M/1's
    const double slack = tolerance(wait + kService, load, 0.9 * static_cast<double>(o.requests));
    EXPECT_NEAR(r.mean_wait_ns, wait, slack) << load;
    EXPECT_NEAR(r.mean_ns, wait + kService, slack) << load;
    EXPECT_NEAR(r.utilization, load, slack / kService) << load;
  }
}

// The chance to wait, and for how long, when four serve: Erlang's formula.
TEST(Serving, WaitsAsAnMM4QueueDoes) {
  ServingOptions o = one_server(0.8, Service::exponential);
  o.chips = 4;
  o.requests_per_s *= 4;
  const double a = 3.2;  // offered
  double sum = 0, term = 1;
  for (int k = 0; k < 4; ++k) {
    sum += term;
    term *= a / (k + 1);
  }
  const double waits = term / 0.2 / (sum + term / 0.2);
  const double wait = waits * kService / (4 * 0.2);
  const ServingResult r = simulate_serving(o);
  EXPECT_NEAR(r.mean_wait_ns, wait, tolerance(wait + kService, 0.8, 0.9 * static_cast<double>(o.requests)));
}

TEST(Serving, QueuesAreAsLongAsLittlesLawSays) {
  for (const std::int64_t batch : {1, 8}) {
    const ServingOptions o{.requests_per_s = 0.7 * 16e3 * static_cast<double>(batch),
                           .requests = 400'000,
                           .seed = 5,
                           .chips = 16,
                           .max_batch = batch,
                           .max_wait_ns = 2e5,
                           .interval_ns = kService,
                           .latency_ns = 1.5 * kService};
    const ServingResult r = simulate_serving(o);
    const double expected = r.completed_per_s * 1e-9 * r.mean_wait_ns;
    // Both sides count the same requests but those at the two ends of the measured time.
    EXPECT_NEAR(r.mean_queue, expected, 0.01 * expected + 1e-3) << batch;
    EXPECT_NEAR(r.completed_per_s, o.requests_per_s, 4 * o.requests_per_s / std::sqrt(360'000.0));
  }
}

TEST(Serving, EveryRequestIsServedOnce) {
  for (const double failures : {0.0, 5.0}) {
    const ServingOptions o{.requests_per_s = 20'000,
                           .requests = 100'000,
                           .seed = 2,
                           .chips = 6,
                           .max_batch = 7,
                           .max_wait_ns = 1e6,
                           .interval_ns = kService,
                           .latency_ns = kService,
                           .failures_per_s = failures,
                           .repair_s = 0.05,
                           .spares = 1,
                           .takeover_s = 0.01};
    const ServingResult r = simulate_serving(o);
    EXPECT_EQ(r.arrived, o.requests);
    EXPECT_EQ(r.completed, o.requests);
    EXPECT_EQ(r.restarted > 0, failures > 0);
    EXPECT_GE(r.p50_ns, kService);
    EXPECT_LE(r.p50_ns, r.p95_ns);
    EXPECT_LE(r.p95_ns, r.p99_ns);
    EXPECT_LE(r.p99_ns, r.p999_ns);
    EXPECT_LE(r.p999_ns, r.max_ns);
  }
}

TEST(Serving, TheSameSeedGivesTheSameResult) {
  const ServingOptions o = one_server(0.7, Service::exponential, 9);
  EXPECT_EQ(simulate_serving(o).p999_ns, simulate_serving(o).p999_ns);
  EXPECT_NE(simulate_serving(o).p999_ns, simulate_serving(one_server(0.7, Service::exponential, 10)).p999_ns);
}

TEST(Serving, ARequestAloneWaitsNoLongerThanItHasTo) {
  const ServingOptions o{.requests_per_s = 1,
                         .requests = 50,
                         .chips = 1,
                         .max_batch = 16,
                         .max_wait_ns = 3e6,
                         .interval_ns = kService,
                         .latency_ns = 2 * kService,
                         .warm_up = 0};
  EXPECT_DOUBLE_EQ(simulate_serving(o).p50_ns, 5e6);
}

TEST(Serving, MoreLoadAndLongerWaitsForCompanyFillBatches) {
  ServingOptions o{.requests_per_s = 8'000,
                   .seed = 3,
                   .chips = 2,
                   .max_batch = 16,
                   .max_wait_ns = 1e5,
                   .interval_ns = kService,
                   .latency_ns = kService};
  const ServingResult few = simulate_serving(o);
  o.max_wait_ns = 1e6;
  const ServingResult waiting = simulate_serving(o);
  o.requests_per_s = 28'000;
  const ServingResult many = simulate_serving(o);
  EXPECT_LT(few.mean_batch, waiting.mean_batch);
  EXPECT_LT(waiting.mean_batch, many.mean_batch);
  EXPECT_LE(many.mean_batch, 16);
}

TEST(Serving, TheTailGrowsWithTheLoadAndShrinksWithChips) {
  double last = 0;
  for (const double load : {0.2, 0.5, 0.8, 0.95}) {
    const double tail = simulate_serving(one_server(load, Service::fixed)).p99_ns;
    EXPECT_GT(tail, last) << load;
    last = tail;
  }
  ServingOptions more = one_server(0.95, Service::fixed);
  more.chips = 2;
  EXPECT_LT(simulate_serving(more).p99_ns, last);
}

// A chip is up for 1 / failures on average and down for a repair.
TEST(Serving, FailuresTakeTheShareOfTimeThatRepairsTake) {
  ServingOptions o{.requests_per_s = 32'000,
                   .requests = 400'000,
                   .seed = 4,
                   .chips = 40,
                   .interval_ns = kService,
                   .latency_ns = kService,
                   .failures_per_s = 2,
                   .repair_s = 0.1};
  const double expected = 0.5 / 0.6;  // of 40 chips that is a capacity of 33'333 a second
  const ServingResult without = simulate_serving(o);
  // Repairs that overlap the measured time are the samples, about 40 x 11 s x 2 / s x 0.83 of them.
  EXPECT_NEAR(without.available, expected, 4 * (1 - expected) / std::sqrt(40 * 11 * 2 * expected));
  o.spares = 20;
  o.takeover_s = 0.001;
  const ServingResult with = simulate_serving(o);
  EXPECT_GT(with.available, 0.99);
  EXPECT_LT(with.p999_ns, without.p999_ns);
  o.failures_per_s = 0;
  EXPECT_LT(simulate_serving(o).p999_ns, with.p999_ns);
}

TEST(Serving, TenThousandChipsAreServedToo) {
  ServingOptions o{.requests_per_s = 0,
                   .seed = 6,
                   .chips = 10'000,
                   .max_batch = 16,
                   .max_wait_ns = 1e6,
                   .interval_ns = 3.4 * kService,
                   .latency_ns = 4 * kService};
  o.requests_per_s = 0.8 * capacity_per_s(o);
  o.requests = 1'000'000;
  const ServingResult r = simulate_serving(o);
  EXPECT_EQ(r.completed, o.requests);
  EXPECT_GE(r.p50_ns, o.latency_ns);
  EXPECT_LT(r.p999_ns, o.latency_ns + 1.1e6);  // so many chips never let a full batch wait
}

TEST(Serving, RefusesWhatCannotBe) {
  ServingOptions o = one_server(1.1, Service::fixed);
  EXPECT_NE(error_of([&] { simulate_serving(o); }).find("1100 requests a second come and 1000 can be served"),
            std::string::npos);
  o = one_server(0.5, Service::fixed);
  o.latency_ns = 1;
  EXPECT_NE(error_of([&] { simulate_serving(o); }).find("needs 1 ns for it"), std::string::npos);
  o = one_server(0.5, Service::fixed);
  o.max_batch = 0;
  EXPECT_NE(error_of([&] { simulate_serving(o); }).find("batches of 0"), std::string::npos);
}

TEST(Serving, RefusesWhatHasNoEnd) {
  ServingOptions o = one_server(0.5, Service::fixed);
  o.requests_per_s = 1e-300;
  EXPECT_NE(error_of([&] { simulate_serving(o); }).find("1e-300 requests a second are fewer"), std::string::npos);
  o = one_server(0.5, Service::fixed);
  o.failures_per_s = 2e9 / o.latency_ns;  // twice in the time of a batch
  EXPECT_NE(error_of([&] { simulate_serving(o); }).find("hardly any would be finished"), std::string::npos);
}

}  // namespace
}  // namespace tessera::fleet
