//===- TokensTest.cpp - Files of tokens ----------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/TokenCorpus.h"
#include "tests/unit/runtime/DataProgram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <set>

namespace dtcc::rt::test {
namespace {

/// The header of a token file of llm.c.
std::string llmcHeader(int32_t magic, int32_t version, int32_t tokens) {
  std::vector<int32_t> header(256);
  header[0] = magic, header[1] = version, header[2] = tokens;
  return std::string(reinterpret_cast<const char *>(header.data()), 1024);
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
  std::vector<uint8_t> small(narrow.begin(), narrow.end());
  writeFile(folder / "raw", bytes(narrow));
  writeFile(folder / "raw8", bytes(small));
  writeFile(folder / "nanogpt.bin", bytes(narrow));
  writeFile(folder / "raw32", bytes(wide));
  writeFile(folder / "gpt2.bin", llmcHeader(20240520, 1, 18) + bytes(narrow));
  writeFile(folder / "llama3.bin", llmcHeader(20240801, 7, 18) + bytes(wide));
  writeNpy(folder / "t.npy", "<i8", "(18,)", whole.data(), 144);
  for (const char *name : {"raw8:u8", "raw:u16", "raw32:u32", "nanogpt.bin", "gpt2.bin", "llama3.bin", "t.npy"}) {
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
  writeFile(folder / "short.bin", llmcHeader(20240520, 1, 1000) + "abcd");
  writeFile(folder / "magic", std::string(2048, 'x'));
  writeFile(folder / "version.bin", llmcHeader(20240520, 2, 1000) + "abcd");
  writeFile(folder / "odd", "abc");
  std::vector<float> floats(4);
  writeNpy(folder / "f.npy", "<f4", "(4,)", floats.data(), 16);
  auto open = [&](const char *name) { return failure([&] { TokenCorpus corpus("--tokens", folder / name); }); };
  EXPECT_NE(open("short.bin").find("counts 1000 tokens, for which the file must have 3024 bytes, got: 1028"),
            std::string::npos);
  EXPECT_NE(open("magic").find("not a token file of a known format"), std::string::npos);
  EXPECT_NE(open("version.bin").find("the version of its header must be 1, got: 2"), std::string::npos);
  EXPECT_NE(open("odd:u16").find("multiple of 2"), std::string::npos);
  EXPECT_NE(open("f.npy").find("tokens must be integers"), std::string::npos);
  writeNpy(folder / "b.npy", "|b1", "(4,)", floats.data(), 4);
  EXPECT_NE(open("b.npy").find("tokens must be integers, got: bool"), std::string::npos) << open("b.npy");
  InputsOnly program(2);
  program.input("x", DTCC_F32, {4});
  writeFile(folder / "t", std::string(64, '\0'));
  EXPECT_NE(failure([&] { Batches(program.image(), {{}, folder / "t:u16", {}}); }).find("does not fill the input 'x'"),
            std::string::npos);
}

TEST(Tokens, AWindowLiesInOneShard) {
  Folder folder;
  writeShard(folder / "b.bin", 100, 10); // two windows and their labels
  writeShard(folder / "a.bin", 0, 13);   // three
  writeShard(folder / "c.bin", 200, 4);  // none: the last label is missing
  for (const std::string &spec : {folder.path, folder / "*.bin", folder.path + ":u16",
                                  folder / "a.bin" + "," + folder / "b.bin" + "," + folder / "c.bin:u16"}) {
    SCOPED_TRACE(spec);
    TokenModel program(1);
    Batches batches(program.image(), {{}, spec, {}});
    EXPECT_EQ(batches.stepsPerEpoch(), 5);
    EXPECT_EQ(program.firstTokens(batches, 0, 6), (std::vector<int64_t>{0, 4, 8, 100, 104, 0}));
    EXPECT_EQ(batches.notes().back(),
              "--tokens: 1 of 3 files are shorter than a window of 4 tokens and are left out, as " + folder / "c.bin");
  }
  // All shards are shuffled as one.
  TokenModel program(1);
  Batches shuffled(program.image(), {{}, folder / "*.bin", 3});
  std::vector<int64_t> seen = program.firstTokens(shuffled, 0, 5), next = program.firstTokens(shuffled, 5, 5);
  EXPECT_NE(seen, next);
  EXPECT_EQ(std::set<int64_t>(seen.begin(), seen.end()), (std::set<int64_t>{0, 4, 8, 100, 104}));
}

/// Parts of 40 and of 10 windows by 1 to 4: the small one is seen more than once.
TEST(Tokens, MixturesKeepTheirWeights) {
  Folder folder;
  writeShard(folder / "a.bin", 0, 161);
  writeShard(folder / "b.bin", 500, 41);
  std::string spec = folder / "a.bin" + "@0.2," + folder / "b*@0.8";
  for (std::optional<uint64_t> shuffle : {std::optional<uint64_t>(), std::optional<uint64_t>(7)}) {
    TokenModel program;
    Batches batches(program.image(), {{}, spec, shuffle});
    std::vector<int64_t> seen = program.firstTokens(batches, 0, 25);
    std::map<int64_t, int> times;
    for (size_t i = 0; i < seen.size(); ++i) {
      ++times[seen[i]];
      // The first part gives one of every five.
      if (i % 5 == 0)
        EXPECT_EQ(std::count_if(seen.begin() + i, seen.begin() + i + 5, [](int64_t id) { return id < 500; }), 1);
    }
    EXPECT_EQ(times.size(), 20u);
    for (auto [id, count] : times)
      EXPECT_EQ(count, id < 500 ? 1 : 4) << id;
    // Any place is found without those before it.
    EXPECT_EQ(program.firstTokens(batches, 20, 5), std::vector<int64_t>(seen.begin() + 40, seen.end()));
  }
}

TEST(Tokens, RefusesWrongCorpora) {
  Folder folder;
  writeFile(folder / "headed.bin", llmcHeader(20240520, 1, 2) + "abcd");
  writeShard(folder / "raw.bin", 990, 20);
  writeShard(folder / "short.bin", 0, 3);
  std::string raw = folder / "raw.bin", path = folder.path;
  auto open = [&](const std::string &spec) {
    return failure([&] {
      TokenModel program;
      Batches batches(program.image(), {{}, spec, {}});
      program.firstTokens(batches, 0, 2);
    });
  };
  const std::pair<std::string, std::string> cases[] = {
      {folder / "no*.bin", "no file has such a name"},
      {folder / "none.bin", "cannot read"},
      {raw + ",," + raw, "a list of files has no empty name"},
      {raw + "," + raw, "a file must be named once, got twice"},
      {raw + "@half", "the weight of a part must be a number above 0, got: half"},
      {raw + "@-1", "the weight of a part must be a number above 0, got: -1"},
      {raw + "@nan", "the weight of a part must be a number above 0, got: nan"},
      {raw + "@0.5," + folder / "short.bin", "short.bin' has none"},
      {raw + "@0.5," + folder / "short.bin@0.5", "every part of a mixture needs tokens for a window, and part 2"},
      {raw + "@1," + folder / "headed.bin:u16@1e-9", "at least a ten-thousandth of the sum of all, got: 1e-09"},
      {folder / "*.bin", "raw.bin: the file has no header of llm.c, and " + path + "/headed.bin has one"},
      // The labels of the third window begin at token 9.
      {raw, "raw.bin: input 'labels', token 10: the value must be from 0 to 999, got: 1000"},
  };
  for (const auto &[spec, expected] : cases)
    EXPECT_NE(open(spec).find(expected), std::string::npos) << spec << ": " << open(spec);
  writeShard(folder / "train.bin", 0, 30);
  writeShard(folder / "val.bin", 0, 30);
  EXPECT_NE(open(path).find("files for training and for validation"), std::string::npos) << open(path);
  Folder empty;
  EXPECT_NE(open(empty.path).find("holds no .bin and no .npy file"), std::string::npos);
  // An '@' of a name that exists begins no weight.
  writeShard(folder / "a@1", 0, 41);
  EXPECT_EQ(open(folder / "a@1:u16"), "");
}

/// Another shard, another order or another weight is other data.
TEST(Tokens, AllShardsAreKnownAgain) {
  Folder folder;
  writeShard(folder / "a.bin", 0, 41);
  writeShard(folder / "b.bin", 100, 41);
  writeShard(folder / "c.bin", 200, 41);
  auto identity = [&](const std::string &spec) {
    TokenModel program;
    return Batches(program.image(), {{}, spec, {}}).identities().at(0);
  };
  std::string a = folder / "a.bin", b = folder / "b.bin";
  DataIdentity both = identity(a + "," + b);
  EXPECT_EQ(both.name, "a.bin .. b.bin (2 files)");
  EXPECT_EQ(both.bytes, 164u);
  EXPECT_EQ(both, identity(folder / "[ab].bin"));
  for (const std::string &other : {a, folder / "*.bin", b + "," + a, a + "," + folder / "c.bin", a + "@1," + b + "@1"})
    EXPECT_FALSE(both == identity(other)) << other;
  EXPECT_FALSE(identity(a + "@1," + b + "@2") == identity(a + "@1," + b + "@3"));
}

/// Bytes that are read as another type give other ids.
TEST(Tokens, TypesOfRawFilesAreKnownAgain) {
  Folder folder;
  writeShard(folder / "a.bin", 0, 60);
  auto identity = [&](const char *type) {
    TokenModel program(1);
    return Batches(program.image(), {{}, folder / "a.bin" + type, {}}).identities().at(0);
  };
  EXPECT_EQ(identity(""), identity(":u16"));
  EXPECT_FALSE(identity("") == identity(":u8"));
  EXPECT_FALSE(identity(":u32") == identity(":u8"));
}

/// Which of two inputs that look up tables are tokens, a program does not know.
TEST(Tokens, FillOneInput) {
  Folder folder;
  writeShard(folder / "a.bin", 0, 41);
  std::vector<int64_t> types(40);
  writeNpy(folder / "types.npy", "<i8", "(10, 4)", types.data(), 320);
  TokenModel program;
  program.input("types", DTCC_I64, {4}, 1, DTCC_INPUT_TOKENS);
  auto open = [&](std::vector<std::string> data) {
    return failure([&] { Batches(program.image(), {data, folder / "a.bin", {}}); });
  };
  EXPECT_EQ(open({}),
            "--tokens fills one input of token ids, and the model reads several, ids, types: give those that are "
            "no tokens by --data=NAME=FILE.npy, and the tokens by --tokens=FILE");
  EXPECT_EQ(open({"types=" + folder / "types.npy"}), "");
  Batches batches(program.image(), {{"types=" + folder / "types.npy"}, folder / "a.bin", {}});
  EXPECT_EQ(program.firstTokens(batches, 1, 1), (std::vector<int64_t>{8, 12}));
}

/// Whole steps of files with several rows a sample cannot be a mixture of samples.
TEST(Tokens, MixturesNeedARowForEachSample) {
  Folder folder;
  writeShard(folder / "a.bin", 0, 41);
  std::vector<int64_t> rows(15);
  writeNpy(folder / "edges.npy", "<i8", "(15,)", rows.data(), 120);
  TokenModel program;
  dtcc_input &edges = program.input("edges", DTCC_I64, {});
  edges.dims[0] = dimOf(3, 3);
  edges.view = program.b.view(program.arena, DTCC_I64, {3}, 1);
  auto open = [&](const char *weight) {
    return failure([&] { Batches(program.image(), {{folder.path}, folder / "a.bin" + weight, {}}); });
  };
  EXPECT_EQ(open(""), "");
  EXPECT_NE(
      open("@1").find("a mixture needs inputs that all have a row for each of the 2 samples of a step, and 'edges' "
                      "has 3 rows: leave the weights out"),
      std::string::npos)
      << open("@1");
}

} // namespace
} // namespace dtcc::rt::test
