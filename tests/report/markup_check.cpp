#include "markup_check.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace tessera {
namespace {

constexpr std::array<std::string_view, 6> kVoid = {"meta", "br", "link", "img", "hr", "input"};
constexpr std::array<std::string_view, 8> kEntities = {"amp;", "lt;",   "gt;",   "quot;",
                                                       "#39;", "apos;", "ensp;", "nbsp;"};

bool entities_are_good(std::string_view text) {
  for (std::size_t at = text.find('&'); at != std::string_view::npos; at = text.find('&', at + 1)) {
    const std::string_view rest = text.substr(at + 1);
    if (std::none_of(kEntities.begin(), kEntities.end(), [&](auto e) { return rest.starts_with(e); })) return false;
  }
  return true;
}

class Reader {
 public:
  Reader(std::string_view text, bool html) : text_(text), html_(html) {}

  Markup read() {
    if (html_ && text_.starts_with("<!DOCTYPE html>")) at_ = text_.find('>') + 1;
    while (out_.problem.empty() && at_ < text_.size()) step();
    if (out_.problem.empty() && !open_.empty()) complain("never closed: " + out_.elements[open_.back()].tag);
    return std::move(out_);
  }

 private:
  void complain(const std::string& what) {
    if (out_.problem.empty()) out_.problem = what + " at byte " + std::to_string(at_);
  }

  void step() {
    if (text_[at_] != '<') {
      const std::size_t end = std::min(text_.find('<', at_), text_.size());
      const std::string_view part = text_.substr(at_, end - at_);
      if (!entities_are_good(part)) return complain("a bare '&'");
      const bool blank = std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isspace(c) != 0; });
      if (open_.empty() && !blank) return complain("text outside of every element");
      if (!out_.elements.empty()) out_.elements.back().text += part;
      at_ = end;
      return;
    }
    ++at_;
    if (text_.substr(at_).starts_with('/')) return close();
    open();
  }

  std::string word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-' || text_[at_] == '_'))
      ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void close() {
    ++at_;
    const std::string tag = word();
    if (!take('>')) return complain("a closing tag that does not end");
    if (open_.empty() || out_.elements[open_.back()].tag != tag) return complain("</" + tag + "> closes nothing");
    open_.pop_back();
  }

  void open() {
    MarkupElement element;
    element.tag = word();
    if (element.tag.empty()) return complain("a '<' that starts no tag");
    element.parent = open_.empty() ? -1 : static_cast<int>(open_.back());
    bool closed = false;
    for (skip_space(); !take('>'); skip_space()) {
      if (take('/')) {
        closed = true;
        continue;
      }
      const std::string key = word();
      if (key.empty() || !take('=') || !take('"'))
        return complain("an attribute without name or quotes in <" + element.tag + ">");
      const std::size_t end = text_.find('"', at_);
      if (end == std::string_view::npos) return complain("a quote that does not end");
      const std::string_view value = text_.substr(at_, end - at_);
      if (value.find('<') != std::string_view::npos || !entities_are_good(value))
        return complain("a bare '<' or '&' in " + key);
      if (!element.attributes.emplace(key, value).second) return complain("attribute " + key + " twice");
      at_ = end + 1;
    }
    const bool is_void = html_ && std::find(kVoid.begin(), kVoid.end(), element.tag) != kVoid.end();
    const bool raw = element.tag == "style" || element.tag == "script";
    out_.elements.push_back(std::move(element));
    if (closed || is_void) return;
    open_.push_back(out_.elements.size() - 1);
    if (!raw) return;
    const std::size_t end = std::min(text_.find("</", at_), text_.size());
    out_.elements.back().text = text_.substr(at_, end - at_);
    at_ = end;
  }

  std::string_view text_;
  bool html_;
  std::size_t at_ = 0;
  std::vector<std::size_t> open_;
  Markup out_;
};

}  // namespace

bool Markup::is_in(std::size_t element, std::string_view tag) const {
  for (int i = static_cast<int>(element); i >= 0; i = elements[static_cast<std::size_t>(i)].parent)
    if (elements[static_cast<std::size_t>(i)].tag == tag) return true;
  return false;
}

Markup read_markup(std::string_view text, bool html) { return Reader(text, html).read(); }

}  // namespace tessera
