#include "tessera/io/npy.h"
#include "tests/text_cases.h"

#include "io_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tessera {
namespace {

using namespace io_test;
using for_tests::text_cases;
using for_tests::TextCase;

// A version 1.0 file with this header text, whatever it is.
std::string npy(std::string_view header, std::string_view data = "") {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file + std::string(header) + std::string(data);
}

void expect_npy_refusal(Code code, std::string_view text, const std::string& file) {
  expect_refusal(code, text, [&] { parse_npy(bytes_of(file)); });
}

template <class T>
std::vector<T> values_of(const NpyArray& array) {
  std::vector<T> values(array.data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), array.data.data(), array.data.size());
  return values;
}

template <class T>
void expect_one_to_six(std::string_view file, ElementType type) {
  const NpyArray array = load_npy(data_path(file));
  EXPECT_EQ(array.type, type) << file;
  EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 3})) << file;
  EXPECT_EQ(values_of<T>(array), (std::vector<T>{1, 2, 3, 4, 5, 6})) << file;
}

TEST(Npy, ReadsEveryTypeThatNumpyWrote) {
  for (std::string_view suffix : {".npy", "_big.npy"}) {
    const auto file = [&](std::string_view stem) { return fmt::format("{}{}", stem, suffix); };
    expect_one_to_six<float>(file("f4"), ElementType::float32);
    expect_one_to_six<double>(file("f8"), ElementType::float64);
    expect_one_to_six<std::int16_t>(file("i2"), ElementType::int16);
    expect_one_to_six<std::int32_t>(file("i4"), ElementType::int32);
    expect_one_to_six<std::int64_t>(file("i8"), ElementType::int64);
    expect_one_to_six<std::uint16_t>(file("u2"), ElementType::uint16);
    expect_one_to_six<std::uint32_t>(file("u4"), ElementType::uint32);
    expect_one_to_six<std::uint64_t>(file("u8"), ElementType::uint64);
    const NpyArray half = load_npy(data_path(file("f2")));
    EXPECT_EQ(half.type, ElementType::float16);
    EXPECT_EQ(values_of<std::uint16_t>(half),
              (std::vector<std::uint16_t>{0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600}));
  }
  expect_one_to_six<std::int8_t>("i1.npy", ElementType::int8);
  expect_one_to_six<std::uint8_t>("u1.npy", ElementType::uint8);
  const NpyArray truth = load_npy(data_path("b1.npy"));
  EXPECT_EQ(truth.type, ElementType::boolean);
  EXPECT_EQ(values_of<std::uint8_t>(truth), (std::vector<std::uint8_t>{1, 0, 1, 0, 1, 0}));
}

TEST(Npy, ReadsBfloat16AsNumpySeesIt) {
  for (std::string_view file : {"bf16.npy", "bf16_void.npy"}) {
    const NpyArray array = load_npy(data_path(file));
    EXPECT_EQ(array.type, ElementType::bfloat16);
    EXPECT_EQ(values_of<std::uint16_t>(array),
              (std::vector<std::uint16_t>{0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0}));
  }
  const std::string tail = ", 'fortran_order': False, 'shape': (1,)}\n";
  const NpyArray one{ElementType::bfloat16, {1}, bytes_of("\x80\x3f")};
  EXPECT_EQ(parse_npy(bytes_of(npy("{'descr': 'bfloat16'" + tail, "\x80\x3f"))), one);
  EXPECT_EQ(parse_npy(bytes_of(npy("{'descr': '>V2'" + tail, "\x3f\x80"))), one);
}

TEST(Npy, ReadsFortranOrderAsCOrder) {
  const NpyArray array = load_npy(data_path("f4_fortran.npy"));
  EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 3, 4}));
  std::vector<float> expected;
  for (int i = 1; i <= 24; ++i) expected.push_back(static_cast<float>(i));
  EXPECT_EQ(values_of<float>(array), expected);
  EXPECT_EQ(values_of<double>(load_npy(data_path("f8_fortran_big.npy"))), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, ReadsVersions2And3AndRank0AndNoElements) {
  for (std::string_view file : {"f4_version2.npy", "f4_version3.npy"})
    EXPECT_EQ(values_of<float>(load_npy(data_path(file))), (std::vector<float>{1, 2, 3, 4, 5})) << file;
  const NpyArray scalar = load_npy(data_path("f4_scalar.npy"));
  EXPECT_TRUE(scalar.shape.empty());
  EXPECT_EQ(values_of<float>(scalar), (std::vector<float>{1}));
  const NpyArray empty = load_npy(data_path("f4_empty.npy"));
  EXPECT_EQ(empty.shape, (std::vector<std::int64_t>{3, 0, 2}));
  EXPECT_TRUE(empty.data.empty());
}

