#include "tessera/targets/tensix/card/compute_defaults.h"

#include "card.h"
#include "tests/targets/tensix/card/golden.h"

namespace tessera::tensix {
namespace {

using golden::Json;

TEST(ComputeDefaults, AreThoseOfTheRealOne) {
  const Json answers = golden::load("compute_defaults");
  int products = 0, sums = 0;
  for (const Json& r : answers["records"]) {
    const Machine machine = golden::board(r["board"]);
    const auto dtype = [&](const char* key) { return *parse_dtype(r[key].get<std::string>()); };
    const bool product = r["op"] == "matmul";
    const ComputeConfig ours =
        product ? default_matmul_compute(dtype("a"), dtype("b"), dtype("out"), r["grid"], *machine.tensix)
                : precise_compute(*machine.tensix);
    EXPECT_EQ(name(ours.fidelity), r["fidelity"].get<std::string>()) << r;
    EXPECT_EQ(ours.fp32_dest_acc_en, r["fp32"].get<bool>()) << r;
    EXPECT_EQ(ours.packer_l1_acc, r["l1acc"].get<bool>()) << r;
    ++(product ? products : sums);
  }
  EXPECT_EQ(products, 192);
  EXPECT_EQ(sums, 6);
}

}  // namespace
}  // namespace tessera::tensix
