//===- BlindMutator.h - Inputs made of others without libFuzzer -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Changes bytes and ranges of bytes at random. It does not see which code an input reaches, and so finds less than
// libFuzzer; but a target in any build can use it, and needs no sanitizers, which make compiling LLVM's headers slow.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_FUZZ_BLINDMUTATOR_H
#define DTCC_TESTS_FUZZ_BLINDMUTATOR_H

#include <random>
#include <string>
#include <string_view>

namespace dtcc::fuzz {

class BlindMutator {
public:
  explicit BlindMutator(unsigned seed) : random(seed) {}

  /// `bytes` with one to four changes; some copy a range of `other`.
  std::string mutate(std::string_view bytes, std::string_view other);

private:
  /// A number in [0, count), or 0.
  size_t below(size_t count) { return count == 0 ? 0 : random() % count; }
  /// A range of `text` with at most 64 bytes.
  std::string_view rangeOf(std::string_view text);
  void change(std::string &bytes, std::string_view other);

  std::mt19937 random;
};

} // namespace dtcc::fuzz

#endif // DTCC_TESTS_FUZZ_BLINDMUTATOR_H
