#include "tessera/io/safetensors.h"
#include "tests/text_cases.h"

#include "io_test.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {
namespace {

using namespace io_test;
using for_tests::text_cases;
using for_tests::TextCase;

std::string safetensors(std::string_view header, std::string_view data = "") {
  const std::uint64_t size = header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &size, 8);
  return file + std::string(header) + std::string(data);
}

void expect_safetensors_refusal(Code code, std::string_view text, const std::string& file) {
  SCOPED_TRACE(file.substr(std::min<std::size_t>(file.size(), 8)));
  expect_refusal(code, text, [&] { parse_safetensors(bytes_of(file)); });
}

std::string entry(std::string_view name, std::string_view type, std::string_view shape, int begin, int end) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", name, type, shape, begin, end);
}

TEST(Safetensors, ReadsWhatTheReferenceWrote) {
  const SafetensorsFile file(data_path("all.safetensors"));
  EXPECT_EQ(file.metadata(), (SafetensorsMetadata{{"format", "np"}}));
  EXPECT_EQ(file.names().size(), 28u);
  EXPECT_EQ(file.names().front(), "a.u64");
  const SafetensorsTensor& f32 = file.tensor("b.f32");
  EXPECT_EQ(f32.type, ElementType::float32);
  EXPECT_EQ(f32.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(text_of(f32.bytes), text_of(bytes_of<float>({1, 2, 3, 4, 5, 6})));
  EXPECT_EQ(text_of(file.tensor("a.bf16").bytes),
            text_of(bytes_of<std::uint16_t>({0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0})));
  EXPECT_EQ(text_of(file.tensor("a.bool").bytes), text_of(bytes_of<std::uint8_t>({1, 0, 1, 0, 1, 0})));
  EXPECT_TRUE(file.tensor("quote \" back \\ line \n é").shape.empty());
  EXPECT_TRUE(file.tensor("empty").bytes.empty());
  EXPECT_TRUE(file.contains("empty"));
  EXPECT_FALSE(file.contains("full"));
  expect_refusal(Code::not_found, "safetensors: no tensor 'full' among the 28 of", [&] { file.tensor("full"); });
  EXPECT_TRUE(SafetensorsFile(data_path("empty.safetensors")).names().empty());
}

TEST(Safetensors, WritesTheBytesThatTheReferenceWrites) {
  for (std::string_view name : {"all.safetensors", "plain.safetensors", "empty.safetensors"}) {
    const std::vector<std::byte> expected = bytes_of(data_file(name));
    Safetensors content = parse_safetensors(expected);
    std::shuffle(content.tensors.begin(), content.tensors.end(), std::mt19937(4));
    EXPECT_EQ(text_of(encode_safetensors(content.tensors, content.metadata)), text_of(expected)) << name;
  }
}

TEST(Safetensors, ATypeWithoutANameThereIsRefusedAndNothingIsWritten) {
  TemporaryDirectory directory;
  const std::vector<std::byte> data(4);
  const std::vector<SafetensorsTensor> tensors{{"x", ElementType::float4_e2m1, {4}, data}};
  EXPECT_THROW(save_safetensors(directory.path() / "a.safetensors", tensors, {}), Error);
  EXPECT_EQ(directory.files(), 0u);
}

TEST(Safetensors, RandomTensorsComeBackAsTheyWere) {
  std::mt19937 random(5);
  TemporaryDirectory directory;
  for (int i = 0; i < 100; ++i) {
    std::vector<std::vector<std::byte>> data;
    std::vector<SafetensorsTensor> tensors;
    for (unsigned k = 0, count = random() % 8; k < count; ++k) {
      ElementType type = ElementType::float32;
      do type = all_element_types()[random() % all_element_types().size()];
      while (type > ElementType::uint64);  // the format has no name for those of a few bits
      std::vector<std::int64_t> shape = random_shape(random);
      data.push_back(random_bytes(random, static_cast<std::size_t>(volume_of(shape) * element_bytes(type))));
      tensors.push_back({fmt::format("layer.{}.\t\"{}\"", random() % 100, k), type, std::move(shape), data.back()});
    }
    const SafetensorsMetadata metadata{{"z", "1"}, {"a\n", "ü"}};
    save_safetensors(directory.path() / "a.safetensors", tensors, metadata);
    EXPECT_EQ(directory.files(), 1u);
    SafetensorsFile opened(directory.path() / "a.safetensors");
    const SafetensorsFile file = std::move(opened);
    ASSERT_EQ(file.tensors().size(), tensors.size());
    EXPECT_EQ(file.metadata(), metadata);
    for (const SafetensorsTensor& tensor : tensors) {
      const SafetensorsTensor& read = file.tensor(tensor.name);
      EXPECT_EQ(read.type, tensor.type);
      EXPECT_EQ(read.shape, tensor.shape);
      EXPECT_TRUE(std::ranges::equal(read.bytes, tensor.bytes));
    }
  }
}

TEST(Safetensors, TensorsStartAtMultiplesOfTheirElement) {
  const std::vector<std::byte> one = bytes_of("1"), eight = bytes_of("12345678");
  const SafetensorsTensor tensors[] = {{"a", ElementType::uint8, {1}, one}, {"b", ElementType::float64, {1}, eight}};
  const std::vector<std::byte> file = encode_safetensors(tensors);
  const Safetensors content = parse_safetensors(file);
  EXPECT_EQ(content.tensors[0].name, "b");
  EXPECT_EQ((content.tensors[0].bytes.data() - file.data()) % 8, 0);
}

TEST(Safetensors, ReadsEightBitFloatsAsRawBytes) {
  const std::vector<std::byte> file = bytes_of(
      safetensors("{" + entry("x", "F8_E4M3", "2", 0, 2) + "," + entry("y", "F8_E5M2", "1", 2, 3) + "}", "abc"));
  const Safetensors content = parse_safetensors(file);
  EXPECT_EQ(content.tensors[0].type, ElementType::float8_e4m3);
  EXPECT_EQ(text_of(content.tensors[1].bytes), "c");
}

TEST(Safetensors, RefusesADamagedBeginning) {
  const std::string good = data_file("plain.safetensors");
  expect_safetensors_refusal(Code::parse, "safetensors: 0 bytes are too few", "");
  expect_safetensors_refusal(Code::parse, "safetensors: 7 bytes are too few", good.substr(0, 7));
  expect_safetensors_refusal(Code::parse, "the header should have 112 bytes, but the file ends after 92",
                             good.substr(0, 100));
  std::string huge = good;
  huge[7] = '\x7f';
  expect_safetensors_refusal(Code::parse, "bytes is more than 100000000", huge);
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_THROW(parse_safetensors(bytes_of(good.substr(0, size))), Error) << size;
  expect_safetensors_refusal(Code::parse, "the tensors end at byte 13 of the data, the file has 14", good + "x");
}

TEST(Safetensors, RefusesHeadersThatAreNotTheObjectOfTheFormat) {
  for (const TextCase& bad : text_cases("io/safetensors_refusals.txt", 2)) {
    SCOPED_TRACE(bad.place);
    expect_safetensors_refusal(Code::parse, bad[1], safetensors(bad[0]));
  }
  const std::string twice = "{" + entry("a", "U8", "0", 0, 0) + "," + entry("a", "U8", "0", 0, 0) + "}";
  expect_safetensors_refusal(Code::parse, "the header names 'a' twice", safetensors(twice));
  expect_safetensors_refusal(Code::unsupported, "tensor 'a' has the unknown dtype 'F31'",
                             safetensors("{" + entry("a", "F31", "0", 0, 0) + "}"));
  expect_safetensors_refusal(Code::parse, "tensor 'a' must be an object, found a list",
                             safetensors("{\"a\":" + std::string(100000, '[') + "}"));
  std::string deep = "1";
  for (int i = 0; i < 64; ++i) deep += ",1";
  expect_safetensors_refusal(Code::parse, "tensor 'a' has more than 64 extents",
                             safetensors("{" + entry("a", "U8", deep, 0, 1) + "}", "x"));
}

TEST(Safetensors, RefusesTensorsThatDoNotCoverTheData) {
  const auto file = [](const std::string& entries, std::string_view data) {
    return safetensors("{" + entries + "}", data);
  };
  expect_safetensors_refusal(Code::parse, "tensor 'a' has the data_offsets [0, 8], but the file has 4 bytes of data",
                             file(entry("a", "F32", "2", 0, 8), "1234"));
  expect_safetensors_refusal(Code::parse, "tensor 'a' has the data_offsets [4, 0]",
                             file(entry("a", "F32", "1", 4, 0), "1234"));
  expect_safetensors_refusal(Code::parse, "shape [2] of float32 needs 8 bytes, its data_offsets span 4",
                             file(entry("a", "F32", "2", 0, 4), "1234"));
  expect_safetensors_refusal(Code::parse, "has more bytes than 63 bits can count",
                             file(entry("a", "F32", "4294967296,4294967296", 0, 4), "1234"));
  expect_safetensors_refusal(Code::parse, "has more bytes than 63 bits can count",
                             file(entry("a", "F32", "0,4294967296,4294967296", 0, 0), ""));
  expect_safetensors_refusal(Code::parse, "tensor 'b' starts at byte 2 of the data, inside the tensor that ends at 4",
                             file(entry("a", "U8", "4", 0, 4) + "," + entry("b", "U8", "4", 2, 6), "123456"));
  expect_safetensors_refusal(Code::parse, "tensor 'b' starts at byte 0 of the data, inside the tensor that ends at 4",
                             file(entry("a", "U8", "4", 0, 4) + "," + entry("b", "U8", "4", 0, 4), "1234"));
  expect_safetensors_refusal(Code::parse, "bytes 2 to 4 of the data, ahead of tensor 'b', belong to no tensor",
                             file(entry("a", "U8", "2", 0, 2) + "," + entry("b", "U8", "2", 4, 6), "123456"));
  expect_safetensors_refusal(Code::parse, "bytes 0 to 1 of the data, ahead of tensor 'a', belong to no tensor",
                             file(entry("a", "U8", "3", 1, 4), "1234"));
  expect_safetensors_refusal(Code::parse, "the tensors end at byte 0 of the data, the file has 1",
                             safetensors("{}", "x"));
  expect_safetensors_refusal(Code::parse, "tensor 'b' starts at byte 2 of the data, inside the tensor that ends at 4",
                             file(entry("a", "U8", "4", 0, 4) + "," + entry("b", "U8", "0", 2, 2), "1234"));
}

TEST(Safetensors, WritingRefusesWhatItCouldNotRead) {
  const std::vector<std::byte> one = bytes_of("1");
  const auto encode = [](std::vector<SafetensorsTensor> tensors, SafetensorsMetadata metadata = {}) {
    return [tensors = std::move(tensors), metadata = std::move(metadata)] { encode_safetensors(tensors, metadata); };
  };
  const SafetensorsTensor good{"a", ElementType::uint8, {1}, one};
  expect_refusal(Code::invalid_argument, "two tensors are called 'a'", encode({good, good}));
  expect_refusal(Code::invalid_argument, "no tensor can be called '__metadata__'",
                 encode({{"__metadata__", ElementType::uint8, {1}, one}}));
  expect_refusal(Code::invalid_argument, "the name '?' is not UTF-8 text",
                 encode({{"\xff", ElementType::uint8, {1}, one}}));
  expect_refusal(Code::invalid_argument, "the metadata 'k' is not UTF-8 text", encode({good}, {{"k", "\xff"}}));
  expect_refusal(Code::invalid_argument, "safetensors: tensor 'a': shape [2] of uint8 needs 2 bytes, got 1",
                 encode({{"a", ElementType::uint8, {2}, one}}));
  expect_refusal(Code::invalid_argument, "cannot be counted in 63 bits",
                 encode({{"a", ElementType::uint8, {-1}, one}}));
}

TEST(Safetensors, OpeningNamesTheFile) {
  expect_refusal(Code::not_found, "while reading /no/such.safetensors",
                 [] { SafetensorsFile file("/no/such.safetensors"); });
  expect_refusal(Code::parse, "while reading", [] { SafetensorsFile file(data_path("README.md")); });
}

}  // namespace
}  // namespace tessera
