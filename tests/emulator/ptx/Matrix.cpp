//===- Matrix.cpp - Products of small matrices by a warp
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mma.sync of 16 x 8 results, in 16-bit floats and TF32, and ldmatrix. PTX ISA 9.7.14
// says which cell lies in which lane. A sum of products is rounded once: hardware says
// nothing of its order.
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/ptx/Apply.h"

namespace dtcc::emulator {
namespace {

constexpr int kRows = 16, kColumns = 8;

/// The number of which type the bits are.
double number(uint32_t bits, Type type) {
  switch (type) {
  case Type::F16:
    return rt::fromF16(uint16_t(bits));
  case Type::BF16:
    return rt::fromBF16(uint16_t(bits));
  default:
    return std::bit_cast<float>(bits & ~0x1fffu); // TF32 has 10 bits behind the point
  }
}

/// list: places of d, a, b, c. value: depth | type of a and b << 8 | type of d and c << 16.
void multiply(Warp &warp, const Code &code, uint32_t) {
  int depth = int(code.value & 0xff);
  Type type = Type(code.value >> 8 & 0xff), sumType = Type(code.value >> 16 & 0xff);
  bool halves = type != Type::TF32;
  const uint32_t *places = &warp.program().places[code.list];
  int sums = sumType == Type::F16 ? 2 : 4;
  int ofA = halves ? depth / 4 : depth / 2, ofB = halves ? depth / 8 : depth / 4;
  const uint32_t *d = places, *a = d + sums, *b = a + ofA, *c = b + ofB;
  double left[kRows][16], right[16][kColumns];
  for (int lane = 0; lane < kWarpSize; ++lane) {
    int group = lane >> 2, member = lane & 3;
    for (int i = 0; i < ofA; ++i) {
      uint32_t bits = warp.at<uint32_t>(a[i])[lane];
      int row = group + 8 * (i & 1), column = halves ? 2 * member + 8 * (i >> 1) : member + 4 * (i >> 1);
      left[row][column] = number(bits, type);
      if (halves)
        left[row][column + 1] = number(bits >> 16, type);
    }
    for (int i = 0; i < ofB; ++i) {
      uint32_t bits = warp.at<uint32_t>(b[i])[lane];
      int row = halves ? 2 * member + 8 * i : member + 4 * i;
      right[row][group] = number(bits, type);
      if (halves)
        right[row + 1][group] = number(bits >> 16, type);
    }
  }
  auto dot = [&](int row, int column, double sum) {
    for (int k = 0; k < depth; ++k)
      sum += left[row][k] * right[k][column];
    return sum;
  };
  for (int lane = 0; lane < kWarpSize; ++lane) {
    int group = lane >> 2, column = 2 * (lane & 3);
    for (int i = 0; i < sums; ++i) {
      uint32_t bits = warp.at<uint32_t>(c[i])[lane];
      uint32_t &to = warp.at<uint32_t>(d[i])[lane];
      if (sumType == Type::F32) {
        double sum = dot(group + 8 * (i >> 1), column + (i & 1), std::bit_cast<float>(bits));
        to = std::bit_cast<uint32_t>(float(sum));
      } else {
        double low = dot(group + 8 * i, column, rt::fromF16(uint16_t(bits)));
        double high = dot(group + 8 * i, column + 1, rt::fromF16(uint16_t(bits >> 16)));
        to = uint32_t(F16::store(high)) << 16 | F16::store(low);
      }
    }
  }
}

void buildMma(Decoder &decoder, const Instruction &instruction, Code &code) {
  std::vector<Type> types = instruction.types();
  static const std::unordered_map<std::string_view, int> depths = {{"m16n8k4", 4}, {"m16n8k8", 8}, {"m16n8k16", 16}};
  int depth = 0;
  for (const std::string &word : instruction.words)
    if (auto found = depths.find(word); found != depths.end())
      depth = found->second;
  bool known = depth && types.size() == 4 && types[1] == types[2] && types[0] == types[3] && instruction.has("row") &&
               instruction.has("col");
  bool halves = known && (types[1] == Type::F16 || types[1] == Type::BF16) && depth >= 8;
  bool tf32 = known && types[1] == Type::TF32 && depth <= 8;
  if ((!halves && !tf32) || (types[0] != Type::F32 && !(types[0] == Type::F16 && types[1] == Type::F16)))
    decoder.unknown(instruction);
  code.control = Control::Collective;
  code.handler = multiply;
  code.aligned = true; // the whole warp
  code.members = decoder.constant(4, ~0u);
  code.value = depth | int64_t(types[1]) << 8 | int64_t(types[0]) << 16;
  size_t counts[] = {types[0] == Type::F16 ? 2u : 4u, size_t(halves ? depth / 4 : depth / 2),
                     size_t(halves ? depth / 8 : depth / 4), types[0] == Type::F16 ? 2u : 4u};
  std::vector<uint32_t> places;
  for (size_t i = 0; i < 4; ++i) {
    const Operand &operand = decoder.operand(instruction, i);
    std::vector<Operand> parts = operand.kind == Operand::Vector ? operand.elements : std::vector{operand};
    if (parts.size() != counts[i])
      decoder.wrong(instruction.line, "'" + instruction.text() + "' has another number of registers");
    for (const Operand &part : parts)
      places.push_back(i ? decoder.source(instruction, part, 4) : decoder.destination(instruction, part, 4));
  }
  code.list = decoder.list(places);
}

/// list: places of d. count: matrices; flag: transposed.
void loadMatrices(Warp &warp, const Code &code, uint32_t) {
  const uint32_t *places = &warp.program().places[code.list];
  uint16_t cells[4][8][8];
  for (int matrix = 0; matrix < code.count; ++matrix)
    for (int row = 0; row < 8; ++row) {
      int lane = 8 * matrix + row;
      std::memcpy(cells[matrix][row], warp.memory(code, lane, warp.addressOf(code, lane), 16, false), 16);
    }
  for (int lane = 0; lane < kWarpSize; ++lane)
    for (int matrix = 0; matrix < code.count; ++matrix) {
      int row = lane >> 2, column = 2 * (lane & 3);
      uint32_t low = code.flag ? cells[matrix][column][row] : cells[matrix][row][column];
      uint32_t high = code.flag ? cells[matrix][column + 1][row] : cells[matrix][row][column + 1];
      warp.at<uint32_t>(places[matrix])[lane] = high << 16 | low;
    }
}

void buildLdmatrix(Decoder &decoder, const Instruction &instruction, Code &code) {
  code.count = instruction.has("x1") ? 1 : instruction.has("x2") ? 2 : instruction.has("x4") ? 4 : 0;
  if (!instruction.has("m8n8") || !instruction.has("b16") || !code.count || instruction.operands.size() != 2)
    decoder.unknown(instruction);
  const Operand &to = instruction.operands[0];
  std::vector<Operand> parts = to.kind == Operand::Vector ? to.elements : std::vector{to};
  if (parts.size() != code.count)
    decoder.unknown(instruction);
  std::vector<uint32_t> places;
  for (const Operand &part : parts)
    places.push_back(decoder.destination(instruction, part, 4));
  code.list = decoder.list(places);
  code.control = Control::Collective;
  code.handler = loadMatrices;
  code.aligned = true;
  code.members = decoder.constant(4, ~0u);
  code.flag = instruction.has("trans");
  code.space = instruction.has("shared") || instruction.has("shared::cta") ? Space::Shared : Space::Generic;
  decoder.address(instruction, instruction.operands[1], code);
}
} // namespace

const Rows &matrixRows() {
  static const Rows rows = {{"mma", buildMma}, {"ldmatrix", buildLdmatrix}};
  return rows;
}

} // namespace dtcc::emulator
