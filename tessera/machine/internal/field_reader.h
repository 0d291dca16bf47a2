#pragma once

// Reads the fields of a machine out of its file and the files it inherits from, and gathers everything that is wrong
// with them instead of stopping at the first fault.

#include "tessera/core/toml.h"
#include "tessera/machine/machine.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::internal {

struct Problem {
  std::string path;
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  std::string text;
};

// One Error with a line "path:line:column: text" for each problem, in the order of the file.
[[noreturn]] void fail_with_problems(const std::string& path, std::vector<Problem> problems);

// "an integer", "a table": in the words of a TOML file.
std::string_view type_name(const toml::node& node);

struct Document {
  std::string path;
  toml::table root;
};

struct Source {
  FigureKind kind = FigureKind::assumed;
  std::string text;
};

// What a number must be to make sense.
enum class Rule { any, not_negative, positive, power_of_two };

class FieldReader {
 public:
  // The chain starts with the file asked for; each next one is what the former inherits from.
  explicit FieldReader(std::vector<Document> chain);

  // Top-level text; the file nearest to the user wins. Missing is a problem if required.
  std::string top_text(std::string_view key, bool required);

  void group(std::string_view name);
  void own_group(std::string_view name);  // likewise for a group that is not inherited and may be left out
  bool has_group() const;                 // whether any of the files that count has it
  void value(std::string_view key, std::string& out);
  void value(std::string_view key, bool& out);
  void value(std::string_view key, int& out, std::string_view unit, Rule rule);
  void value(std::string_view key, std::int64_t& out, std::string_view unit, Rule rule);
  void value(std::string_view key, double& out, std::string_view unit, Rule rule);
  void value(std::string_view key, std::optional<std::int64_t>& out, std::string_view unit, Rule rule);
  void value(std::string_view key, std::optional<double>& out, std::string_view unit, Rule rule);
  void value(std::string_view key, std::optional<int>& out, std::string_view unit, Rule rule);
  void value(std::string_view key, std::optional<std::string>& out);
  void value(std::string_view key, std::optional<Isa>& out);
  void value(std::string_view key, std::vector<std::string>& out);  // may be left out
  void value(std::string_view key, std::vector<IntRange>& out);     // [[first, last], ...]; may be left out
  void value(std::string_view key, std::array<double, 4>& out, std::string_view unit, Rule rule);
  void value(std::string_view key, TilizeCost& out);  // [dest16, dest32]
  void value(std::string_view key, SizedRate& out);   // [floor, peak, knee]
  void value(std::string_view key, std::vector<double>& out, std::string_view unit, Rule rule);
  void value(std::string_view key, std::vector<RatePoint>& out, std::string_view unit);  // [[bytes, rate], ...]

  // A relation between fields, reported at the first of `keys`, which are all of the current group. Skipped when one of
  // them is missing or wrong by itself: that has been reported, and its field holds no meaning.
  void require(bool holds, std::initializer_list<std::string_view> keys, std::string text);

  void add_problem(Problem problem);

  // Reports what was never asked for, then throws if anything was wrong.
  std::vector<Figure> finish();
  [[noreturn]] void fail();  // with the problems found so far

 private:
  struct Found {
    const Document* document = nullptr;
    const toml::node* node = nullptr;  // the value itself, without { value = ... } around it
    std::string source;                // a name in [sources]; empty when none was given
    std::string kind;
    std::string note;
    const toml::node* source_at = nullptr;  // where to point when the source or the kind is at fault
    const toml::node* kind_at = nullptr;
  };

  void add_problem(const Document& document, const toml::source_region& where, std::string text);
  void read_sources();
  std::string group_path() const;
  std::span<const Document> counting() const;  // the files whose values count in this group
  std::optional<std::string> text(const Found& found, const toml::node& node, std::string_view key);
  std::optional<int> small_integer(const Found& found, std::string_view key, Rule rule);
  std::optional<Found> find(std::string_view key, bool required);
  std::optional<Found> open_value(const Document& document, const toml::node& node, std::string_view key);
  void add_figure(const Found& found, std::string_view key, Figure::Value value, std::string_view unit);
  std::optional<Source> source_of(const Found& found, std::string_view key);
  std::optional<std::int64_t> integer(const Found& found, std::string_view key, Rule rule);
  std::optional<double> real(const Document& document, const toml::node& node, std::string_view key, Rule rule);
  std::optional<std::vector<double>> reals(const Found& found, std::string_view key, std::size_t count, Rule rule);
  bool obeys(double number, Rule rule, const Document& document, const toml::node& node, std::string_view key);
  void report_unknown_keys();

  std::vector<Document> chain_;
  std::vector<std::map<std::string, Source, std::less<>>> sources_;  // one map for each document
  std::vector<Problem> problems_;
  std::vector<Figure> figures_;
  std::set<std::string, std::less<>> read_;  // keys whose values make sense
  std::string group_;
  bool own_ = false;                                                   // the group is one of own_group()
  std::vector<std::string> groups_;                                    // in schema order
  std::map<std::string, std::vector<std::string>, std::less<>> keys_;  // of each group
};

}  // namespace tessera::internal
