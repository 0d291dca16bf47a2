#include "tessera/machine/machine_file.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/temporary_directory.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

fs::path shipped(const std::string& name) { return fs::path(TESSERA_MACHINES_DIR) / (name + ".toml"); }

std::vector<std::string> shipped_names() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(TESSERA_MACHINES_DIR))
    names.push_back(entry.path().stem().string());
  return names;
}

// A file of the smallest family that is right in every respect; tests break it one line at a time. Lines are counted
// from 1, as the messages do.
const std::string kGood =
    "name = \"mine\"\n"                                                            // 1
    "title = \"My machine\"\n"                                                     // 2
    "family = \"cpu\"\n"                                                           // 3
    "[sources]\n"                                                                  // 4
    "me = { kind = \"measured\", text = \"on my desk\" }\n"                        // 5
    "[chip]\n"                                                                     // 6
    "source = \"me\"\n"                                                            // 7
    "isa = \"avx2\"\n"                                                             // 8
    "cores = 4\n"                                                                  // 9
    "vector_bits = 256\n"                                                          // 10
    "[memory]\n"                                                                   // 11
    "source = \"me\"\n"                                                            // 12
    "l1d_bytes = 32_768\n"                                                         // 13
    "l2_bytes = { value = 1_048_576, kind = \"derived\", note = \"4 x 256K\" }\n"  // 14
    "l1_read_bytes_per_s = 200e9\n"                                                // 15
    "l2_read_bytes_per_s = 70e9\n"                                                 // 16
    "l3_read_bytes_per_s = 20e9\n"                                                 // 17
    "dram_read_bytes_per_s = 12e9\n"                                               // 18
    "dram_read_all_bytes_per_s = 40e9\n"                                           // 19
    "[math]\n"                                                                     // 20
    "source = \"me\"\n"                                                            // 21
    "f32_flop_per_s = 95e9\n"                                                      // 22
    "f32_all_flop_per_s = 380e9\n";                                                // 23

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

class MachineFile : public testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("TESSERA_MACHINES");  // what the developer has set is no part of the test
  }
  void TearDown() override { ::unsetenv("TESSERA_MACHINES"); }

  fs::path write(const std::string& text, const std::string& name = "mine.toml") const {
    write_file_atomically(directory_ / name, text);
    return directory_ / name;
  }
  static std::string message_of(const fs::path& path) {
    try {
      load_machine_file(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::parse) << error.what();
      return error.message();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
  }
  // The message for one fault, without the directory.
  std::string fault(const std::string& what, const std::string& with) const {
    const std::string message = message_of(write(replaced(kGood, what, with)));
    const std::string prefix = directory_.string() + "/";
    EXPECT_EQ(message.substr(0, prefix.size()), prefix);
    return message.substr(prefix.size());
  }

  TemporaryDirectory temporary_;
  const fs::path directory_ = temporary_.path();
};

TEST_F(MachineFile, EveryShippedMachineLoadsUnderItsName) {
  EXPECT_FALSE(shipped_names().empty());
  for (const std::string& name : shipped_names()) {
    SCOPED_TRACE(name);
    const Machine machine = load_machine_file(shipped(name));
    EXPECT_EQ(machine.name, name);
    EXPECT_FALSE(machine.title.empty());
    EXPECT_EQ(1, machine.tensix.has_value() + machine.neuron.has_value() + machine.unified.has_value() +
                     machine.cpu.has_value() + machine.gpu.has_value());
    EXPECT_GE(machine.figures.size(), 12u);
    for (const Figure& figure : machine.figures) EXPECT_FALSE(figure.source.empty()) << figure.key;
    const MachineSummary summary = summarize(machine);
    EXPECT_GT(summary.cores, 0);
    EXPECT_GT(summary.peak_flop_per_s, 1e11);
  }
}

