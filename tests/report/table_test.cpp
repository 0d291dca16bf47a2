#include "tessera/report/table.h"

#include "tessera/core/error.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <string>

namespace tessera {
namespace {

Table example() {
  Table table({{.name = "layer"},
               {.name = "time", .key = "time_ns", .align = Align::right},
               {.name = "L1", .key = "l1_bytes", .unit = "B", .align = Align::right},
               {.name = "fits"}});
  table.add_row({"conv1", Cell(2050.5, "2.05 us"), 1499136, true});
  table.add_row({"größe, \"x\"|y", Cell(), 7, false});
  return table;
}

TEST(Table, TextIsAlignedByWhatTheTerminalShows) {
  EXPECT_EQ(render_text(example()),
            "layer            time   L1 [B]  fits\n"
            "------------  -------  -------  -----\n"
            "conv1         2.05 us  1499136  true\n"
            "größe, \"x\"|y        -        7  false\n");
}

TEST(Table, LongTextsAreWrappedToFitATerminal) {
  Table table({{.name = "node"}, {.name = "why"}, {.name = "us", .align = Align::right}});
  table.add_row({"conv1", "reads the whole input once for each row of the output", 12});
  EXPECT_EQ(render_text(table, 40),
            "node   why                            us\n"
            "-----  -----------------------------  --\n"
            "conv1  reads the whole input once     12\n"
            "       for each row of the output\n");
  EXPECT_EQ(render_text(table, 400), render_text(table));
}

TEST(Table, ColumnsOfDetailGoWhereWrappingIsNotEnough) {
  Table table({{.name = "node"},
               {.name = "one", .align = Align::right, .detail = 1},
               {.name = "two", .align = Align::right},
               {.name = "three", .align = Align::right}});
  table.add_row({"conv1", 1, 2, 3});
  EXPECT_EQ(render_text(table, 17),
            "node   two  three\n"
            "-----  ---  -----\n"
            "conv1    2      3\n"
            "(1 column more: one; --wide shows them)\n");
  EXPECT_EQ(render_text(table, 10),
            "node   two\n"
            "-----  ---\n"
            "conv1    2\n"
            "(2 columns more: one, three; --wide shows them)\n");
  EXPECT_EQ(render_text(table, 1).substr(0, 5), "node\n");  // the first stays
}

TEST(Table, NoLineIsWiderThanAskedWhateverTheCells) {
  Table table({{.name = "name"}, {.name = "text"}, {.name = "n", .align = Align::right}});
  table.add_row({"größe", std::string(300, 'x'), 1});
  table.add_row({"層", "日本語の長い説明 mit Wörtern\x1b[2J and a\nbreak \xff", -1});
  for (int width = 12; width < 90; ++width) {
    std::string text = render_text(table, width);
    if (const std::size_t note = text.find("\n("); note != std::string::npos) text.resize(note + 1);
    for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      EXPECT_LE(display_width(text.substr(begin, end - begin)), width) << text;
  }
}

TEST(Table, CsvTextsAreNoFormulas) {
  Table table({{.name = "a"}, {.name = "b"}});
  table.add_row({"=HYPERLINK(\"x\")", -5});
  table.add_row({"@x", "+1"});
  EXPECT_EQ(render_csv(table), "a,b\r\n\"'=HYPERLINK(\"\"x\"\")\",-5\r\n'@x,'+1\r\n");
}

TEST(Table, TextOfNoRowsIsTheHeading) {
  EXPECT_EQ(render_text(Table({{.name = "a"}, {.name = "bc"}})), "a  bc\n-  --\n");
}

TEST(Table, MarkdownEscapesWhatWouldEndACell) {
  EXPECT_EQ(render_markdown(example()),
            "| layer | time | L1 [B] | fits |\n"
            "| --- | ---: | ---: | --- |\n"
            "| conv1 | 2.05 us | 1499136 | true |\n"
            "| größe, \"x\"\\|y |  | 7 | false |\n");
}

TEST(Table, CsvHasRawValuesAndQuotesWhatNeedsIt) {
  EXPECT_EQ(render_csv(example()),
            "layer,time_ns,l1_bytes,fits\r\n"
            "conv1,2050.5,1499136,true\r\n"
            "\"größe, \"\"x\"\"|y\",,7,false\r\n");
  Table lines({{.name = "a"}});
  lines.add_row({"one\ntwo"});
  EXPECT_EQ(render_csv(lines), "a\r\n\"one\ntwo\"\r\n");
  EXPECT_EQ(render_text(lines), "a\n-------\none two\n");
}

TEST(Table, JsonHasASchemaAndRawNumbers) {
  const auto document = nlohmann::json::parse(render_json(example()));
  EXPECT_EQ(document["schema"], 1);
  ASSERT_EQ(document["rows"].size(), 2u);
  EXPECT_EQ(document["rows"][0]["time_ns"], 2050.5);
  EXPECT_EQ(document["rows"][0]["l1_bytes"], 1499136);
  EXPECT_EQ(document["rows"][0]["fits"], true);
  EXPECT_TRUE(document["rows"][1]["time_ns"].is_null());
  EXPECT_EQ(document["rows"][1]["layer"], "größe, \"x\"|y");
}

TEST(Table, JsonStaysValidForBytesThatAreNotUtf8AndNumbersThatAreNone) {
  Table table({{.name = "a"}, {.name = "b"}});
  table.add_row({std::string("x\xff\xc3"), std::numeric_limits<double>::quiet_NaN()});
  const auto document = nlohmann::json::parse(render_json(table));
  EXPECT_TRUE(document["rows"][0]["b"].is_null());
  EXPECT_EQ(nlohmann::json::parse(render_json(Table({{.name = "a"}})))["rows"].size(), 0u);
}

TEST(Table, CsvNumbersReadBackExactly) {
  Table table({{.name = "a"}});
  table.add_row({0.1 + 0.2});
  EXPECT_EQ(render_csv(table), "a\r\n0.30000000000000004\r\n");
}

TEST(Table, RefusesARowOfAnotherLength) {
  Table table({{.name = "a"}, {.name = "b"}});
  EXPECT_THROW(table.add_row({1}), Error);
  EXPECT_TRUE(table.rows().empty());
}

TEST(DisplayWidth, CountsColumnsAndNotBytes) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("größe"), 5);
  EXPECT_EQ(display_width("漢字"), 4);
  EXPECT_EQ(display_width("e\xCC\x81"), 1);  // e with a combining accent
  EXPECT_EQ(display_width("\xff\xfe"), 2);   // not UTF-8: one column a byte
  EXPECT_EQ(display_width("\xE6\xBC"), 2);   // cut off in the middle
}

TEST(Format, NamesAreThoseOfTheFlag) {
  for (const Format format : all_formats()) EXPECT_EQ(parse_format(name(format)), format);
  EXPECT_EQ(parse_format("yaml"), std::nullopt);
}

}  // namespace
}  // namespace tessera
