//===- DynamicCodes.h - 8-bit codes of f32 values in blocks -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Block-wise dynamic quantization (Dettmers et al. 2022, "8-bit Optimizers via Block-wise Quantization"). The scale of
// a block is its largest magnitude, and a value is the code whose number is nearest to value / scale. The numbers are
// those of dynamic tree quantization (Dettmers 2016), seven decades below 1 that have ever more numbers: decade i, from
// 0, has the middles of n equal parts of [0.1, 1] times 10^(i-6), where n is 2^i in signed codes, which have them with
// both signs, and 2^(i+1) in unsigned ones. 0 and 1 make them 256. Signed codes have no -1: their least number is
// -0.99296875.
//
// Decoded values are coded again as they were, with the same scale, if the value of the least signed code is then taken
// for -scale, as `saved` has it: the largest magnitude of a block has this code or that of 1. That holds for scales
// that are normal numbers.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CORE_DYNAMICCODES_H
#define DTCC_RUNTIME_CORE_DYNAMICCODES_H

#include "runtime/abi/BlockCodes.h"
#include "runtime/abi/dtcc_rt.h"

#include <array>
#include <cstdint>

namespace dtcc::rt {

class DynamicCodes {
public:
  /// The codes of a kind other than DTCC_CODES_NONE.
  static const DynamicCodes &of(dtcc_codes kind);

  /// Codes `count` values of one block. Returns their scale, which is not finite if one of them is not.
  float encode(const float *values, int64_t count, uint8_t *codes) const;
  void decode(const uint8_t *codes, float scale, int64_t count, float *values) const {
    scaleNumbers(numbers, codes, scale, count, values);
  }
  /// Decodes for a checkpoint, whose values are coded again with the same scale.
  void decodeSaved(const uint8_t *codes, float scale, int64_t count, float *values) const {
    scaleNumbers(saved, codes, scale, count, values);
  }

  /// Numbers of the codes, ascending.
  const std::array<float, 256> &all() const { return numbers; }
  /// Middles between the numbers from 0 on, ascending, and behind the last one infinity. A magnitude of a block has the
  /// number that is as many places from 0 as middles are below it.
  const std::array<float, 256> &allMiddles() const { return middles; }
  /// The code of 0, which is also how many codes have negative numbers.
  int32_t zeroCode() const { return zero; }

private:
  explicit DynamicCodes(bool isSigned);
  static void scaleNumbers(const std::array<float, 256> &numbers, const uint8_t *codes, float scale, int64_t count,
                           float *values) {
    for (int64_t i = 0; i < count; ++i)
      values[i] = numbers[codes[i]] * scale;
  }

  /// Magnitudes are looked up by their exponents and the first seven bits of their mantissas, from 2^-24 to 1. Between
  /// two neighbours in the table there is at most one middle of numbers.
  static constexpr uint32_t firstKey = (127 - 24) << 7, lastKey = 127 << 7;

  std::array<float, 256> numbers, saved;
  std::array<float, 256> middles;
  /// How many middles are below the least magnitude of a key.
  std::array<uint8_t, lastKey - firstKey + 1> middlesBelow;
  int32_t zero = 0;
};

/// The codes of a share of a bucket, with the scales of their blocks behind them.
class CodedShare {
public:
  CodedShare(dtcc_codes kind, void *share, int64_t cells)
      : kind(DynamicCodes::of(kind)), codes(static_cast<uint8_t *>(share)),
        scales(reinterpret_cast<float *>(codes + cells)) {}

  /// Decodes or codes the cells from `at` on, at most a block; `at` divides by codeBlock.
  void decode(int64_t at, int64_t count, float *values) const {
    kind.decode(codes + at, scales[at / codeBlock], count, values);
  }
  void decodeSaved(int64_t at, int64_t count, float *values) const {
    kind.decodeSaved(codes + at, scales[at / codeBlock], count, values);
  }
  void encode(int64_t at, int64_t count, const float *values) const {
    scales[at / codeBlock] = kind.encode(values, count, codes + at);
  }

private:
  const DynamicCodes &kind;
  uint8_t *codes;
  float *scales;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CORE_DYNAMICCODES_H
