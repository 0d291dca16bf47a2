#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct MarkupElement {
  std::string tag;
  std::map<std::string, std::string> attributes;  // as written, entities not resolved
  std::string text;                               // between this tag and the next one
  int parent = -1;
};

struct Markup {
  std::string problem;  // empty: well-formed
  std::vector<MarkupElement> elements;

  bool is_in(std::size_t element, std::string_view tag) const;  // whether it, or one around it, is such an element
};

// Reads XML, or HTML of the strict kind that has every tag closed but for void elements. Text may hold no '<' and no
// '&' that starts no entity; attributes are quoted. The text of <script> and <style> is taken as it is.
Markup read_markup(std::string_view text, bool html);

}  // namespace tessera
