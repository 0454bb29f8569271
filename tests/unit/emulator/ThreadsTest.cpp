//===- ThreadsTest.cpp - What threads of PTX do together, and what they may not
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/ptx/Error.h"
#include "tests/unit/emulator/PtxRun.h"
#include "gtest/gtest.h"
#include <bit>
#include <functional>

using namespace dtcc;
using test::kernelOf;

namespace {

std::vector<uint32_t> run(const std::string &body, unsigned threads, std::vector<uint32_t> in = {}, uint64_t seed = 0) {
  in.resize(std::max<size_t>(in.size(), 256));
  std::vector<uint32_t> out(256);
  test::runKernel(kernelOf(body), in.data(), in.size() * 4, out.data(), out.size() * 4, threads, seed);
  out.resize(threads);
  return out;
}

/// Runs `body` and returns the message of the error that stops it, or "". The error must be `fault` if one is given.
std::string problem(const std::string &body, unsigned threads, std::optional<emulator::Fault> fault = {}) {
  try {
    run(body, threads);
  } catch (const emulator::PtxError &error) {
    if (fault)
      EXPECT_EQ(int(error.fault), int(*fault));
    return error.what();
  }
  return "";
}

std::vector<uint32_t> each(unsigned threads, std::function<uint32_t(uint32_t)> value) {
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < threads; ++i)
    all.push_back(value(i));
  return all;
}

TEST(Threads, LoopsOfDifferentLengthsMeetAgain) {
  // The sum of 1 .. tid, then of the warp.
  EXPECT_EQ(
      run("mov.b32 %r1, 0; mov.b32 %r2, 0;\n"
          "again: setp.ge.u32 %p0, %r2, %r0;\n@%p0 bra done;\nadd.s32 %r2, %r2, 1; add.s32 %r1, %r1, %r2; bra again;\n"
          "done: shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1; st.global.b32 [%d4], %r3;",
          64),
      each(64, [](uint32_t i) { return (i ^ 1) * ((i ^ 1) + 1) / 2; }));
}

TEST(Threads, Shuffles) {
  EXPECT_EQ(run("shfl.sync.up.b32 %r1|%p1, %r0, 3, 0, -1; selp.b32 %r2, %r1, 99, %p1; st.global.b32 [%d4], %r2;", 32),
            each(32, [](uint32_t i) { return i >= 3 ? i - 3 : 99; }));
  // Segments of 8 lanes.
  EXPECT_EQ(run("shfl.sync.down.b32 %r1, %r0, 2, 0x1807, -1; st.global.b32 [%d4], %r1;", 32),
            each(32, [](uint32_t i) { return i % 8 + 2 < 8 ? i + 2 : i; }));
  EXPECT_EQ(run("shfl.sync.idx.b32 %r1, %r0, 5, 31, -1; st.global.b32 [%d4], %r1;", 64),
            each(64, [](uint32_t i) { return i / 32 * 32 + 5; }));
  EXPECT_NE(problem("setp.lt.u32 %p1, %r0, 16;\n@%p1 shfl.sync.bfly.b32 %r1, %r0, 1, 31, 0xffff0000;", 32)
                .find("it is not a member of the mask 0xffff0000 that it names"),
            std::string::npos);
}

TEST(Threads, Votes) {
  EXPECT_EQ(run("setp.lt.u32 %p1, %r0, 5; vote.sync.ballot.b32 %r1, %p1, -1; st.global.b32 [%d4], %r1;", 32),
            each(32, [](uint32_t) { return 31; }));
  EXPECT_EQ(run("setp.lt.u32 %p1, %r0, 5; vote.sync.all.pred %p2, !%p1, -1; selp.b32 %r1, 1, 0, %p2; st.global.b32 "
                "[%d4], %r1;",
                64),
            each(64, [](uint32_t i) { return i >= 32; }));
  EXPECT_EQ(run("redux.sync.max.u32 %r1, %r0, -1; st.global.b32 [%d4], %r1;", 64),
            each(64, [](uint32_t i) { return i / 32 * 32 + 31; }));
}

const char *const kReverse = ".shared .align 4 .b8 memory[1024];\nmov.b64 %d5, memory; add.s64 %d6, %d5, %d2;\n"
                             "st.shared.b32 [%d6], %r0;\nBARRIER\n"
                             "sub.s32 %r1, 255, %r0; mul.wide.u32 %d7, %r1, 4; add.s64 %d8, %d5, %d7;\n"
                             "ld.shared.b32 %r2, [%d8]; st.global.b32 [%d4], %r2;";
std::string reverse(const std::string &barrier) {
  std::string text = kReverse;
  return text.replace(text.find("BARRIER"), 7, barrier);
}

