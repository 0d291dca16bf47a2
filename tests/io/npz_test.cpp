#include "tessera/io/npz.h"

#include "io_test.h"

#include <fmt/format.h>

namespace tessera {
namespace {

using namespace io_test;

NpzArrays parse(const std::string& file) { return parse_npz(bytes_of(file)); }

void expect_npz_refusal(Code code, std::string_view text, const std::string& file) {
  expect_refusal(code, text, [&] { parse(file); });
}

NpyArray counting(std::int64_t count) {
  NpyArray array{ElementType::uint8, {count}, {}};
  for (std::int64_t i = 0; i < count; ++i) array.data.push_back(static_cast<std::byte>(i + 1));
  return array;
}

// An archive of our own and where its records are, to be damaged one field at a time.
struct Archive {
  explicit Archive(const NpzArrays& arrays) : text(text_of(encode_npz(arrays))) {
    end = text.rfind("PK\5\6");
    central = text.find("PK\1\2");
    second_central = text.find("PK\1\2", central + 4);
    second_local = text.find("PK\3\4", 4);
  }

  template <class T>
  Archive with(std::size_t at, T value) const {
    Archive copy = *this;
    std::memcpy(copy.text.data() + at, &value, sizeof(T));
    return copy;
  }

  std::string text;
  std::size_t end = 0, central = 0, second_central = 0, second_local = 0;
};

using U16 = std::uint16_t;
using U32 = std::uint32_t;

TEST(Npz, ReadsWhatNumpyWrote) {
  for (std::string_view file : {"stored.npz", "deflated.npz"}) {
    const NpzArrays arrays = load_npz(data_path(file));
    ASSERT_GE(arrays.size(), 3u) << file;
    EXPECT_EQ(arrays[0].first, "weight");
    EXPECT_EQ(arrays[0].second, load_npy(data_path("f4.npy")));
    EXPECT_EQ(arrays[1].first, "mask");
    EXPECT_EQ(arrays[1].second, (NpyArray{ElementType::boolean, {4}, bytes_of<std::uint8_t>({1, 0, 1, 0})}));
    EXPECT_EQ(arrays[2].first, "größe");
    EXPECT_EQ(arrays[2].second, (NpyArray{ElementType::int64, {}, bytes_of<std::int64_t>({1})}));
  }
  const NpzArrays deflated = load_npz(data_path("deflated.npz"));
  ASSERT_EQ(deflated.size(), 4u);
  EXPECT_EQ(deflated[3].second, (NpyArray{ElementType::float32, {64, 64}, std::vector<std::byte>(64 * 64 * 4)}));
  EXPECT_TRUE(load_npz(data_path("empty.npz")).empty());
}

TEST(Npz, ReadsThe64BitExtension) {
  const NpzArrays arrays = load_npz(data_path("zip64.npz"));
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[1].first, "b");
  EXPECT_EQ(arrays[1].second, (NpyArray{ElementType::int32, {3}, bytes_of<std::int32_t>({1, 2, 3})}));
}

TEST(Npz, RandomArchivesComeBackAsTheyWere) {
  std::mt19937 random(3);
  TemporaryDirectory directory;
  for (int i = 0; i < 50; ++i) {
    NpzArrays arrays(random() % 6);
    for (auto& [key, array] : arrays) {
      key = fmt::format("../{}/ä{}", "/abc"[random() % 4], &array - &arrays[0].second);
      array.type = ElementType::float32;
      array.shape = random_shape(random);
      array.data = random_bytes(random, static_cast<std::size_t>(4 * volume_of(array.shape)));
    }
    ASSERT_EQ(parse_npz(encode_npz(arrays)), arrays);
    save_npz(directory.path() / "a.npz", arrays);
    EXPECT_EQ(load_npz(directory.path() / "a.npz"), arrays);
    EXPECT_EQ(directory.files(), 1u);  // names with slashes stay names
  }
}

TEST(Npz, SkipsACommentAtTheEnd) {
  Archive archive({{"a", counting(3)}});
  archive = archive.with<U16>(archive.end + 20, 7);
  EXPECT_EQ(parse(archive.text + "comment").size(), 1u);
  expect_npz_refusal(Code::parse, "no zip directory found", archive.text + "commen");
}

TEST(Npz, RefusesWhatIsNoZipFile) {
  expect_npz_refusal(Code::parse, "npz: 0 bytes are too few for a zip file", "");
  expect_npz_refusal(Code::parse, "no zip directory found", std::string(100, 'x'));
  const Archive archive({{"a", counting(3)}});
  for (std::size_t size = 0; size < archive.text.size(); ++size)
    EXPECT_THROW(parse(archive.text.substr(0, size)), Error);
}

TEST(Npz, RefusesADirectoryThatDoesNotFit) {
  const Archive archive({{"a", counting(3)}, {"b", counting(4)}});
  const std::size_t end = archive.end;
  expect_npz_refusal(Code::parse, "does not end where the end record starts", archive.with<U32>(end + 16, 7).text);
  expect_npz_refusal(Code::parse, "does not end where the end record starts", archive.with<U32>(end + 12, 7).text);
  expect_npz_refusal(Code::parse, "does not end where the end record starts",
                     archive.with<U32>(end + 16, 0xfffffff0u).text);
  expect_npz_refusal(Code::unsupported, "split over several files", archive.with<U16>(end + 4, 1).text);
  expect_npz_refusal(Code::unsupported, "split over several files", archive.with<U16>(end + 8, 1).text);
  const auto members = [&](U16 count) { return archive.with<U16>(end + 8, count).with<U16>(end + 10, count).text; };
  expect_npz_refusal(Code::parse, "cannot list 9999 members", members(9999));
  expect_npz_refusal(Code::parse, "its 1 members need 51", members(1));
  expect_npz_refusal(Code::parse, "no member record at byte 0", archive.with<U32>(archive.central, 0).text);
  expect_npz_refusal(Code::parse, "a member record at byte 51 leaves the directory",
                     archive.with<U16>(archive.second_central + 32, 1).text);
  const std::string zip64 = data_file("zip64.npz");
  const std::size_t locator = zip64.rfind("PK\6\7");
  std::string bad = zip64;
  bad[locator + 8] = '\1';
  expect_npz_refusal(Code::parse, "the 64-bit end record is not at byte", bad);
  bad = zip64;
  bad[zip64.rfind("PK\6\6") + 48] ^= 1;
  expect_npz_refusal(Code::parse, "the two end records contradict each other", bad);
  bad = zip64;
  const std::size_t extension = zip64.find(std::string("\1\0", 2), zip64.find("PK\1\2") + 46 + 5);
  bad[extension + 2] = '\1';  // one byte of extension
  expect_npz_refusal(Code::parse, "npz: member 'a.npy': the 64-bit extension is too short", bad);
  bad[extension + 3] = '\1';  // more than there is
  expect_npz_refusal(Code::parse, "npz: member 'a.npy': an extra field leaves its record", bad);
}

TEST(Npz, RefusesMembersThatDoNotFit) {
  const Archive archive({{"a", counting(3)}, {"b", counting(4)}});
  const std::size_t at = archive.central;
  expect_npz_refusal(Code::unsupported, "npz: member 'a.npy' is encrypted", archive.with<U16>(at + 8, 0x801).text);
  expect_npz_refusal(Code::unsupported, "compression method 12 is not supported", archive.with<U16>(at + 10, 12).text);
  expect_npz_refusal(Code::parse, "is stored as it is, yet has 131 bytes in the file and 7 outside",
                     archive.with<U32>(at + 24, 7).text);
  expect_npz_refusal(Code::parse, "does not start at byte 5, where the directory says",
                     archive.with<U32>(at + 42, 5).text);
  expect_npz_refusal(Code::parse, "does not start at byte 4294967295", archive.with<U32>(at + 42, 0xffffffffu).text);
  expect_npz_refusal(Code::parse, "leaves the archive, whose members end at byte",
                     archive.with<U32>(at + 20, 5000).with<U32>(at + 24, 5000).text);
  expect_npz_refusal(Code::unsupported, "split over several files", archive.with<U16>(at + 34, 1).text);
  expect_npz_refusal(Code::parse, "contradicts the directory", archive.with<U16>(8, 8).text);
  expect_npz_refusal(Code::parse, "contradicts the directory", archive.with<U32>(14, 1).text);
  expect_npz_refusal(Code::parse, "contradicts the directory", archive.with<U32>(22, 1).text);
  expect_npz_refusal(Code::parse, "contradicts the directory", archive.with<char>(30, 'x').text);
  expect_npz_refusal(
      Code::parse, "npz: two members are called 'a.npy'",
      archive.with<char>(archive.second_central + 46, 'a').with<char>(archive.second_local + 30, 'a').text);
  expect_npz_refusal(Code::parse, "npz: members 'a.npy' and 'b.npy' overlap",
                     [&] {  // the first swallows the second
                       const auto bytes = static_cast<U32>(archive.central - 35);
                       return archive.with<U32>(at + 20, bytes)
                           .with<U32>(at + 24, bytes)
                           .with<U32>(18, bytes)
                           .with<U32>(22, bytes)
                           .text;
                     }());
}

TEST(Npz, RefusesNamesThatAreNotText) {
  const Archive archive({{"é", counting(3)}});
  expect_npz_refusal(Code::unsupported, "the name is not marked as UTF-8",
                     archive.with<U16>(archive.central + 8, 0).text);
  expect_npz_refusal(Code::parse, "the name is not UTF-8 text", archive.with<char>(archive.central + 46, 'e').text);
  expect_npz_refusal(Code::parse, "the name is not UTF-8 text",
                     archive.with<char>(archive.central + 46, 'e').with<char>(archive.central + 47, '\0').text);
  const Archive plain({{"a", counting(3)}});
  expect_npz_refusal(Code::unsupported, "npz: member 'a.npx' is not an .npy array",
                     plain.with<char>(plain.central + 50, 'x').with<char>(34, 'x').text);
}

TEST(Npz, RefusesDamagedContent) {
  const Archive archive({{"a", counting(3)}});
  expect_npz_refusal(Code::parse, "npz: member 'a.npy' is damaged: its CRC-32 is",
                     archive.with<char>(archive.central - 1, 'x').text);
  const Archive no_array = archive.with<char>(35, 'x');
  const std::string text = no_array.text;
  expect_npz_refusal(Code::parse, "is damaged: its CRC-32 is", text);

  const std::string deflated = data_file("deflated.npz");
  std::string bad = deflated;
  for (std::size_t i = 0; i < 4; ++i) bad[60 + i + 20] ^= 0x55;
  EXPECT_THROW(parse(bad), Error);
  // One byte more or less than the stream holds.
  const std::size_t central = deflated.find("PK\1\2");
  for (const int difference : {-1, 1}) {
    bad = deflated;
    const int size = static_cast<unsigned char>(deflated[central + 24]) + difference;
    bad[central + 24] = static_cast<char>(size);
    const bool local_holds_it = bad.substr(22, 4) != "\xff\xff\xff\xff";
    if (local_holds_it) bad[22] = static_cast<char>(size);
    expect_npz_refusal(Code::parse, fmt::format("do not inflate to the {} declared", size), bad);
  }
}

TEST(Npz, RefusesMoreThanDeflateCanYieldOrTheCallerWants) {
  std::string file = data_file("deflated.npz");
  const std::size_t central = file.find("PK\1\2");
  const std::uint32_t bomb = 0x7fffffff;
  std::memcpy(file.data() + central + 24, &bomb, 4);
  expect_npz_refusal(Code::parse, "npz: member 'weight.npy' claims 2147483647 bytes out of", file);
  expect_npz_refusal(Code::parse, "deflate cannot yield more than 1032 for 1", file);
  const Archive archive({{"a", counting(3)}, {"b", counting(3)}});
  EXPECT_EQ(parse_npz(bytes_of(archive.text), 262).size(), 2u);
  expect_refusal(Code::out_of_memory, "npz: the arrays have more than 261 bytes in all",
                 [&] { parse_npz(bytes_of(archive.text), 261); });
}

TEST(Npz, SaysWhichArrayIsWrong) {
  // The CRC is right, the content is not: cut one byte of data from the array and say so in both records.
  NpyArray array = counting(3);
  const std::string npy = text_of(encode_npy(array));
  Archive archive({{"inner", array}});
  const std::size_t at = archive.text.find("(3,)");
  ASSERT_NE(at, std::string::npos);
  archive.text[at + 1] = '4';
  // CRC-32 of the changed member, from the refusal itself.
  std::string crc_text;
  try {
    parse(archive.text);
  } catch (const Error& error) {
    const std::string_view text = error.what();
    crc_text = text.substr(text.find("CRC-32 is ") + 10, 8);
  }
  const auto crc = static_cast<U32>(std::stoul(crc_text, nullptr, 16));
  archive = archive.with<U32>(14, crc).with<U32>(archive.central + 16, crc);
  expect_npz_refusal(Code::parse, "shape [4] of uint8 needs 4 bytes of data, the file has 3\n  array 'inner.npy'",
                     archive.text);
}

TEST(Npz, WritingRefusesWhatItCouldNotRead) {
  const auto encode = [](const NpzArrays& arrays) { return [arrays] { encode_npz(arrays); }; };
  expect_refusal(Code::invalid_argument, "npz: two members are called 'a.npy'",
                 encode({{"a", counting(1)}, {"a", counting(2)}}));
  expect_refusal(Code::invalid_argument, "is not UTF-8 text", encode({{"\xff", counting(1)}}));
  expect_refusal(Code::invalid_argument, "is not UTF-8 text", encode({{std::string("a\0b", 3), counting(1)}}));
  expect_refusal(Code::invalid_argument, "has 65540 bytes, more than 65535",
                 encode({{std::string(65536, 'a'), counting(1)}}));
  expect_refusal(Code::invalid_argument, "needs 2 bytes, got 0\n  array 'x'",
                 encode({{"x", {ElementType::uint8, {2}, {}}}}));
  // 4 GiB without having them: all members are views of one block.
  const std::vector<std::byte> block(std::size_t{1} << 26);
  const std::vector<std::int64_t> shape{1 << 26};
  std::vector<std::pair<std::string, NpyView>> views;
  for (int i = 0; i < 64; ++i) views.emplace_back(std::to_string(i), NpyView(ElementType::uint8, shape, block));
  TemporaryDirectory directory;
  expect_refusal(Code::unsupported, "bytes are more than a zip file without the 64-bit extension can hold",
                 [&] { save_npz(directory.path() / "a.npz", views); });
  EXPECT_EQ(directory.files(), 0u);
}

}  // namespace
}  // namespace tessera