TEST_F(MachineFile, TensixBoardsHaveTheNumbersThatTtnnPrints) {
  struct Board {
    std::string name, arch;
    int chips, x, y;
    std::int64_t l1_bank;
    int dram_banks;
    std::int64_t dram_bank, dram_channel, dram_alignment;
  };
  const Board boards[] = {
      {"wormhole_n150", "WORMHOLE_B0", 1, 8, 8, 1393312, 12, 1072693184, 1073741824, 32},
      {"wormhole_n300", "WORMHOLE_B0", 2, 8, 8, 1393312, 12, 1072693184, 1073741824, 32},
      {"blackhole_p100", "BLACKHOLE", 1, 11, 10, 1461120, 7, 4277141376, 4278190080, 64},
      {"blackhole_p150", "BLACKHOLE", 1, 13, 10, 1461120, 8, 4277141376, 4278190080, 64},
  };
  for (const Board& board : boards) {
    SCOPED_TRACE(board.name);
    const Machine machine = load_machine_file(shipped(board.name));
    const TensixSpec& spec = tensix_of(machine);
    EXPECT_EQ(spec.arch, board.arch);
    EXPECT_EQ(spec.chips, board.chips);
    EXPECT_EQ(spec.grid_x, board.x);
    EXPECT_EQ(spec.grid_y, board.y);
    EXPECT_EQ(spec.l1_bank_bytes(), board.l1_bank);
    EXPECT_EQ(spec.dram_banks, board.dram_banks);
    EXPECT_EQ(spec.dram_bank_bytes, board.dram_bank);
    EXPECT_EQ(spec.dram_bank_bytes + spec.dram_bank_base_bytes, board.dram_channel);
    EXPECT_EQ(spec.dram_alignment_bytes, board.dram_alignment);
    EXPECT_EQ(spec.l1_alignment_bytes, 16);
  }
}

TEST_F(MachineFile, ShippedNumbersAgreeWithEachOther) {
  for (const std::string& name : shipped_names()) {
    SCOPED_TRACE(name);
    const Machine machine = load_machine_file(shipped(name));
    if (const auto& s = machine.tensix) {
      // A tile product is 2 * 32^3 operations at one phase, and each further phase costs the same again.
      EXPECT_EQ(s->tile_matmul_cycles[0] * s->matmul_flop_per_cycle, 2.0 * 32 * 32 * 32);
      for (int phases = 2; phases <= 4; ++phases)
        EXPECT_EQ(s->tile_matmul_cycles[static_cast<std::size_t>(phases - 1)], phases * s->tile_matmul_cycles[0]);
      EXPECT_EQ(s->noc_bytes_per_cycle.back().rate, s->noc_link_achieved_bytes_per_cycle);
      EXPECT_EQ(s->l1_unreserved_base_bytes % s->dram_alignment_bytes, 0);
      EXPECT_EQ(s->dram_bank_base_bytes % s->dram_alignment_bytes, 0);
    }
    if (const auto& s = machine.neuron) {
      EXPECT_EQ(s->psum_bank_bytes(), 2048);
      EXPECT_EQ(s->moving_max_columns * 4, s->psum_bank_bytes());
      const double peak = 2.0 * s->pe_rows * s->pe_columns * s->pe_clock_hz;
      EXPECT_NEAR(s->fp16_flop_per_s / peak, 1.0, 0.01);
      EXPECT_NEAR(s->chip_fp16_flop_per_s / (s->cores * s->fp16_flop_per_s), 1.0, 0.06);
    }
    if (const auto& s = machine.cpu) {
      EXPECT_LE(s->f32_all_flop_per_s, s->cores * s->f32_flop_per_s * 1.01);
    }
  }
}

TEST_F(MachineFile, KeepsUnitKindSourceAndNoteOfEveryFigure) {
  const Machine machine = load_machine_file(write(kGood));
  EXPECT_EQ(machine.cpu->l2_bytes, 1048576);
  EXPECT_EQ(machine.cpu->l3_bytes, std::nullopt);
  const auto figure =
      std::find_if(machine.figures.begin(), machine.figures.end(), [](const Figure& f) { return f.key == "l2_bytes"; });
  ASSERT_NE(figure, machine.figures.end());
  EXPECT_EQ(figure->group, "memory");
  EXPECT_EQ(std::get<std::int64_t>(figure->value), 1048576);
  EXPECT_EQ(figure->unit, "B");
  EXPECT_EQ(figure->kind, FigureKind::derived);
  EXPECT_EQ(figure->source, "on my desk");
  EXPECT_EQ(figure->note, "4 x 256K");
}

TEST_F(MachineFile, SyntaxErrorsHaveLineAndColumn) {
  EXPECT_THAT(fault("cores = 4", "cores = = 4"), HasSubstr("mine.toml:9:9: not valid TOML: "));
  EXPECT_THAT(fault("cores = 4", "isa = \"x\""), HasSubstr("mine.toml:9:7: not valid TOML: "));  // twice
}