TEST(Threads, BarriersOrderSharedMemory) {
  for (uint64_t seed : {0, 1, 5, 6})
    EXPECT_EQ(run(reverse("bar.sync 0;"), 256, {}, seed), each(256, [](uint32_t i) { return 255 - i; }));
  std::string race = problem(reverse(""), 256, emulator::Fault::Launch);
  EXPECT_NE(race.find("since the last barrier"), std::string::npos) << race;
  EXPECT_NE(race.find("kernel k, PTX line "), std::string::npos) << race;
  // A read behind a write, and none before it.
  EXPECT_NE(problem(".shared .align 4 .b8 s[4];\nsetp.eq.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r0, 40;\n"
                    "@%p1 st.shared.b32 [s], 1;\n@%p2 ld.shared.b32 %r1, [s];",
                    64)
                .find("it reads byte 0 of shared memory, which warp 0 wrote since the last barrier"),
            std::string::npos);
  // A write behind reads of two warps, by one of them.
  EXPECT_NE(
      problem(".shared .align 4 .b8 s[4];\nsetp.eq.u32 %p1, %r0, 40;\nld.shared.b32 %r1, [s];\n"
              "@%p1 st.shared.b32 [s], 1;",
              64)
          .find("thread (40, 0, 0) of block (0, 0, 0): it writes byte 0 of shared memory, which other warps read"),
      std::string::npos);
  // Warps may write neighbouring bytes of a word, and one thread of a warp what all of it read.
  EXPECT_EQ(problem(".shared .align 4 .b8 s[4];\nshr.u32 %r1, %r0, 5; cvt.u64.u32 %d6, %r1; mov.b64 %d5, s;\n"
                    "add.s64 %d5, %d5, %d6; setp.eq.u32 %p1, %r0, 40;\nld.shared.b8 %r2, [%d5];\n"
                    "@%p1 st.shared.b8 [%d5], %r0;",
                    64),
            "");
}

TEST(Threads, ThatNeverMeetAreNamed) {
  std::string part = problem("setp.lt.u32 %p1, %r0, 16;\n@%p1 bar.sync 0;\n@%p1 bra end;\nbar.sync 0;\nend:", 32,
                             emulator::Fault::Launch);
  EXPECT_NE(part.find("they never meet"), std::string::npos) << part;
  std::string other = problem(
      "setp.lt.u32 %p1, %r0, 16;\n@%p1 bra some;\nshfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;\nsome:\nbar.sync 0;", 32);
  EXPECT_NE(other.find("it waits"), std::string::npos) << other;
  // Threads that have ended are not waited for.
  EXPECT_EQ(problem("setp.lt.u32 %p1, %r0, 32;\n@%p1 ret;\nbar.sync 0;", 64), "");
}

TEST(Threads, AccessesAreChecked) {
  std::string outside = problem("st.global.b32 [%d4+1024], %r0;", 32, emulator::Fault::Address);
  EXPECT_NE(outside.find("thread (0, 0, 0) of block (0, 0, 0): a write of 4 bytes at 0x"), std::string::npos)
      << outside;
  EXPECT_NE(outside.find("outside of all device memory; the allocation before it has 1024 bytes"), std::string::npos);
  EXPECT_NE(problem("st.global.b32 [%d4+900], %r0;", 32).find("thread (31, 0, 0) of block (0, 0, 0): a write of 4"),
            std::string::npos);
  EXPECT_NE(problem("setp.eq.u32 %p1, %r0, 3;\n@%p1 ld.global.b32 %r1, [8];", 32).find("thread (3, 0, 0)"),
            std::string::npos);
  std::string vector = problem("ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d3];", 32, emulator::Fault::Misaligned);
  EXPECT_NE(vector.find("thread (1, 0, 0) of block (0, 0, 0): a read of 16 bytes"), std::string::npos) << vector;
  EXPECT_NE(problem(".shared .b8 s[64];\nmov.b64 %d5, s; add.s64 %d5, %d5, %d2; st.shared.b32 [%d5], %r0;", 32,
                    emulator::Fault::Address)
                .find("of shared memory, of which the block has 64 bytes"),
            std::string::npos);
}

TEST(Threads, SpacesAndGenericAddresses) {
  EXPECT_EQ(
      run(".local .align 16 .b8 mine[32]; .shared .align 4 .b8 ours[4];\n"
          "mov.b64 %d5, mine; st.local.v2.b32 [%d5+8], {%r0, %r0}; cvta.local.u64 %d6, %d5; ld.b32 %r1, [%d6+12];\n"
          "mov.b64 %d7, ours; cvta.shared.u64 %d8, %d7; setp.eq.u32 %p1, %r0, 0;\n@%p1 st.b32 [%d8], 70;\n"
          "bar.sync 0; ld.shared.b32 %r2, [ours]; add.s32 %r3, %r1, %r2; st.global.b32 [%d4], %r3;",
          64),
      each(64, [](uint32_t i) { return i + 70; }));
}

TEST(Threads, NumbersAreStoredBesideRegisters) {
  EXPECT_EQ(run("st.global.b32 [%d4], 0; st.global.v2.b8 [%d4], {5, %r0};", 32),
            each(32, [](uint32_t i) { return 5 + (i << 8); }));
}

