//===- WireMutator.h - Changes messages of protobuf field by field -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A random change of bytes mostly breaks the lengths of a message, and the reader never sees what lies inside. This
// mutator reads any message without its schema: as a tree of fields, where bytes that read as a message are one. It
// changes, copies, moves and drops fields and writes the lengths anew. ONNX is what the tree is worth: names lie in
// strings, which are exchanged among each other, and op types come from a list.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_FUZZ_WIREMUTATOR_H
#define DTCC_TESTS_FUZZ_WIREMUTATOR_H

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace dtcc::fuzz {

class WireMutator {
public:
  /// Changes bytes in place: (data, size, largest size) -> new size. libFuzzer's own.
  using MutateBytes = size_t (*)(uint8_t *, size_t, size_t);
  WireMutator(unsigned seed, MutateBytes mutateBytes) : random(seed), mutateBytes(mutateBytes) {}

  /// The message with a few changes; empty if it is none.
  std::string mutate(std::string_view message);
  /// `one` with a field of `other` in place of one of its own, of the same number if there is one.
  std::string cross(std::string_view one, std::string_view other);

private:
  struct Field {
    uint32_t number = 0;
    unsigned wire = 0;
    uint64_t value = 0;        /* of numbers: 0 variable, 1 eight bytes, 5 four bytes */
    std::string bytes;         /* of lengths (2) that are no message */
    std::vector<Field> fields; /* of those that are */
    bool isMessage = false;
  };
  static bool parse(std::string_view bytes, std::vector<Field> &fields, int depth);
  static void write(const std::vector<Field> &fields, std::string &out);
  static void list(std::vector<Field> &fields, std::vector<std::pair<std::vector<Field> *, size_t>> &places);
  void change(std::vector<Field> &fields);
  void changeValue(Field &field, const std::vector<std::pair<std::vector<Field> *, size_t>> &places);
  size_t below(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); }

  std::mt19937 random;
  MutateBytes mutateBytes;
};

} // namespace dtcc::fuzz

#endif // DTCC_TESTS_FUZZ_WIREMUTATOR_H