TEST_F(MachineFile, UnknownKeysAreNamedWithWhatWasMeant) {
  EXPECT_EQ(fault("isa = \"avx2\"\n", "isa = \"avx2\"\ncoers = 4\n"),
            "mine.toml:9:1: unknown key 'coers' in [chip]; did you mean 'cores'?");
  EXPECT_EQ(fault("[math]", "[maths]\n[math]"), "mine.toml:20:2: unknown group 'maths'; did you mean 'math'?");
  EXPECT_EQ(fault("title", "colour = 1\ntitle"), "mine.toml:2:1: unknown key 'colour'");
  EXPECT_EQ(fault("note =", "note2 ="), "mine.toml:14:51: unknown key 'note2' in 'l2_bytes'; did you mean 'note'?");
}

TEST_F(MachineFile, MissingValuesPointAtTheirGroup) {
  EXPECT_EQ(fault("cores = 4\n", ""), "mine.toml:6:1: missing value 'cores' in [chip]");
  EXPECT_EQ(fault("title = \"My machine\"\n", ""), "mine.toml:1:1: missing 'title'");
  EXPECT_EQ(fault("value = 1_048_576, ", ""), "mine.toml:14:12: missing 'value' in 'l2_bytes'");
}

TEST_F(MachineFile, WrongTypesSayWhatWasFound) {
  EXPECT_EQ(fault("cores = 4", "cores = \"four\""), "mine.toml:9:9: 'cores' must be a whole number, not a string");
  EXPECT_EQ(fault("cores = 4", "cores = 4.5"), "mine.toml:9:9: 'cores' must be a whole number, not a real number");
  EXPECT_EQ(fault("isa = \"avx2\"", "isa = [1]"), "mine.toml:8:7: 'isa' must be text, not an array");
  EXPECT_EQ(fault("= 70e9", "= 1979-05-27"),
            "mine.toml:16:23: 'l2_read_bytes_per_s' must be a number, not a date or time");
  EXPECT_THAT(fault("[math]\nsource = \"me\"\nf32_flop_per_s = 95e9\nf32_all_flop_per_s = 380e9\n", "[[math]]\n"),
              HasSubstr("[math] must be a table, not an array"));
}

TEST_F(MachineFile, ImpossibleValuesAreRefused) {
  EXPECT_EQ(fault("cores = 4", "cores = 0"), "mine.toml:9:9: 'cores' is 0, but it must be more than 0");
  EXPECT_EQ(fault("= 32_768", "= -1"), "mine.toml:13:13: 'l1d_bytes' is -1, but it must be more than 0");
  EXPECT_EQ(fault("= 256\n", "= 250\n"), "mine.toml:10:15: 'vector_bits' is 250, but it must be a power of two");
  EXPECT_EQ(fault("= 70e9", "= nan"), "mine.toml:16:23: 'l2_read_bytes_per_s' is nan, but it must be a finite number");
  EXPECT_EQ(fault("= 32_768", "= 9223372036854775807"),
            "mine.toml:13:13: 'l1d_bytes' is 9223372036854775807, which is beyond reason");
  EXPECT_EQ(fault("= 70e9", "= 1e300"), "mine.toml:16:23: 'l2_read_bytes_per_s' is 1e+300, which is beyond reason");
  EXPECT_EQ(fault("= 70e9", "= 1e-300"), "mine.toml:16:23: 'l2_read_bytes_per_s' is 1e-300, which is beyond reason");
}

TEST_F(MachineFile, ImpossibleTensixMemoryAndGridsAreRefused) {
  const auto what_if = [&](const std::string& group, const std::string& line) {
    const std::string text =
        "inherits = \"wormhole_n150\"\nsource = \"me\"\n[sources]\n"
        "me = { kind = \"assumed\", text = \"what if\" }\n[" +
        group + "]\n" + line + "\n";
    ::setenv("TESSERA_MACHINES", TESSERA_MACHINES_DIR, 1);
    return message_of(write(text));
  };
  EXPECT_THAT(what_if("l1", "l1_unreserved_base_bytes = 1_499_136"),
              EndsWith("mine.toml:6:28: 'l1_unreserved_base_bytes' is 1499136, but L1 ends at 1499136"));
  EXPECT_THAT(what_if("l1", "l1_alignment_bytes = 24"),
              EndsWith("'l1_alignment_bytes' is 24, but it must be a power of two"));
  EXPECT_THAT(what_if("chip", "grid_y = 0"), EndsWith("mine.toml:6:10: 'grid_y' is 0, but it must be more than 0"));
  EXPECT_THAT(what_if("dram", "dram_banks = 0"), HasSubstr("'dram_banks' is 0"));
  EXPECT_THAT(what_if("noc", "noc_bytes_per_cycle = [[256, 5], [128, 6]]"),
              HasSubstr("rising order, but 128 follows 256"));
  EXPECT_THAT(what_if("noc", "noc_bytes_per_cycle = [[256, 5, 1]]"),
              HasSubstr("must be an array of 2 numbers, not of 3"));
  EXPECT_THAT(what_if("math", "tile_matmul_cycles = [16, 32]"), HasSubstr("must be an array of 4 numbers, not of 2"));
  EXPECT_THAT(what_if("noc", "l1_read = [9e9, 1e9, 64]"),
              HasSubstr("'l1_read' starts at 9000000000 B/s, above its peak"));
}

