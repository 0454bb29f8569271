//===- AttentionCases.cpp - Attention that every device must compute alike
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/HalfFloat.h"
#include "tests/conformance/KernelCases.h"

#include <random>

namespace dtcc::rt::test {
namespace {

struct Config {
  const char *name;
  int64_t b, t, s, h, g, d, e;
  bool causal = false;
  int64_t offset = 0, left = -1, right = -1;
  bool masked = false;
  double softcap = 0;
  int64_t empty = 0; // 0 uniform, 1 zero, 2 NaN
  int64_t ranks = 1, rank = 0;
  // A part of the keys.
  bool part = false;
  int64_t shift = 0, chunks = 0, length = 0;
  // Numbers that queries and keys must share: this many, each of neighbours. 0: any query sees any key.
  int64_t segments = 0;
};

const Config configs[] = {
    {"plain", 2, 5, 7, 2, 1, 4, 4},
    {"causal", 1, 70, 70, 2, 1, 16, 16, true},
    {"causal from later keys", 2, 33, 64, 1, 3, 8, 24, true, 31},
    {"causal with rows that see nothing", 1, 40, 36, 1, 1, 8, 8, true, -5},
    {"zero rows", 1, 40, 36, 1, 2, 8, 8, true, -5, -1, -1, false, 0, 1},
    {"NaN rows", 1, 10, 9, 1, 2, 8, 8, true, -5, -1, -1, false, 0, 2},
    {"queries of a later rank", 2, 16, 48, 2, 2, 16, 16, true, 0, -1, -1, false, 0, 0, 3, 2},
    {"window", 1, 90, 90, 2, 1, 8, 8, true, 0, 10},
    {"window both ways", 1, 50, 60, 1, 1, 9, 5, false, 0, 7, 3},
    {"window from a later block of queries", 1, 20, 40, 1, 1, 8, 8, true, 0, 25, -1, false, 0, 0, 2, 1},
    {"key mask", 3, 20, 40, 2, 2, 8, 8, false, 0, -1, -1, true},
    {"key mask and cap", 2, 35, 35, 1, 1, 12, 12, true, 0, -1, -1, true, 5.0},
    {"cap", 1, 34, 40, 2, 1, 64, 64, false, 0, -1, -1, false, 2.0},
    {"wide heads", 1, 40, 33, 1, 2, 128, 96, true},
    {"widest heads", 1, 9, 40, 1, 1, 200, 256, false},
    {"tiles of queries and keys", 1, 150, 140, 1, 2, 64, 64, true, 3, 70},
    {"tiles with a key mask", 2, 70, 130, 1, 1, 80, 72, false, 0, -1, -1, true},
    {"first part", 1, 16, 16, 2, 1, 8, 8, true, 0, -1, -1, false, 0, 0, 2, 1, true, 0, 0, 32},
    {"second part", 1, 16, 16, 2, 1, 8, 8, true, 0, -1, -1, false, 0, 0, 2, 1, true, 1, 0, 32},
    {"part in the order of ranks", 2, 40, 40, 1, 2, 8, 8, true, 0, -1, -1, false, 0, 0, 2, 0, true, 0, 4, 80},
    {"next part in the order of ranks", 2, 40, 40, 1, 2, 8, 8, true, 0, -1, -1, false, 0, 0, 2, 0, true, 1, 4, 80},
    {"part with padding", 1, 40, 40, 1, 1, 8, 8, false, 0, -1, -1, true, 0, 0, 2, 1, true, 0, 0, 61},
    {"part of nothing but padding", 1, 40, 40, 1, 1, 8, 8, false, 0, -1, -1, false, 0, 0, 2, 1, true, 0, 0, 33},
    {"segments", 2, 70, 70, 2, 1, 8, 8, true, 0, -1, -1, false, 0, 0, 1, 0, false, 0, 0, 0, 5},
    {"segments of halves' tiles", 1, 130, 140, 1, 2, 64, 64, false, 0, -1, -1, false, 0, 0, 1, 0, false, 0, 0, 0, 3},
    {"segments, key mask and cap", 2, 35, 40, 1, 1, 12, 12, false, 0, -1, -1, true, 3.0, 1, 1, 0, false, 0, 0, 0, 4},
    {"segments of a later part", 1, 40, 40, 1, 2, 8, 8, true, 0, -1, -1, false, 0, 0, 2, 1, true, 1, 4, 80, 3},
    {"empty rows of parts", 1, 20, 20, 1, 1, 8, 8, true, -30, -1, -1, false, 0, 0, 2, 1, true, 1, 0, 40},
};

/// Heads lie in one packed tensor or one by one: strides of a projection and of separate tensors.
class Operands {
public:
  Operands(const Config &config, dtcc_dtype type, OneCommand &command) : c(config), type(type), command(command) {}