TEST(Threads, Atomics) {
  std::vector<uint32_t> sums =
      run("atom.global.add.u32 %r1, [%d1], %r0; red.global.max.s32 [%d1+4], %r0;\n"
          "atom.global.cas.b32 %r2, [%d1+8], 0, 7; cvt.rn.f32.u32 %r3, %r0; red.global.add.f32 [%d1+12], %r3;",
          64);
  EXPECT_EQ(sums[0], 63u * 32);
  EXPECT_EQ(sums[1], 63u);
  EXPECT_EQ(sums[2], 7u);
  EXPECT_EQ(std::bit_cast<float>(sums[3]), 63.0f * 32);
}

TEST(Threads, TablesOfBranches) {
  EXPECT_EQ(run("table: .branchtargets a, b, c;\nrem.u32 %r1, %r0, 3; brx.idx %r1, table;\n"
                "a: mov.b32 %r2, 10; bra end;\nb: mov.b32 %r2, 20; bra end;\nc: mov.b32 %r2, 30;\nend: st.global.b32 "
                "[%d4], %r2;",
                32),
            each(32, [](uint32_t i) { return 10 * (i % 3 + 1); }));
}

/// As clang writes it.
TEST(Threads, CallsAndVariables) {
  std::string text =
      ".const .align 4 .b8 table[8] = {1, 0, 0, 0, 2, 0, 0, 0};\n.global .align 8 .u64 where = generic(table);\n"
      ".func (.param .b32 result) twice(.param .b32 x)\n{\n.reg .b32 %r<4>; .reg .b64 %d<2>;\n"
      "ld.param.b32 %r1, [x]; ld.global.b64 %d1, [where]; ld.b32 %r2, [%d1+4]; mul.lo.s32 %r3, %r1, %r2;\n"
      "st.param.b32 [result], %r3;\nret;\n}\n" +
      kernelOf("and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 0; mov.b32 %r2, %r0;\n@%p1 bra end;\n"
               "{\n.param .b32 a; .param .b32 r;\nst.param.b32 [a], %r0;\ncall.uni (r), twice, (a);\n"
               "ld.param.b32 %r2, [r];\n}\nend: st.global.b32 [%d4], %r2;");
  std::vector<uint32_t> in(64), out(64);
  test::runKernel(text, in.data(), 256, out.data(), 256, 64);
  EXPECT_EQ(out, each(64, [](uint32_t i) { return i % 2 ? 2 * i : i; }));
}

TEST(Threads, AsynchronousCopiesAreLate) {
  std::vector<uint32_t> in = each(64, [](uint32_t i) { return i + 5; });
  std::string begin = ".shared .align 16 .b8 s[256];\nmov.b64 %d5, s; add.s64 %d6, %d5, %d2; st.shared.b32 [%d6], 1;\n"
                      "cp.async.ca.shared.global [%d6], [%d3], 4; cp.async.commit_group;\n";
  std::string end = "ld.shared.b32 %r1, [%d6]; st.global.b32 [%d4], %r1;";
  EXPECT_EQ(run(begin + "cp.async.wait_group 0;\n" + end, 64, in), in);
  EXPECT_EQ(run(begin + "cp.async.wait_group 1;\n" + end, 64, in), each(64, [](uint32_t) { return 1; }));
}

/// One product of 16 x 16 by 16 x 8 in bf16: a[i][k] = i + k, b[k][j] = k - j.
TEST(Threads, ProductsOfMatrices) {
  auto bf16 = [](int x) { return std::bit_cast<uint32_t>(float(x)) >> 16; };
  std::vector<uint32_t> in;
  for (int lane = 0; lane < 32; ++lane) {
    int group = lane / 4, two = lane % 4 * 2;
    auto a = [&](int row, int k) { return bf16(row + k) | bf16(row + k + 1) << 16; };
    auto b = [&](int k) { return bf16(k - group) | bf16(k + 1 - group) << 16; };
    for (uint32_t bits :
         {a(group, two), a(group + 8, two), a(group, two + 8), a(group + 8, two + 8), b(two), b(two + 8)})
      in.push_back(bits);
  }
  std::vector<float> out(128);
  test::runKernel(
      kernelOf("mul.lo.s32 %r1, %r0, 24; cvt.u64.u32 %d5, %r1; add.s64 %d6, %d0, %d5;\n"
               "ld.global.v2.b32 {%r10, %r11}, [%d6]; ld.global.v2.b32 {%r12, %r13}, [%d6+8];\n"
               "ld.global.v2.b32 {%r14, %r15}, [%d6+16]; mov.b32 %r20, 0;\n"
               "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r21, %r22, %r23, %r24}, {%r10, %r11, %r12, %r13},"
               " {%r14, %r15}, {%r20, %r20, %r20, %r20};\n"
               "shl.b32 %r2, %r0, 4; cvt.u64.u32 %d7, %r2; add.s64 %d8, %d1, %d7;\n"
               "st.global.v2.b32 [%d8], {%r21, %r22}; st.global.v2.b32 [%d8+8], {%r23, %r24};"),
      in.data(), in.size() * 4, out.data(), out.size() * 4, 32);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      float want = 0;
      for (int k = 0; k < 16; ++k)
        want += float((row + k) * (k - column));
      EXPECT_EQ(out[size_t(lane * 4 + i)], want) << row << " " << column;
    }
}
} // namespace
