//===- DataTest.cpp - Data files, batches and tokens ---------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/data/Batches.h"
#include "runtime/data/Npy.h"
#include "runtime/data/Permutation.h"
#include "tests/unit/runtime/ImageBuilder.h"
#include "tests/unit/runtime/RunProgram.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace dtcc::rt::test {
namespace {

std::string failure(const std::function<void()> &body) {
  try {
    body();
    return "";
  } catch (const Error &error) {
    return error.what();
  }
}

/// A program of `ranks` x `microbatches` that only reads its inputs.
class InputsOnly {
public:
  InputsOnly(int64_t batch, int64_t ranks = 1, int64_t microbatches = 1) : batch(batch), microbatches(microbatches) {
    dp = b.axis("dp", ranks);
    mb = b.axis("mb", microbatches, DTCC_AXIS_TIME);
    arena = b.arena("work");
    b.header.training.batch = batch;
  }
  /// An input sharded over {mb, dp} in its examples and over `columns` in dimension 1.
  dtcc_input &input(const char *name, dtcc_dtype type, std::vector<int64_t> rest, int64_t ranks = 1,
                    dtcc_input_role role = DTCC_INPUT_DATA) {
    dtcc_input row{};
    row.name = b.string(name);
    row.role = role;
    row.rank = static_cast<uint32_t>(rest.size() + 1);
    row.dims[0] = dimOf(batch, batch, {mb, dp});
    std::vector<int64_t> local{batch / (ranks * microbatches)};
    for (size_t d = 0; d < rest.size(); ++d) {
      row.dims[d + 1] = dimOf(rest[d], rest[d]);
      local.push_back(rest[d]);
    }
    row.view = b.view(arena, type, local, microbatches);
    b.inputs.push_back(row);
    return b.inputs.back();
  }
  const Image &image() {
    if (!made) {
      bytes = b.build();
      made.emplace(bytes.data(), 0);
    }
    return *made;
  }
  /// The values of input `index` on `rank` in `slot`.
  template <typename T>
  std::vector<T> values(const Batches &batches, size_t index, int64_t number, int64_t slot, int64_t first) {
    ThreadTeam team(1);
    Rank rank(image(), number, team, 0);
    std::vector<std::byte> memory(image().arenas()[0].bytes);
    rank.arenas[0] = memory.data();
    rank.enterSlot(slot);
    batches.fill(rank, slot, first);
    uint32_t view = image().inputs()[index].view;
    auto *start = static_cast<const T *>(rank.address(view, slot));
    return {start, start + elementCount(image().views()[view])};
  }