TEST_F(MachineFile, BanksOfPsumMustDivideAPartition) {
  const auto what_if = [&](const std::string& line) {
    ::setenv("TESSERA_MACHINES", TESSERA_MACHINES_DIR, 1);
    return message_of(
        write("inherits = \"trainium2\"\nsource = \"me\"\n[sources]\n"
              "me = { kind = \"assumed\", text = \"what if\" }\n[memory]\n" +
              line + "\n"));
  };
  EXPECT_THAT(what_if("psum_banks = 3"),
              EndsWith("'psum_banks' is 3, which does not divide the 16384 bytes of a PSUM partition"));
  EXPECT_THAT(what_if("psum_banks = 0"), EndsWith("'psum_banks' is 0, but it must be more than 0"));
}

TEST_F(MachineFile, NumbersWithoutASourceAreRefused) {
  EXPECT_THAT(fault("[chip]\nsource = \"me\"\n", "[chip]\n"),
              HasSubstr("mine.toml:7:7: 'isa' has no source: write source"));
  EXPECT_EQ(fault("note = \"4 x 256K\"", "source = \"mee\""),
            "mine.toml:14:60: the source 'mee' is not in [sources]; did you mean 'me'?");
  // One wrong name that a whole group leans on is one problem.
  EXPECT_EQ(fault("[chip]\nsource = \"me\"", "[chip]\nsource = \"you\""),
            "mine.toml:7:10: the source 'you' is not in [sources]");
  EXPECT_EQ(fault("kind = \"derived\"", "kind = \"guessed\""),
            "mine.toml:14:40: 'l2_bytes' is of kind 'guessed', which is none of measured, published, derived, assumed");
  EXPECT_EQ(fault("kind = \"measured\"", "kind = \"measurd\""),
            "mine.toml:5:15: source 'me' needs a kind, one of measured, published, derived, assumed; did you mean "
            "'measured'?");
}

TEST_F(MachineFile, NameMustBeTheStemAndFamilyMustExist) {
  EXPECT_EQ(fault("\"mine\"", "\"yours\""), "mine.toml:1:8: 'name' is 'yours', but the file is called 'mine.toml'");
  EXPECT_EQ(fault("\"cpu\"", "\"cpus\""),
            "mine.toml:3:10: 'family' is 'cpus', but it must be one of tensix, neuron, unified, cpu, gpu; did you mean "
            "'cpu'?");
}

TEST_F(MachineFile, AllProblemsComeAtOnceInTheOrderOfTheFile) {
  std::string text = replaced(kGood, "cores = 4\n", "coers = 4\n");
  text = replaced(text, "= 32_768", "= 0");
  text = replaced(text, "f32_flop_per_s = 95e9", "f32_flop_per_s = true");
  const fs::path path = write(text);
  const std::string p = path.string();
  EXPECT_EQ(message_of(path), p + ": 4 problems\n  " + p + ":6:1: missing value 'cores' in [chip]\n  " + p +
                                  ":9:1: unknown key 'coers' in [chip]; did you mean 'cores'?\n  " + p +
                                  ":13:13: 'l1d_bytes' is 0, but it must be more than 0\n  " + p +
                                  ":22:18: 'f32_flop_per_s' must be a number, not true or false");
}

TEST_F(MachineFile, WhatIfMachineNamesOnlyWhatDiffers) {
  write(kGood);
  const fs::path path = write(
      "inherits = \"mine\"\ntitle = \"Wider\"\nsource = \"guess\"\n[sources]\n"
      "guess = { kind = \"assumed\", text = \"what if\" }\n[chip]\nvector_bits = 512\ncores = { value = 8, source = "
      "\"me\" }\n",
      "wider.toml");
  const Machine machine = load_machine_file(path);
  EXPECT_EQ(machine.name, "wider");
  EXPECT_EQ(machine.title, "Wider");
  EXPECT_EQ(machine.cpu->vector_bits, 512);
  EXPECT_EQ(machine.cpu->cores, 8);
  EXPECT_EQ(machine.cpu->l1d_bytes, 32768);
  EXPECT_EQ(machine.figures[2].key, "vector_bits");
  EXPECT_EQ(machine.figures[2].kind, FigureKind::assumed);
  EXPECT_EQ(machine.figures[1].source, "on my desk");
}

