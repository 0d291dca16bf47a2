#include "tessera/report/markup.h"

#include "markup_check.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Markup, SpecialCharactersAreEscaped) {
  EXPECT_EQ(escape_markup("</script><b>&\"'"), "&lt;/script&gt;&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(escape_markup("plain\ttext, 3 \xC3\x97 4 \xF0\x9F\x98\x80"), "plain\ttext, 3 \xC3\x97 4 \xF0\x9F\x98\x80");
}

TEST(Markup, WhatXmlCannotHoldIsReplaced) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(escape_markup(std::string_view("a\0b", 3)), "a" + bad + "b");
  EXPECT_EQ(escape_markup("\x1B[0m"), bad + "[0m");
  EXPECT_EQ(escape_markup("\xC3"), bad);                      // cut short
  EXPECT_EQ(escape_markup("\xC0\xAF"), bad + bad);            // overlong '/'
  EXPECT_EQ(escape_markup("\xED\xA0\x80"), bad + bad + bad);  // surrogate
  EXPECT_EQ(escape_markup("\xEF\xBF\xBF"), bad + bad + bad);  // U+FFFF
  EXPECT_EQ(escape_markup("\xF5\x80\x80\x80"), bad + bad + bad + bad);
}

TEST(Markup, ShorteningCutsBetweenCharacters) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 3), "ab\xE2\x80\xA6");
  EXPECT_EQ(shortened("\xC3\xA4\xC3\xB6\xC3\xBC\xC3\x9F", 3), "\xC3\xA4\xC3\xB6\xE2\x80\xA6");
  EXPECT_EQ(shortened("", 3), "");
}

TEST(Markup, TheCheckOfTheseTestsFindsFaults) {
  EXPECT_EQ(read_markup("<a b=\"1\"><c/>x &amp; y</a>\n", false).problem, "");
  EXPECT_EQ(read_markup("<!DOCTYPE html><a><br>x</a>", true).problem, "");
  for (const char* bad : {"<a>", "<a></b>", "<a b=1/>", "<a>x & y</a>", "<a>x < y</a>", "<a b=\"<\"/>", "<a/>x",
                          "<a b=\"1\" b=\"2\"/>", "<br>"})
    EXPECT_NE(read_markup(bad, false).problem, "") << bad;
}

}  // namespace
}  // namespace tessera