  ImageBuilder b;
  int64_t batch, microbatches;
  uint8_t dp, mb;
  uint32_t arena;
  std::vector<uint64_t> bytes;
  std::optional<Image> made;
};

TEST(Npy, ReadsShapesAndTypes) {
  Folder folder;
  std::vector<int32_t> data{1, 2, 3, 4, 5, 6};
  writeNpy(folder / "a.npy", "<i4", "(2, 3)", data.data(), 24);
  NpyFile file(folder / "a.npy");
  EXPECT_EQ(file.shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(file.type(), FileType::I32);
  EXPECT_EQ(elementAsDouble(file.type(), file.data(), 5), 6);
  writeNpy(folder / "s.npy", "<f4", "()", data.data(), 4);
  EXPECT_TRUE(NpyFile(folder / "s.npy").shape().empty());
}

TEST(Npy, RefusesWhatIsDamaged) {
  Folder folder;
  std::vector<float> data(6);
  struct Case {
    const char *expected, *descr, *shape;
    size_t bytes;
  };
  const Case cases[] = {
      {"truncated", "<f4", "(2, 3)", 20},
      {"element type '>f4'", ">f4", "(2, 3)", 24},
      {"element type '<c8'", "<c8", "(2, 3)", 24},
      {"shape is impossible", "<f4", "(-2, 3)", 24},
      {"shape is impossible", "<f4", "(99999999999999999999,)", 24},
      {"shape is impossible", "<f4", "(9999999999, 9999999999)", 24},
      {"shape is impossible", "<f4", "(2, 3", 24},
      {"lacks", "<f4", "2", 24},
  };
  for (const Case &c : cases) {
    writeNpy(folder / "a.npy", c.descr, c.shape, data.data(), c.bytes);
    std::string found = failure([&] { NpyFile file(folder / "a.npy"); });
    EXPECT_NE(found.find(c.expected), std::string::npos) << c.shape << ": " << found;
    EXPECT_NE(found.find("a.npy"), std::string::npos) << found;
  }
  writeNpy(folder / "good.npy", "<f4", "(2, 3)", data.data(), 24);
  std::string good = readFile(folder / "good.npy");
  // Every truncation and every flipped byte of the header: refused or read, no crash.
  for (size_t length = 0; length < good.size(); ++length) {
    writeFile(folder / "cut.npy", good.substr(0, length));
    EXPECT_NE(failure([&] { NpyFile file(folder / "cut.npy"); }), "") << length;
  }
  for (size_t at = 0; at < 128; ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x55);
    writeFile(folder / "flip.npy", bad);
    failure([&] { NpyFile file(folder / "flip.npy"); });
  }
  EXPECT_NE(failure([&] { NpyFile file(folder.path); }).find("not a regular file"), std::string::npos);
}

TEST(Batches, EveryRankAndSlotGetsItsPart) {
  Folder folder;
  std::vector<float> data;
  for (int i = 0; i < 10 * 2; ++i)
    data.push_back(static_cast<float>(i));
  writeNpy(folder / "x.npy", "<f4", "(10, 2)", data.data(), 80);
  InputsOnly program(4, /*ranks=*/2, /*microbatches=*/2);
  program.input("x", DTCC_F32, {2}, 2);
  Batches batches(program.image(), {{folder.path}, "", {}});
  EXPECT_EQ(batches.stepsPerEpoch(), 2);
  // Example e of the batch: slot e / 2, rank e % 2.
  EXPECT_EQ(program.values<float>(batches, 0, 0, 0, 0), (std::vector<float>{0, 1}));
  EXPECT_EQ(program.values<float>(batches, 0, 1, 0, 0), (std::vector<float>{2, 3}));
  EXPECT_EQ(program.values<float>(batches, 0, 0, 1, 0), (std::vector<float>{4, 5}));
  EXPECT_EQ(program.values<float>(batches, 0, 1, 1, 4), (std::vector<float>{14, 15}));
  // The third step starts again: examples 8 and 9 make no full batch.
  EXPECT_EQ(program.values<float>(batches, 0, 0, 0, 8), (std::vector<float>{0, 1}));
}

TEST(Batches, PaddingIsZeroAgain) {
  Folder folder;
  std::vector<float> data{1, 2, 3, 4, 5, 6};
  writeNpy(folder / "x.npy", "<f4", "(2, 3)", data.data(), 24);
  InputsOnly program(2);
  dtcc_input &input = program.input("x", DTCC_F32, {4});
  input.dims[1] = dimOf(3, 4);
  Batches batches(program.image(), {{folder.path}, "", {}});
  EXPECT_EQ(program.values<float>(batches, 0, 0, 0, 0), (std::vector<float>{1, 2, 3, 0, 4, 5, 6, 0}));
}

TEST(Batches, ConvertsWhatFitsExactly) {
  Folder folder;
  auto convert = [&](const char *descr, dtcc_dtype type, const auto &data) {
    using Element = typename std::decay_t<decltype(data)>::value_type;
    std::string shape = "(" + std::to_string(data.size()) + ",)";
    writeNpy(folder / "x.npy", descr, shape, data.data(), data.size() * sizeof(Element));
    InputsOnly program(static_cast<int64_t>(data.size()));
    program.input("x", type, {});
    return failure([&] {
      Batches batches(program.image(), {{folder.path}, "", {}});
      program.values<char>(batches, 0, 0, 0, 0);
    });
  };
  EXPECT_EQ(convert("<i8", DTCC_I32, std::vector<int64_t>{1, -5}), "");
  EXPECT_NE(convert("<i8", DTCC_I32, std::vector<int64_t>{1, int64_t(1) << 40}).find("example 1"), std::string::npos);
  EXPECT_EQ(convert("<f8", DTCC_F32, std::vector<double>{0.5, -2}), "");
  EXPECT_NE(convert("<f8", DTCC_F32, std::vector<double>{0.1}).find("exact as f32"), std::string::npos);
  EXPECT_EQ(convert("|u1", DTCC_F32, std::vector<uint8_t>{0, 255}), "");
  EXPECT_EQ(convert("|u1", DTCC_I64, std::vector<uint8_t>{0, 255}), "");
  EXPECT_EQ(convert("|b1", DTCC_BOOL, std::vector<uint8_t>{0, 1}), "");
  EXPECT_NE(convert("<f4", DTCC_I64, std::vector<float>{1}).find("must be i64, got: f32"), std::string::npos);
}

TEST(Batches, ChecksBoundsAndNamesTheCulprit) {
  Folder folder;
  std::vector<int64_t> labels{0, 1, -100, 2, 5, 1};
  writeNpy(folder / "y.npy", "<i8", "(3, 2)", labels.data(), 48);
  auto run = [&](int64_t upper, int64_t ignore) {
    InputsOnly program(3);
    dtcc_input &input = program.input("y", DTCC_I64, {2});
    input.lower = 0;
    input.upper = upper;
    input.ignore = ignore;
    return failure([&] {
      Batches batches(program.image(), {{folder.path}, "", {}});
      program.values<int64_t>(batches, 0, 0, 0, 0);
    });
  };
  EXPECT_EQ(run(6, -100), "");
  std::string high = run(5, -100), ignored = run(6, 0);
  EXPECT_NE(high.find("y.npy: input 'y', example 2, element 0: the value must be from 0 to 4, got: 5"),
            std::string::npos)
      << high;
  EXPECT_NE(ignored.find("example 1, element 0"), std::string::npos) << ignored;
}

TEST(Batches, RefusesWrongShapesAndCounts) {
  Folder folder;
  std::vector<float> data(24);
  writeNpy(folder / "x.npy", "<f4", "(6, 4)", data.data(), 96);
  writeNpy(folder / "z.npy", "<f4", "(3, 4)", data.data(), 48);
  InputsOnly wrong(2), few(8), uneven(2);
  wrong.input("x", DTCC_F32, {3});
  few.input("x", DTCC_F32, {4});
  uneven.input("x", DTCC_F32, {4});
  uneven.input("z", DTCC_F32, {4});
  auto open = [&](InputsOnly &program) { return failure([&] { Batches(program.image(), {{folder.path}, "", {}}); }); };
  EXPECT_NE(open(wrong).find("must have the shape [examples, 3], got: [examples, 4]"), std::string::npos);
  EXPECT_NE(open(few).find("a batch needs 8 examples, got: 6"), std::string::npos);
  EXPECT_NE(open(uneven).find("as many examples"), std::string::npos);
}

/// A stream 0, 1, 2, ... in each format; rows of 4 with labels shifted by 1.
TEST(Tokens, EveryFormatGivesTheSameRows) {
  Folder folder;
  std::vector<uint16_t> narrow;
  std::vector<uint32_t> wide;
  std::vector<int64_t> whole;
  for (uint16_t i = 0; i < 18; ++i) {
    narrow.push_back(i);
    wide.push_back(i);
    whole.push_back(i);
  }
  auto bytes = [](const auto &data) {
    return std::string(reinterpret_cast<const char *>(data.data()), data.size() * sizeof(data[0]));
  };
  auto llmc = [&](int32_t magic, int32_t version, const std::string &body) {
    std::vector<int32_t> header(256);
    header[0] = magic;
    header[1] = version;
    header[2] = 18;
    return bytes(header) + body;
  };
  writeFile(folder / "raw", bytes(narrow));
  writeFile(folder / "raw32", bytes(wide));
  writeFile(folder / "gpt2.bin", llmc(20240520, 1, bytes(narrow)));
  writeFile(folder / "llama3.bin", llmc(20240801, 7, bytes(wide)));
  writeNpy(folder / "t.npy", "<i8", "(18,)", whole.data(), 144);
  for (const char *name : {"raw:u16", "raw32:u32", "gpt2.bin", "llama3.bin", "t.npy"}) {
    SCOPED_TRACE(name);
    InputsOnly program(2);
    program.b.header.training.label_shift = 1;
    program.input("ids", DTCC_I64, {4}, 1, DTCC_INPUT_TOKENS);
    program.input("labels", DTCC_I64, {4}, 1, DTCC_INPUT_LABELS);
    Batches batches(program.image(), {{}, folder / name, {}});
    EXPECT_EQ(batches.stepsPerEpoch(), 2); // 17 labelled tokens: 4 rows
    EXPECT_EQ(program.values<int64_t>(batches, 0, 0, 0, 2), (std::vector<int64_t>{8, 9, 10, 11, 12, 13, 14, 15}));
    EXPECT_EQ(program.values<int64_t>(batches, 1, 0, 0, 2), (std::vector<int64_t>{9, 10, 11, 12, 13, 14, 15, 16}));
  }
}

TEST(Tokens, RefusesDamagedFiles) {
  Folder folder;
  std::vector<int32_t> header(256);
  header[0] = 20240520;
  header[1] = 1;
  header[2] = 1000;
  writeFile(folder / "short.bin", std::string(reinterpret_cast<const char *>(header.data()), 1024) + "abcd");
  writeFile(folder / "magic.bin", std::string(2048, 'x'));
  writeFile(folder / "odd", "abc");
  std::vector<float> floats(4);
  writeNpy(folder / "f.npy", "<f4", "(4,)", floats.data(), 16);
  auto open = [&](const char *name) { return failure([&] { TokenStream stream(folder / name); }); };
  EXPECT_NE(open("short.bin").find("counts 1000 tokens, for which the file must have 3024 bytes, got: 1028"),
            std::string::npos);
  EXPECT_NE(open("magic.bin").find("not a token file of a known format"), std::string::npos);
  EXPECT_NE(open("odd:u16").find("multiple of 2"), std::string::npos);
  EXPECT_NE(open("f.npy").find("tokens must be integers"), std::string::npos);
  InputsOnly program(2);
  program.input("x", DTCC_F32, {4});
  writeFile(folder / "t", std::string(64, '\0'));
  EXPECT_NE(failure([&] { Batches(program.image(), {{}, folder / "t:u16", {}}); }).find("does not fill the input 'x'"),
            std::string::npos);
}

TEST(Permutation, IsOneAndDependsOnSeedAndEpoch) {
  for (int64_t count : {1, 2, 3, 7, 64, 1000}) {
    std::set<int64_t> seen;
    Permutation order(count, 9, 0);
    for (int64_t i = 0; i < count; ++i) {
      int64_t at = order(i);
      EXPECT_GE(at, 0);
      EXPECT_LT(at, count);
      seen.insert(at);
    }
    EXPECT_EQ(static_cast<int64_t>(seen.size()), count);
  }
  auto differ = [](const Permutation &a, const Permutation &b) {
    int count = 0;
    for (int64_t i = 0; i < 1000; ++i)
      count += a(i) != b(i);
    return count;
  };
  EXPECT_GT(differ(Permutation(1000, 9, 0), Permutation(1000, 9, 1)), 900);
  EXPECT_GT(differ(Permutation(1000, 9, 0), Permutation(1000, 10, 0)), 900);
}

} // namespace
} // namespace dtcc::rt::test
