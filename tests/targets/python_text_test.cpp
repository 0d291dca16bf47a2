#include "tessera/io/emit/python_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace tessera::emit {
namespace {

TEST(PythonText, LiteralsReadAsTheSameValue) {
  EXPECT_EQ(py("a\"b\\c\n"), "\"a\\\"b\\\\c\\x0a\"");
  EXPECT_EQ(py(true), "True");
  EXPECT_EQ(py(false), "False");
  EXPECT_EQ(py(std::int64_t{-7}), "-7");
  EXPECT_EQ(py(std::numeric_limits<double>::infinity()), "float(\"inf\")");
  EXPECT_EQ(py_tuple(std::vector<std::int64_t>{3}), "(3,)");
  EXPECT_EQ(py_tuple(std::vector<std::int64_t>{3, 4}), "(3, 4)");
  EXPECT_EQ(py_list(Shape{2, 5}), "[2, 5]");
  EXPECT_EQ(py_comment("a\n\"b\""), "a  b ");
}

TEST(PythonText, CallsFillLinesOf120ColumnsAndNoMore) {
  // "    y = f(" and ")" leave 109 columns.
  const std::string fits = py_call(4, "y = f(", {std::string(54, 'a'), std::string(53, 'b')});
  EXPECT_EQ(fits.size(), 121u);
  EXPECT_EQ(fits.find('\n'), 120u);
  // Behind 8 spaces, with their commas, these take 120 columns; one more starts another line.
  for (const std::size_t last : {35u, 36u}) {
    const std::string text = py_call(4, "y = f(", {std::string(36, 'a'), std::string(36, 'b'), std::string(last, 'c')});
    std::istringstream lines(text);
    std::vector<std::size_t> columns;
    for (std::string line; std::getline(lines, line);) columns.push_back(line.size());
    EXPECT_EQ(columns, last == 35 ? (std::vector<std::size_t>{10, 120, 5}) : (std::vector<std::size_t>{10, 83, 45, 5}));
  }
}

}  // namespace
}  // namespace tessera::emit