TEST(Npy, WritesTheBytesThatNumpyWrites) {
  for (std::string_view file : {"f2.npy", "f4.npy", "f8.npy", "i1.npy", "i2.npy", "i4.npy", "i8.npy", "u1.npy",
                                "u2.npy", "u4.npy", "u8.npy", "b1.npy", "bf16.npy", "f4_scalar.npy", "f4_empty.npy"}) {
    const std::string expected = data_file(file);
    EXPECT_EQ(text_of(encode_npy(parse_npy(bytes_of(expected)))), expected) << file;
  }
}

TEST(Npy, RandomArraysComeBackAsTheyWere) {
  std::mt19937 random(1);
  TemporaryDirectory directory;
  for (int i = 0; i < 300; ++i) {
    NpyArray array;
    do array.type = all_element_types()[random() % all_element_types().size()];
    while (numpy_descr(array.type).empty());
    array.shape = random_shape(random);
    array.data = random_bytes(random, static_cast<std::size_t>(volume_of(array.shape) * element_bytes(array.type)));
    const std::vector<std::byte> file = encode_npy(array);
    EXPECT_EQ((file.size() - array.data.size()) % 64, 0u);
    ASSERT_EQ(parse_npy(file), array);
    if (i % 30 != 0) continue;
    save_npy(directory.path() / "a.npy", array);
    EXPECT_EQ(load_npy(directory.path() / "a.npy"), array);
    EXPECT_EQ(directory.files(), 1u);
  }
}

TEST(Npy, RandomFortranAndBigEndianArraysAreConverted) {
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    const std::vector<std::int64_t> shape = random_shape(random);
    const std::int64_t count = volume_of(shape);
    std::string text;
    for (std::int64_t extent : shape) text += fmt::format("{},", extent);
    // Element k in Fortran order has the index (k % n0, k / n0 % n1, ...); its value is its place in C order.
    std::string data(static_cast<std::size_t>(count) * 4, '\0');
    std::vector<std::uint32_t> expected;
    for (std::int64_t k = 0; k < count; ++k) {
      std::int64_t rest = k, place = 0;
      std::vector<std::int64_t> index;
      for (std::int64_t extent : shape) index.push_back(rest % extent), rest /= extent;
      for (std::size_t d = 0; d < shape.size(); ++d) place = place * shape[d] + index[d];
      const auto value = static_cast<std::uint32_t>(place);
      for (int byte = 0; byte < 4; ++byte)
        data[static_cast<std::size_t>(4 * k + byte)] = static_cast<char>(value >> (24 - 8 * byte));
      expected.push_back(static_cast<std::uint32_t>(k));
    }
    const std::string file = npy(fmt::format("{{'descr': '>u4', 'fortran_order': True, 'shape': ({})}}\n", text), data);
    const NpyArray array = parse_npy(bytes_of(file));
    ASSERT_EQ(array.shape, shape);
    ASSERT_EQ(values_of<std::uint32_t>(array), expected);
  }
}

TEST(Npy, AcceptsWhatPythonWouldCallTheSameDictionary) {
  const std::string one_to_two("\x01\x00\x02\x00", 4);
  const NpyArray expected{ElementType::int16, {2}, bytes_of(one_to_two)};
  for (std::string_view header : {
           "{'shape':(2,),'descr':'<i2','fortran_order':False}\n",
           "{\"descr\": \"<i2\", \"fortran_order\": True, \"shape\": ( 2 , ) , }   \n",
           "{'descr': '<i2', 'fortran_order': False, 'shape': (2L,), }\n",
       })
    EXPECT_EQ(parse_npy(bytes_of(npy(header, one_to_two))), expected) << header;
}

TEST(Npy, RefusesDamageAheadOfTheHeader) {
  const std::string good = data_file("f4.npy");
  expect_npy_refusal(Code::parse, "npy: 0 bytes are too few", "");
  expect_npy_refusal(Code::parse, "npy: 7 bytes are too few", good.substr(0, 7));
  expect_npy_refusal(Code::parse, "does not start with \\x93NUMPY", "PK" + good.substr(2));
  for (const auto& [at, value, version] : {std::tuple(6, '\0', "0.0"), {6, '\4', "4.0"}, {7, '\1', "1.1"}}) {
    std::string bad = good;
    bad[static_cast<std::size_t>(at)] = value;
    expect_npy_refusal(Code::unsupported, fmt::format("format version {} is not supported", version), bad);
  }
  expect_npy_refusal(Code::parse, "ends inside the header length", good.substr(0, 9));
  expect_npy_refusal(Code::parse, "ends inside the header length", data_file("f4_version2.npy").substr(0, 11));
  expect_npy_refusal(Code::parse, "the header should have 118 bytes, but the file ends after 90", good.substr(0, 100));
  std::string huge("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
  expect_npy_refusal(Code::parse, "the header should have 4294967295 bytes, but the file ends after 3", huge + "abc");
  expect_npy_refusal(Code::parse, "a header of 65537 bytes is more than 65536",
                     std::string("\x93NUMPY\x02\x00\x01\x00\x01\x00", 12) + std::string(65537, ' '));
}

TEST(Npy, RefusesHeadersThatAreNotTheDictionaryOfTheFormat) {
  const auto header = [](std::string_view text) { return npy(text, std::string(4, '\0')); };
  for (const TextCase& bad : text_cases("io/npy_refusals.txt", 2)) {
    SCOPED_TRACE(bad.place);
    const std::string &text = bad[0], &message = bad[1];
    SCOPED_TRACE(text);
    expect_npy_refusal(Code::parse, message, header(text));
  }
  std::string deep = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < 65; ++i) deep += "1,";
  expect_npy_refusal(Code::parse, "the shape has more than 64 extents", header(deep + ")}\n"));
}

