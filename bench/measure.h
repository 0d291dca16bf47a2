#pragma once

// Ratios that survive a noisy machine. Google Benchmark times one thing after the other, so a neighbour who wakes up in
// between spoils a ratio; here the subject and what it is compared with take turns, and the median of the ratios of
// neighbours is what counts.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <vector>

namespace tessera::bench {

inline double median(std::vector<double> values) {
  if (values.empty()) return std::nan("");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// Median absolute deviation: how far a typical repetition is from the median.
inline double deviation(const std::vector<double>& values) {
  const double center = median(values);
  std::vector<double> distances;
  for (double value : values) distances.push_back(std::abs(value - center));
  return median(distances);
}

inline double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Budget {
  double seconds = 0.5;  // per subject, exceeded only to reach min_rounds
  int min_rounds = 5;
  int max_rounds = 101;
};

struct Comparison {
  int rounds = 0;
  double subject_s = 0, subject_deviation_s = 0;
  double peer_s = 0, peer_deviation_s = 0;
  double ratio = 0, ratio_deviation = 0;  // peer / subject: above 1 the subject is faster
  double best_subject_s = 0, best_peer_s = 0;
};

// Runs peer and subject in turns, after one untimed run of each.
inline Comparison compare(const std::function<void()>& subject, const std::function<void()>& peer,
                          const Budget& budget) {
  peer();
  subject();
  std::vector<double> subjects, peers, ratios;
  double spent = 0;
  while (static_cast<int>(ratios.size()) < budget.min_rounds ||
         (spent < budget.seconds && static_cast<int>(ratios.size()) < budget.max_rounds)) {
    peers.push_back(seconds_of(peer));
    subjects.push_back(seconds_of(subject));
    ratios.push_back(peers.back() / subjects.back());
    spent += peers.back() + subjects.back();
  }
  return {static_cast<int>(ratios.size()),
          median(subjects),
          deviation(subjects),
          median(peers),
          deviation(peers),
          median(ratios),
          deviation(ratios),
          *std::min_element(subjects.begin(), subjects.end()),
          *std::min_element(peers.begin(), peers.end())};
}

}  // namespace tessera::bench