TEST_F(MachineFile, InheritanceThatCannotWorkIsRefused) {
  const fs::path a = write("inherits = \"b\"\n", "a.toml");
  write("inherits = \"a\"\n", "b.toml");
  EXPECT_THAT(message_of(a), EndsWith("b.toml:1:12: inherits from 'a', which in the end inherits from this file"));
  EXPECT_THAT(message_of(write("inherits = \"c\"\n", "c.toml")), HasSubstr("inherits from 'c'"));
  EXPECT_THAT(message_of(write("inherits = \"wormhole_n15\"\n", "d.toml")), HasSubstr("which is no machine"));
  EXPECT_THAT(message_of(write("inherits = 3\n", "e.toml")), HasSubstr("must be the name of a machine"));
  write(kGood);
  EXPECT_THAT(message_of(write("inherits = \"mine\"\nfamily = \"gpu\"\n", "f.toml")),
              HasSubstr("'family' is 'gpu', but " + (directory_ / "mine.toml").string() + " is of the family 'cpu'"));
  // Faults of the base are told with the base's path, after those of the file itself.
  write(replaced(kGood, "= 32_768", "= 0"));
  EXPECT_THAT(message_of(write("inherits = \"mine\"\nextra = 1\n", "g.toml")),
              testing::MatchesRegex(".*2 problems\n.*g.toml:2:1: unknown key 'extra'\n.*mine.toml:13:13: .*"));
}

TEST_F(MachineFile, NamesAreFoundInTheDirectoriesOfTheEnvironmentFirst) {
  write(kGood);
  write(replaced(replaced(kGood, "\"mine\"", "\"cpu_amx\""), "cores = 4", "cores = 99"), "cpu_amx.toml");
  ::setenv("TESSERA_MACHINES", (directory_.string() + ":" TESSERA_MACHINES_DIR).c_str(), 1);
  EXPECT_THAT(machine_names(), Contains("mine"));
  EXPECT_THAT(machine_names(), Contains("wormhole_n150"));
  EXPECT_EQ(load_machine("mine").cpu->cores, 4);
  EXPECT_EQ(load_machine("cpu_amx").cpu->cores, 99);
  EXPECT_EQ(load_machine((directory_ / "mine.toml").string()).cpu->cores, 4);
  ::setenv("TESSERA_MACHINES", (directory_ / "nowhere").c_str(), 1);
  EXPECT_THROW(machine_names(), Error);
}

TEST_F(MachineFile, UnknownNamesGetAHint) {
  ::setenv("TESSERA_MACHINES", TESSERA_MACHINES_DIR, 1);
  try {
    load_machine("wormhole_n105");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_found);
    EXPECT_EQ(error.message(), "there is no machine 'wormhole_n105'; did you mean 'wormhole_n150'?");
    EXPECT_THAT(error.hint(), HasSubstr("blackhole_p150"));
  }
  EXPECT_THROW(load_machine(""), Error);
  EXPECT_THROW(load_machine("no/such.toml"), Error);
  EXPECT_THROW(tensix_of(load_machine("cpu_amx")), Error);
}

// Whatever the bytes are, the answer is a machine or an Error of ours.
TEST_F(MachineFile, TruncatedAndCorruptFilesNeverDoMoreThanFail) {
  const std::string good = read_text_file(shipped("wormhole_n150"));
  std::mt19937 random(7);
  int refused = 0;
  const auto attempt = [&](const std::string& text) {
    try {
      load_machine_file(write(text, "wormhole_n150.toml"));
    } catch (const Error& error) {
      ++refused;
      EXPECT_THAT(error.message(), HasSubstr("wormhole_n150.toml"));
    }
  };
  for (std::size_t size = 0; size < good.size(); size += 61) attempt(good.substr(0, size));
  EXPECT_GT(refused, 50);
  for (int round = 0; round < 200; ++round) {
    std::string text = good;
    for (int i = 0; i < 3; ++i) text[random() % text.size()] = static_cast<char>(random() % 256);
    attempt(text);
  }
  attempt(std::string(200'000, '['));
  attempt("a = " + std::string(100'000, '['));
  attempt(std::string("\0\0\0", 3));
  attempt(std::string(2 << 20, '#'));  // over the bound on size
}

}  // namespace
}  // namespace tessera
