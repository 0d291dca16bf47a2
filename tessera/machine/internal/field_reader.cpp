#include "tessera/machine/internal/field_reader.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace tessera::internal {
namespace {

const std::vector<std::string> kTopLevel = {"name", "title", "family", "inherits", "source", "sources"};

}  // namespace

// In the words of a TOML file rather than of the parser's types.
std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "an array";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a real number";
    case toml::node_type::boolean: return "true or false";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time: return "a date or time";
    case toml::node_type::none: break;
  }
  return "nothing";
}

void fail_with_problems(const std::string& path, std::vector<Problem> problems) {
  std::stable_sort(problems.begin(), problems.end(), [&](const Problem& a, const Problem& b) {
    // The file asked for comes first, then those it inherits from.
    return std::tuple(a.path != path, a.path, a.line, a.column) < std::tuple(b.path != path, b.path, b.line, b.column);
  });
  // One wrong line that many values lean on (the source of a group) is still one problem.
  const auto same = [](const Problem& a, const Problem& b) {
    return std::tie(a.path, a.line, a.column, a.text) == std::tie(b.path, b.line, b.column, b.text);
  };
  problems.erase(std::unique(problems.begin(), problems.end(), same), problems.end());
  std::string text;
  if (problems.size() > 1) text = fmt::format("{}: {} problems", path, problems.size());
  for (const Problem& problem : problems) {
    if (!text.empty()) text += "\n  ";
    text += fmt::format("{}:{}:{}: {}", problem.path, problem.line, problem.column, problem.text);
  }
  throw Error(Code::parse, std::move(text));
}

FieldReader::FieldReader(std::vector<Document> chain) : chain_(std::move(chain)) { read_sources(); }

void FieldReader::add_problem(const Document& document, const toml::source_region& where, std::string text) {
  // Tables that a file only implies have no position of their own; then the start of the file has to do.
  problems_.push_back({document.path, std::max<std::uint32_t>(where.begin.line, 1),
                       std::max<std::uint32_t>(where.begin.column, 1), std::move(text)});
}

void FieldReader::add_problem(Problem problem) { problems_.push_back(std::move(problem)); }

void FieldReader::read_sources() {
  static const std::vector<std::string> kKeys = {"kind", "text"};
  static const std::vector<std::string> kKinds = {"measured", "published", "derived", "assumed"};
  for (const Document& document : chain_) {
    auto& sources = sources_.emplace_back();
    const toml::node* node = document.root.get("sources");
    if (!node) continue;
    if (!node->is_table()) {
      add_problem(document, node->source(), fmt::format("[sources] must be a table, not {}", type_name(*node)));
      continue;
    }
    for (const auto& [key, entry] : *node->as_table()) {
      const std::string name(key.str());
      sources[name];  // known from here on, so that one fault does not make every use of it another
      const toml::table* table = entry.as_table();
      if (!table) {
        add_problem(
            document, entry.source(),
            fmt::format("source '{}' must be {{ kind = \"...\", text = \"...\" }}, not {}", name, type_name(entry)));
        continue;
      }
      for (const auto& [inner, ignored] : *table)
        if (std::find(kKeys.begin(), kKeys.end(), inner.str()) == kKeys.end())
          add_problem(
              document, inner.source(),
              fmt::format("unknown key '{}' in source '{}'{}", inner.str(), name, did_you_mean(inner.str(), kKeys)));
      const toml::node* kind = table->get("kind");
      const toml::node* text = table->get("text");
      if (!kind || !kind->is_string() || !parse_figure_kind(kind->as_string()->get())) {
        const std::string given = kind && kind->is_string() ? kind->as_string()->get() : "";
        add_problem(document, kind ? kind->source() : entry.source(),
                    fmt::format("source '{}' needs a kind, one of {}{}", name, fmt::join(kKinds, ", "),
                                did_you_mean(given, kKinds)));
      } else {
        sources[name].kind = *parse_figure_kind(kind->as_string()->get());
      }
      if (!text || !text->is_string() || text->as_string()->get().empty())
        add_problem(document, text ? text->source() : entry.source(),
                    fmt::format("source '{}' needs a text that says where its numbers come from", name));
      else
        sources[name].text = text->as_string()->get();
    }
  }
}

std::string FieldReader::top_text(std::string_view key, bool required) {
  for (const Document& document : chain_) {
    const toml::node* node = document.root.get(key);
    if (!node) continue;
    if (node->is_string() && !node->as_string()->get().empty()) return node->as_string()->get();
    add_problem(document, node->source(),
                fmt::format("'{}' must be text, not {}", key, node->is_string() ? "empty" : type_name(*node)));
    return {};
  }
  if (required) add_problem(chain_.front(), {}, fmt::format("missing '{}'", key));
  return {};
}

void FieldReader::own_group(std::string_view name) {
  group(name);
  own_ = true;
}

std::span<const Document> FieldReader::counting() const {
  return std::span(chain_).first(own_ ? std::size_t{1} : chain_.size());
}

void FieldReader::group(std::string_view name) {
  group_ = name;
  own_ = false;
  if (std::find(groups_.begin(), groups_.end(), group_) == groups_.end()) groups_.push_back(group_);
  for (const Document& document : chain_) {
    const toml::node* node = document.root.get(group_);
    if (node && !node->is_table() && keys_.find(group_) == keys_.end())
      add_problem(document, node->source(), fmt::format("[{}] must be a table, not {}", group_, type_name(*node)));
  }
  keys_[group_];
}

bool FieldReader::has_group() const {
  const std::span<const Document> files = counting();
  return std::any_of(files.begin(), files.end(),
                     [&](const Document& document) { return document.root.contains(group_); });
}

