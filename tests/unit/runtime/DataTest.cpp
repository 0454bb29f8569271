//===- DataTest.cpp - Data files and batches --------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Npy.h"
#include "runtime/data/Permutation.h"
#include "runtime/data/ReadAhead.h"
#include "tests/unit/runtime/DataProgram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <set>

namespace dtcc::rt::test {
namespace {

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
  // The third step starts again: samples 8 and 9 make no full batch.
  EXPECT_EQ(program.values<float>(batches, 0, 0, 0, 8), (std::vector<float>{0, 1}));
}

TEST(ReadAhead, CopiesWhatAStepWouldCopy) {
  Folder folder;
  std::vector<float> data(64 * 3);
  std::iota(data.begin(), data.end(), 0.0f);
  std::vector<int32_t> classes(64, 1);
  classes[41] = 9;
  writeNpy(folder / "x.npy", "<f4", "(64, 3)", data.data(), data.size() * 4);
  writeNpy(folder / "y.npy", "<i4", "(64,)", classes.data(), classes.size() * 4);
  InputsOnly program(8, /*ranks=*/2, /*microbatches=*/2);
  dtcc_input &padded = program.input("x", DTCC_F32, {4}, 2);
  padded.dims[1] = dimOf(3, 4);
  dtcc_input &labels = program.input("y", DTCC_I64, {}, 2);
  labels.lower = 0;
  labels.upper = 2;
  Batches batches(program.image(), {{folder.path}, "", {}});
  // They live longer than the thread that copies.
  std::vector<std::byte> rooms[2];
  ReadAhead ahead(batches, program.image(), /*rank=*/1, /*threads=*/1);
  ASSERT_EQ(ahead.layout().pieces.size(), 2u);
  // Bytes that padding must overwrite.
  for (auto &room : rooms)
    room.assign(ahead.layout().bytes, std::byte{0xff});
  auto at = [&](const std::byte *room, size_t piece) { return room + ahead.layout().pieces[piece].offset; };
  EXPECT_EQ(ahead.take(0, 0), nullptr);
  size_t next = 0;
  for (int64_t first = 0; first < 40; first += 8) {
    ahead.begin(first + 8);
    for (int64_t slot = 0; slot < 2; ++slot, next ^= 1) {
      ahead.fill(slot, first, rooms[next].data());
      EXPECT_EQ(ahead.take(slot, first + 8), nullptr);
      const std::byte *room = ahead.take(slot, first);
      ASSERT_EQ(room, rooms[next].data());
      EXPECT_EQ(ahead.take(slot, first), nullptr) << "a room is taken once";
      std::vector<float> x = program.values<float>(batches, 0, 1, slot, first);
      std::vector<int64_t> y = program.values<int64_t>(batches, 1, 1, slot, first);
      EXPECT_EQ(std::memcmp(at(room, 0), x.data(), x.size() * sizeof x[0]), 0) << first << " " << slot;
      EXPECT_EQ(std::memcmp(at(room, 1), y.data(), y.size() * sizeof y[0]), 0) << first << " " << slot;
    }
  }
  // Sample 41 is rank 0's in this step: another rank's bad label is not met. The rank that has it copies by itself.
  ReadAhead other(batches, program.image(), /*rank=*/0, /*threads=*/1);
  other.fill(0, 40, rooms[0].data());
  EXPECT_EQ(other.take(0, 40), nullptr);
  EXPECT_NE(failure([&] {
              program.values<float>(batches, 0, 0, 0, 40);
            }).find("sample 41, element 0: the value must be from 0 to 1, got: 9"),
            std::string::npos);
  ahead.fill(0, 40, rooms[0].data());
  EXPECT_NE(ahead.take(0, 40), nullptr);
  // A room is sent on before it can be taken. A room that cannot be sent counts as not copied.
  std::vector<const std::byte *> sent;
  bool isSent = true;
  ReadAhead sender(batches, program.image(), /*rank=*/1, /*threads=*/1, [&](const std::byte *room) {
    sent.push_back(room);
    return isSent;
  });
  sender.fill(0, 40, rooms[0].data());
  EXPECT_EQ(sender.take(0, 40), rooms[0].data());
  EXPECT_EQ(sent, std::vector<const std::byte *>{rooms[0].data()});
  isSent = false;
  sender.fill(1, 40, rooms[1].data());
  EXPECT_EQ(sender.take(1, 40), nullptr);
  EXPECT_EQ(sent.size(), 2u);
  // What nobody takes gives way, and the end waits for what is under way.
  ahead.fill(1, 40, rooms[0].data());
  ahead.fill(0, 48, rooms[1].data());
  EXPECT_EQ(ahead.take(0, 48), rooms[1].data());
  ahead.fill(1, 48, rooms[0].data());
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

TEST(Batches, ConvertsWhatFits) {
  Folder folder;
  std::vector<std::string> notes;
  auto convert = [&](const char *descr, dtcc_dtype type, const auto &data) {
    using Element = typename std::decay_t<decltype(data)>::value_type;
    std::string shape = "(" + std::to_string(data.size()) + ",)";
    writeNpy(folder / "x.npy", descr, shape, data.data(), data.size() * sizeof(Element));
    InputsOnly program(static_cast<int64_t>(data.size()));
    program.input("x", type, {});
    return failure([&] {
      Batches batches(program.image(), {{folder.path}, "", {}});
      notes = batches.notes();
      program.values<char>(batches, 0, 0, 0, 0);
    });
  };
  EXPECT_EQ(convert("<i8", DTCC_I32, std::vector<int64_t>{1, -5}), "");
  EXPECT_NE(convert("<i8", DTCC_I32, std::vector<int64_t>{1, int64_t(1) << 40}).find("sample 1"), std::string::npos);
  EXPECT_NE(convert("<i8", DTCC_F32, std::vector<int64_t>{16777217}).find("exact as f32"), std::string::npos);
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(convert("<f8", DTCC_F32, std::vector<double>{0.1, -2, HUGE_VAL}), "");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("x.npy holds f64, which is rounded to f32, the type of the input 'x'"), std::string::npos);
  std::string outside = convert("<f8", DTCC_F32, std::vector<double>{0.5, 1e39});
  EXPECT_NE(outside.find("sample 1"), std::string::npos) << outside;
  EXPECT_NE(outside.find("the value must be within the range of f32, got: 1e+39"), std::string::npos) << outside;
  EXPECT_EQ(convert("<f4", DTCC_F32, std::vector<float>{0.1f}), "");
  EXPECT_TRUE(notes.empty());
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
  EXPECT_NE(high.find("y.npy: input 'y', sample 2, element 0: the value must be from 0 to 4, got: 5"),
            std::string::npos)
      << high;
  EXPECT_NE(ignored.find("sample 1, element 0"), std::string::npos) << ignored;
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
  EXPECT_NE(open(wrong).find("must have the shape [samples, 3], got: [samples, 4]"), std::string::npos);
  EXPECT_NE(open(few).find("a batch needs 8 samples, got: 6"), std::string::npos);
  EXPECT_NE(open(uneven).find("as many samples"), std::string::npos);
}

/// A file may have joined dimensions, or such of size 1, but no other order of cells.
TEST(Batches, JoinsDimensionsOfASample) {
  Folder folder;
  std::vector<float> data(24);
  auto open = [&](const char *shape) {
    writeNpy(folder / "x.npy", "<f4", shape, data.data(), 96);
    InputsOnly program(2);
    program.input("x", DTCC_F32, {3, 4});
    return failure([&] { Batches(program.image(), {{folder.path}, "", {}}); });
  };
  for (const char *shape : {"(2, 12)", "(2, 3, 2, 2)", "(2, 1, 3, 4)", "(2, 3, 1, 2, 2)", "(2, 12, 1, 1)"})
    EXPECT_EQ(open(shape), "") << shape;
  for (const char *shape : {"(2, 4, 3, 1)", "(2, 1, 4, 3)", "(2, 2, 6)", "(2, 2, 3, 2)", "(2, 2, 1, 6)", "(1, 24)",
                            // of the same rank, and more cells
                            "(2, 1, 12)", "(1, 3, 4, 2)"})
    EXPECT_NE(open(shape).find("must have the shape [samples, 3, 4], got: "), std::string::npos) << shape;
}

/// A file is evaluated and trained on only if all inputs of the samples are.
TEST(Batches, FindsTheFileThatBothRead) {
  Folder folder, images;
  std::vector<float> data(8);
  for (const std::string &file : {folder / "x.npy", folder / "y.npy", images / "x.npy"})
    writeNpy(file, "<f4", "(8,)", data.data(), 32);
  InputsOnly program(2);
  program.input("x", DTCC_F32, {});
  program.input("y", DTCC_F32, {});
  auto open = [&](std::vector<std::string> files, double heldOut = 0) {
    DataOptions options{files, "", {}};
    options.heldOut = heldOut;
    return Batches(program.image(), options);
  };
  const std::string x = "x=" + folder / "x.npy", y = "y=" + folder / "y.npy";
  const Batches trained = open({x, y});
  EXPECT_EQ(trained.fileSharedWith(open({x, y})), folder / "x.npy");
  EXPECT_EQ(trained.fileSharedWith(open({"x=" + images / "x.npy", y})), "");
  EXPECT_EQ(trained.fileSharedWith(open({x, y}, 0.5)), "");
  // The same file by another path.
  EXPECT_EQ(trained.fileSharedWith(open({"x=" + folder / "./x.npy", y})), folder / "./x.npy");
}

TEST(Batches, HoldsOutExactShares) {
  Folder folder;
  std::vector<float> data(100);
  writeNpy(folder / "x.npy", "<f4", "(100,)", data.data(), 400);
  InputsOnly program(1);
  program.input("x", DTCC_F32, {});
  for (auto [part, kept] : {std::pair(0.07, 93), {0.1, 90}, {0.29, 71}, {0.071, 92}}) {
    DataOptions options{{folder.path}, "", {}};
    options.heldOut = part;
    EXPECT_EQ(Batches(program.image(), options).sampleCount(), kept) << part;
  }
}

/// Two nodes and three edges a step: each file goes on by its own rows, and whole steps are shuffled.
TEST(Batches, InputsMayHaveDifferentNumbersOfRows) {
  Folder folder;
  std::vector<int64_t> numbers(12);
  std::iota(numbers.begin(), numbers.end(), 0);
  writeNpy(folder / "nodes.npy", "<i8", "(9,)", numbers.data(), 72);
  writeNpy(folder / "edges.npy", "<i8", "(12,)", numbers.data(), 96);
  InputsOnly program(2);
  program.input("nodes", DTCC_I64, {});
  dtcc_input &edges = program.input("edges", DTCC_I64, {});
  edges.dims[0] = dimOf(3, 3);
  edges.view = program.b.view(program.arena, DTCC_I64, {3}, 1);
  Batches batches(program.image(), {{folder.path}, "", {}});
  EXPECT_EQ(batches.stepsPerEpoch(), 4);
  EXPECT_EQ(program.values<int64_t>(batches, 0, 0, 0, 4), (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(program.values<int64_t>(batches, 1, 0, 0, 4), (std::vector<int64_t>{6, 7, 8}));
  // The fifth step is the first again, although a ninth node is left.
  EXPECT_EQ(program.values<int64_t>(batches, 0, 0, 0, 8), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(program.values<int64_t>(batches, 1, 0, 0, 8), (std::vector<int64_t>{0, 1, 2}));

  Batches shuffled(program.image(), {{folder.path}, "", 7});
  std::set<int64_t> seen;
  for (int64_t step = 0; step < 4; ++step) {
    std::vector<int64_t> pair = program.values<int64_t>(shuffled, 0, 0, 0, 2 * step);
    std::vector<int64_t> triple = program.values<int64_t>(shuffled, 1, 0, 0, 2 * step);
    int64_t taken = pair[0] / 2;
    EXPECT_EQ(pair, (std::vector<int64_t>{2 * taken, 2 * taken + 1}));
    EXPECT_EQ(triple, (std::vector<int64_t>{3 * taken, 3 * taken + 1, 3 * taken + 2}));
    seen.insert(taken);
  }
  EXPECT_EQ(seen.size(), 4u);

  std::string behind = failure([&] { program.values<int64_t>(batches, 0, 0, 0, 3); });
  EXPECT_NE(behind.find("a run cannot go on behind sample 3"), std::string::npos) << behind;
  writeNpy(folder / "edges.npy", "<i8", "(11,)", numbers.data(), 88);
  std::string few = failure([&] { Batches(program.image(), {{folder.path}, "", {}}); });
  EXPECT_NE(few.find("edges.npy has 11, 3 a step"), std::string::npos) << few;
}

/// A folder of arrays is one, in the order of their names.
TEST(Data, TakesShardsOfArrays) {
  Folder folder;
  std::filesystem::create_directory(folder / "x");
  std::vector<float> cells(12);
  std::iota(cells.begin(), cells.end(), 0.0f);
  writeNpy(folder / "x/b.npy", "<f4", "(1, 2)", cells.data() + 6, 8);
  writeNpy(folder / "x/a.npy", "<f4", "(3, 2)", cells.data(), 24);
  for (const std::string &data : {folder.path, "x=" + folder / "x", "x=" + folder / "x/*.npy"}) {
    InputsOnly program(2);
    program.input("x", DTCC_F32, {2});
    Batches batches(program.image(), {{data}, "", {}});
    EXPECT_EQ(batches.stepsPerEpoch(), 2);
    EXPECT_EQ(program.values<float>(batches, 0, 0, 0, 2), (std::vector<float>{4, 5, 6, 7}));
  }
  InputsOnly program(2);
  program.input("x", DTCC_F32, {2});
  auto open = [&](const std::string &data) { return failure([&] { Batches(program.image(), {{data}, "", {}}); }); };
  EXPECT_NE(open("x=" + folder / "*.npy").find("no file has such a name"), std::string::npos);
  writeNpy(folder / "x/c.npy", "<f4", "(1, 3)", cells.data(), 12);
  EXPECT_NE(open(folder.path).find("x/c.npy: the input 'x' must have the shape [samples, 2], got: [samples, 3]"),
            std::string::npos);
}

TEST(SampleOrder, SharesOfAPeriodAreExact) {
  struct Case {
    std::vector<double> weights;
    int64_t period;
    std::vector<int64_t> shares;
  };
  for (const Case &c : {Case{{0.7, 0.3}, 10, {7, 3}}, Case{{1, 1, 1}, 10000, {3334, 3333, 3333}},
                        Case{{0.1, 0.2, 0.7}, 10, {1, 2, 7}}, Case{{5}, 1, {1}}}) {
    std::vector<SampleOrder::Part> parts;
    for (double weight : c.weights)
      parts.push_back({static_cast<int64_t>(parts.size()) * 100000, 100000, weight});
    SampleOrder order(parts, 1, {});
    std::vector<int64_t> seen(c.weights.size());
    for (int64_t i = 0; i < c.period; ++i)
      ++seen[static_cast<size_t>(order(i) / 100000)];
    EXPECT_EQ(seen, c.shares);
    // The next period goes on where this one ended.
    EXPECT_EQ(order(c.period) % 100000, c.shares[0] > 0 ? seen[static_cast<size_t>(order(c.period) / 100000)] : 0);
  }
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