TEST(Npy, RefusesTypesItDoesNotKnowAndNeverUnpickles) {
  for (std::string_view type : {"|O", "<c8", "<U4", "<f16", "|f4", "=f4", "f4", "|V4", "<M8[ns]", ""}) {
    const std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ()}}\n", type);
    expect_npy_refusal(Code::unsupported, fmt::format("element type '{}' is not supported", type), npy(header));
  }
  expect_npy_refusal(Code::unsupported, "arrays of records are not supported",
                     npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': ()}\n"));
}

TEST(Npy, RefusesDataOfAnotherLengthThanTheShapeNeeds) {
  const std::string good = data_file("f4.npy");
  expect_npy_refusal(Code::parse, "shape [2, 3] of float32 needs 24 bytes of data, the file has 23",
                     good.substr(0, good.size() - 1));
  expect_npy_refusal(Code::parse, "needs 24 bytes of data, the file has 25", good + "x");
  expect_npy_refusal(Code::parse,
                     "shape [4294967296, 1000000] of float64 needs 34359738368000000 bytes of data, the file has 0",
                     npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 1000000)}\n"));
  for (std::string_view shape : {"4294967296, 4294967296", "0, 4294967296, 4294967296", "9223372036854775807,"})
    expect_npy_refusal(Code::parse, "more bytes than 63 bits can count",
                       npy(fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': ({})}}\n", shape)));
}

TEST(Npy, WritingRefusesWhatItCouldNotRead) {
  TemporaryDirectory directory;
  const auto path = directory.path() / "a.npy";
  const auto save = [&](const NpyArray& array) { return [&path, array] { save_npy(path, array); }; };
  expect_refusal(Code::invalid_argument, "npy: shape [2] of float32 needs 8 bytes, got 4",
                 save({ElementType::float32, {2}, bytes_of("1234")}));
  expect_refusal(Code::invalid_argument, "cannot be counted in 63 bits", save({ElementType::float32, {-1}, {}}));
  expect_refusal(Code::invalid_argument, "rank 65 is more than 64",
                 save({ElementType::uint8, std::vector<std::int64_t>(65, 1), bytes_of("1")}));
  expect_refusal(Code::unsupported, "npy: float8_e4m3 has no NumPy type",
                 save({ElementType::float8_e4m3, {1}, bytes_of("1")}));
  EXPECT_EQ(directory.files(), 0u);
}

TEST(Npy, AFailedWriteLeavesTheOldFileAndNothingElse) {
  TemporaryDirectory directory;
  const NpyArray array{ElementType::uint8, {1}, bytes_of("1")};
  expect_refusal(Code::not_found, "No such file or directory",
                 [&] { save_npy(directory.path() / "no" / "a.npy", array); });
  std::filesystem::create_directory(directory.path() / "taken.npy");
  expect_refusal(Code::io, "it is a directory", [&] { save_npy(directory.path() / "taken.npy", array); });
  EXPECT_EQ(directory.files(), 1u);

  save_npy(directory.path() / "a.npy", array);
  std::filesystem::permissions(directory.path() / "a.npy",
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::create_symlink("a.npy", directory.path() / "link.npy");
  save_npy(directory.path() / "link.npy", NpyArray{ElementType::uint8, {2}, bytes_of("23")});
  EXPECT_TRUE(std::filesystem::is_symlink(directory.path() / "link.npy"));
  EXPECT_EQ(load_npy(directory.path() / "a.npy").data, bytes_of("23"));
  EXPECT_EQ(std::filesystem::status(directory.path() / "a.npy").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(directory.files(), 3u);
}

TEST(Npy, LoadingNamesTheFile) {
  expect_refusal(Code::not_found, "cannot open '/no/such.npy': No such file or directory\n  while reading /no/such.npy",
                 [] { load_npy("/no/such.npy"); });
  expect_refusal(Code::io, "is not a regular file", [] { load_npy("/dev/null"); });
  expect_refusal(Code::io, "is not a regular file", [] { load_npy("/tmp"); });
}

}  // namespace
}  // namespace tessera