std::optional<FieldReader::Found> FieldReader::find(std::string_view key, bool required) {
  keys_[group_].emplace_back(key);
  for (const Document& document : counting()) {
    const toml::table* table = document.root[group_].as_table();
    const toml::node* node = table ? table->get(key) : nullptr;
    if (node) return open_value(document, *node, key);
  }
  if (required && (!own_ || has_group())) {
    const toml::node* table = chain_.front().root.get(group_);
    add_problem(chain_.front(), table ? table->source() : toml::source_region{},
                fmt::format("missing value '{}' in [{}]", key, group_));
  }
  return std::nullopt;
}

std::optional<FieldReader::Found> FieldReader::open_value(const Document& document, const toml::node& node,
                                                          std::string_view key) {
  static const std::vector<std::string> kKeys = {"value", "source", "kind", "note"};
  Found found{&document, &node, {}, {}, {}, &node, &node};
  const auto read_text = [&](const toml::table& table, std::string_view name, std::string& out) -> const toml::node* {
    const toml::node* text = table.get(name);
    if (text && text->is_string()) {
      out = text->as_string()->get();
      return text;
    }
    if (text) add_problem(document, text->source(), fmt::format("'{}' must be text, not {}", name, type_name(*text)));
    return nullptr;
  };
  const auto read_source = [&](const toml::table& table) {
    if (const toml::node* at = read_text(table, "source", found.source)) found.source_at = at;
  };
  read_source(document.root);
  read_source(*document.root[group_].as_table());
  if (const toml::table* table = node.as_table()) {
    for (const auto& [inner, ignored] : *table)
      if (std::find(kKeys.begin(), kKeys.end(), inner.str()) == kKeys.end())
        add_problem(document, inner.source(),
                    fmt::format("unknown key '{}' in '{}'{}", inner.str(), key, did_you_mean(inner.str(), kKeys)));
    read_source(*table);
    read_text(*table, "note", found.note);
    if (const toml::node* at = read_text(*table, "kind", found.kind)) found.kind_at = at;
    found.node = table->get("value");
    if (!found.node) {
      add_problem(document, node.source(), fmt::format("missing 'value' in '{}'", key));
      return std::nullopt;
    }
  }
  return found;
}

std::optional<Source> FieldReader::source_of(const Found& found, std::string_view key) {
  if (found.source.empty()) {
    add_problem(*found.document, found.source_at->source(),
                fmt::format("'{}' has no source: write source = \"...\" in [{}] or beside the value", key, group_));
    return std::nullopt;
  }
  // A file sees its own sources and those of the files it inherits from.
  std::vector<std::string> known;
  for (std::size_t i = static_cast<std::size_t>(found.document - chain_.data()); i < chain_.size(); ++i) {
    const auto place = sources_[i].find(found.source);
    if (place != sources_[i].end()) {
      Source source = place->second;
      if (!found.kind.empty()) {
        const std::optional<FigureKind> kind = parse_figure_kind(found.kind);
        if (!kind)
          add_problem(*found.document, found.kind_at->source(),
                      fmt::format("'{}' is of kind '{}', which is none of measured, published, derived, assumed", key,
                                  found.kind));
        source.kind = kind.value_or(source.kind);
      }
      return source;
    }
    for (const auto& entry : sources_[i]) known.push_back(entry.first);
  }
  add_problem(*found.document, found.source_at->source(),
              fmt::format("the source '{}' is not in [sources]{}", found.source, did_you_mean(found.source, known)));
  return std::nullopt;
}

void FieldReader::add_figure(const Found& found, std::string_view key, Figure::Value value, std::string_view unit) {
  read_.emplace(key);
  if (const std::optional<Source> source = source_of(found, key))
    figures_.push_back(
        {group_, std::string(key), std::move(value), std::string(unit), source->kind, source->text, found.note});
}

void FieldReader::require(bool holds, std::initializer_list<std::string_view> keys, std::string text) {
  if (holds || !std::all_of(keys.begin(), keys.end(), [&](auto key) { return read_.contains(key); })) return;
  for (const Document& document : counting()) {
    const toml::table* table = document.root[group_].as_table();
    const toml::node* node = table ? table->get(*keys.begin()) : nullptr;
    if (node) return add_problem(document, node->source(), std::move(text));
  }
}

void FieldReader::report_unknown_keys() {
  std::vector<std::string> top = kTopLevel;
  top.insert(top.end(), groups_.begin(), groups_.end());
  for (const Document& document : chain_) {
    for (const auto& [key, node] : document.root) {
      if (std::find(kTopLevel.begin(), kTopLevel.end(), key.str()) != kTopLevel.end()) continue;
      const auto known = keys_.find(key.str());
      if (known == keys_.end()) {
        add_problem(document, key.source(),
                    fmt::format("unknown {} '{}'{}", node.is_table() ? "group" : "key", key.str(),
                                did_you_mean(key.str(), top)));
        continue;
      }
      if (!node.is_table()) continue;
      for (const auto& [inner, ignored] : *node.as_table())
        if (inner.str() != "source" &&
            std::find(known->second.begin(), known->second.end(), inner.str()) == known->second.end())
          add_problem(document, inner.source(),
                      fmt::format("unknown key '{}' in [{}]{}", inner.str(), key.str(),
                                  did_you_mean(inner.str(), known->second)));
    }
  }
}

std::vector<Figure> FieldReader::finish() {
  report_unknown_keys();
  if (!problems_.empty()) fail();
  return std::move(figures_);
}

void FieldReader::fail() { fail_with_problems(chain_.front().path, std::move(problems_)); }

}  // namespace tessera::internal