  size_t queries(int64_t columns, dtcc_dtype of, bool isRandom) {
    return tensor({c.b, c.t, c.h, c.g, columns}, of, isRandom);
  }
  size_t keys(int64_t columns, dtcc_dtype of, bool isRandom) { return tensor({c.b, c.s, c.h, columns}, of, isRandom); }
  void inputs() {
    queries(c.d, type, true);
    keys(c.d, type, true);
    keys(c.e, type, true);
    if (c.masked) {
      std::vector<uint8_t> mask;
      for (int64_t i = 0; i < c.b * c.s; ++i)
        mask.push_back(i / c.s != 1 && random() % 3 != 0); // the second sample has none
      command.operand(DTCC_BOOL, {c.b, c.s}, mask);
    }
    for (int64_t rows : {c.t, c.s})
      if (c.segments) {
        std::vector<int64_t> numbers;
        // Numbers that differ in their upper halves alone, too.
        for (int64_t i = 0; i < c.b * rows; ++i)
          numbers.push_back((i % rows * c.segments / rows - 1) * (i / rows % 2 ? int64_t{1} << 32 : 1));
        command.operand(DTCC_I64, {c.b, rows}, numbers);
      }
  }
  void attributes(bool continues) {
    command.attribute(0.3);
    command.attribute(c.softcap);
    const int64_t masks = int64_t{c.masked} + (c.segments ? 2 : 0);
    for (int64_t value : {int64_t{c.causal}, c.offset, c.left, c.right, masks, c.empty})
      command.attribute(value);
    command.attribute(int64_t{c.ranks > 1 ? 0 : -1});
    if (c.part)
      for (int64_t value : {int64_t{0}, c.shift, c.chunks, c.length, c.length, int64_t{continues}})
        command.attribute(value);
  }

private:
  size_t tensor(std::vector<int64_t> sizes, dtcc_dtype of, bool isRandom) {
    int64_t cells = 1;
    for (int64_t size : sizes)
      cells *= size;
    std::normal_distribution<float> normal;
    std::vector<float> values;
    for (int64_t i = 0; i < cells; ++i)
      values.push_back(isRandom ? normal(random) : 0);
    if (of == DTCC_F32)
      return command.operand(of, sizes, values);
    std::vector<uint16_t> halves;
    for (float value : values)
      halves.push_back(of == DTCC_BF16 ? toBF16(value) : toF16(value));
    return command.operand(of, sizes, halves);
  }

  const Config &c;
  dtcc_dtype type;
  OneCommand &command;
  std::mt19937 random{3};
};

/// Copies an operand from another command of equal shapes.
void take(OneCommand &to, size_t target, const OneCommand &from, size_t source) {
  OneCommand &reader = const_cast<OneCommand &>(from);
  const dtcc_view &view = reader.view(source);
  std::memcpy(to.memory.data() + to.view(target).offset, from.memory.data() + view.offset,
              static_cast<size_t>(elementCount(view) * dtcc_dtype_size(view.dtype)));
}

} // namespace

void addAttention(std::vector<KernelCase> &cases) {
  for (const Config &c : configs)
    for (dtcc_dtype type : {DTCC_F32, DTCC_BF16, DTCC_F16}) {
      const dtcc_dtype sums = c.part ? DTCC_F32 : type;
      auto forward = [&](const Config &config, bool continues) {
        KernelCase made{std::string("attention, ") + config.name + ", type " + std::to_string(type),
                        OneCommand(c.part ? DTCC_LIB_ATTENTION_PART : DTCC_LIB_ATTENTION, c.ranks),
                        c.rank,
                        0,
                        {},
                        {}};
        Operands operands(config, type, made.command);
        operands.inputs();
        made.outputs = {operands.queries(c.e, sums, false),
                        made.command.output({c.b, c.h, c.g, c.t}, c.part && continues ? 0.5f : -9.0f)};
        operands.attributes(continues);
        // Weights may be rounded to the operands' type where they meet values.
        made.tolerance = type == DTCC_F32 ? 1e-5f : type == DTCC_BF16 ? 1.6e-2f : 2e-3f;
        return made;
      };
      const bool continues = c.shift > 0;
      KernelCase made = forward(c, continues);
      if (continues) {
        Config before = c;
        before.shift = 0;
        KernelCase first = forward(before, false);
        first.command.run(c.rank);
        for (size_t output : made.outputs)
          take(made.command, output, first.command, output);
      }
      cases.push_back(made);
      OneCommand done = made.command;
      done.run(c.rank);

      KernelCase back{made.name + ", gradient",
                      OneCommand(c.part ? DTCC_LIB_ATTENTION_PART_GRAD : DTCC_LIB_ATTENTION_GRAD, c.ranks),
                      c.rank,
                      0,
                      {},
                      {}};
      Operands operands(c, type, back.command);
      operands.inputs();
      const size_t out = operands.queries(c.e, type, false), lse = back.command.output({c.b, c.h, c.g, c.t});
      if (sums == type) {
        take(back.command, out, done, made.outputs[0]);
      } else {
        std::vector<float> wide = done.content(made.outputs[0]);
        auto *halves = reinterpret_cast<uint16_t *>(back.command.memory.data() + back.command.view(out).offset);
        for (size_t i = 0; i < wide.size(); ++i)
          halves[i] = type == DTCC_BF16 ? toBF16(wide[i]) : toF16(wide[i]);
      }
      take(back.command, lse, done, made.outputs[1]);
      operands.queries(c.e, type, true);
      back.outputs = {operands.queries(c.d, sums, continues), operands.keys(c.d, sums, continues),
                      operands.keys(c.e, sums, continues)};
      operands.attributes(continues);
      back.tolerance = type == DTCC_F32 ? 5e-5f : type == DTCC_BF16 ? 3e-2f : 4e-3f;
      cases.push_back(back);
    }
}

} // namespace dtcc::rt::test
