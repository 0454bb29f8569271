//===- DocumentsTest.cpp - Documents of a corpus of tokens ---- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/runtime/DataProgram.h"
#include <tuple>

namespace dtcc::rt::test {
namespace {

/// Documents of `lengths` tokens each, the last of which is 9; the others count from 10 on.
std::vector<uint16_t> documentsOf(const std::vector<int> &lengths) {
  std::vector<uint16_t> ids;
  for (int length : lengths) {
    for (int i = 1; i < length; ++i)
      ids.push_back(static_cast<uint16_t>(10 + ids.size()));
    ids.push_back(9);
  }
  return ids;
}

TEST(Documents, WindowsStartAtThem) {
  Folder folder;
  std::vector<uint16_t> ids = documentsOf({3, 1, 6, 5}); // tokens 0 to 14
  writeFile(folder / "a.bin", std::string(reinterpret_cast<const char *>(ids.data()), ids.size() * 2));
  const int64_t none = -100;
  using Cells = std::vector<int64_t>;
  auto read = [&](DocumentOptions documents) {
    TokenModel program(1);
    program.b.inputs[1].ignore = none;
    Batches batches(program.image(), {{}, folder / "a.bin", {}, 0, false, {}, documents});
    std::vector<std::pair<Cells, Cells>> all;
    for (int64_t i = 0; i < batches.stepsPerEpoch(); ++i)
      all.push_back({program.values<int64_t>(batches, 0, 0, 0, i), program.values<int64_t>(batches, 1, 0, 0, i)});
    return all;
  };
  // A document of one token has no label; the end of one is a label, and what is behind it is none.
  EXPECT_EQ(read({9, {}, true}), (std::vector<std::pair<Cells, Cells>>{
                                     {{10, 11, 9, 9}, {11, 9, none, none}},
                                     {{14, 15, 16, 17}, {15, 16, 17, 18}},
                                     {{18, 9, 9, 9}, {9, none, none, none}},
                                     {{20, 21, 22, 23}, {21, 22, 23, 9}},
                                 }));
  // The first token of a document is the last label of the one before.
  EXPECT_EQ(read({{}, 9, true}), (std::vector<std::pair<Cells, Cells>>{
                                     {{10, 11, 9, 9}, {11, 9, none, none}},
                                     {{9, 9, 9, 9}, {9, none, none, none}},
                                     {{9, 14, 15, 16}, {14, 15, 16, 17}},
                                     {{17, 18, 9, 9}, {18, 9, none, none}},
                                     {{9, 20, 21, 22}, {20, 21, 22, 23}},
                                     {{23, 9, 9, 9}, {9, none, none, none}},
                                 }));
  auto refused = [&](DocumentOptions documents, bool counts) {
    return failure([&] {
      TokenModel program(1);
      program.b.inputs[1].ignore = counts ? 0 : none;
      Batches(program.image(), {{}, folder / "a.bin", {}, 0, false, {}, documents});
    });
  };
  EXPECT_NE(refused({5, {}, true}, false).find("no token of --tokens="), std::string::npos);
  EXPECT_NE(refused({9, {}, true}, true).find("counts every label"), std::string::npos);
  EXPECT_NE(refused({9, {}, false}, false).find("--eos changes nothing in this program"), std::string::npos);
}

TEST(Documents, AreNumberedInAWindow) {
  Folder folder;
  std::vector<uint16_t> ids = documentsOf({3, 1, 6, 4}); // windows of 4: 10 11 9 9, 14 15 16 17, 18 9 20 21
  writeFile(folder / "a.bin", std::string(reinterpret_cast<const char *>(ids.data()), ids.size() * 2));
  std::vector<int64_t> whole(ids.begin(), ids.begin() + 12);
  writeNpy(folder / "ids.npy", "<i8", "(3, 4)", whole.data(), 96);
  auto read = [&](const DataOptions &options) {
    InputsOnly program(3);
    program.input("ids", DTCC_I64, {4}, 1, DTCC_INPUT_TOKENS);
    program.input("documents", DTCC_I64, {4}, 1, DTCC_INPUT_DOCUMENTS);
    program.input("positions", DTCC_I64, {4}, 1, DTCC_INPUT_POSITIONS);
    Batches batches(program.image(), options);
    return std::pair(program.values<int64_t>(batches, 1, 0, 0, 0), program.values<int64_t>(batches, 2, 0, 0, 0));
  };
  for (const DataOptions &options : {DataOptions{{}, folder / "a.bin", {}}, DataOptions{{folder.path}, "", {}}}) {
    DataOptions marked = options;
    marked.documents.eos = 9;
    auto [documents, positions] = read(marked);
    EXPECT_EQ(documents, (std::vector<int64_t>{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1}));
    EXPECT_EQ(positions, (std::vector<int64_t>{0, 1, 2, 0, 0, 1, 2, 3, 0, 1, 0, 1}));
    marked.documents = {{}, 9, false};
    std::tie(documents, positions) = read(marked);
    EXPECT_EQ(documents, (std::vector<int64_t>{0, 0, 1, 2, 0, 0, 0, 0, 0, 1, 1, 1}));
    EXPECT_EQ(positions, (std::vector<int64_t>{0, 1, 0, 0, 0, 1, 2, 3, 0, 0, 1, 2}));
    EXPECT_NE(failure([&] { read(options); }).find("give --eos=ID"), std::string::npos);
  }
}

/// Positions of a model's own need no mark: without it a window is one document.
TEST(Documents, PositionsCountWithoutThem) {
  Folder folder;
  writeShard(folder / "a.bin", 10, 8);
  InputsOnly program(2);
  program.input("ids", DTCC_I64, {4}, 1, DTCC_INPUT_TOKENS);
  program.input("position_ids", DTCC_I64, {4}, 1, DTCC_INPUT_POSITIONS);
  Batches batches(program.image(), {{}, folder / "a.bin", {}});
  EXPECT_EQ(program.values<int64_t>(batches, 1, 0, 0, 0), (std::vector<int64_t>{0, 1, 2, 3, 0, 1, 2, 3}));
  // With --data they are given.
  std::vector<int64_t> ids(8);
  writeNpy(folder / "ids.npy", "<i8", "(2, 4)", ids.data(), 64);
  EXPECT_NE(
      failure([&] { Batches(program.image(), {{folder.path}, "", {}}); }).find("no file for the input 'position_ids'"),
      std::string::npos);
}

} // namespace
} // namespace dtcc::rt::test
