//===- OwnWeights.h - Weights inside a program -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program holds the values that it starts from behind its code: padding, a whole safetensors
// file, and an end mark. The system loads none of it with the code; ranks map the file and read
// their cells, as they do with any other file of weights.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_OWNWEIGHTS_H
#define DTCC_RUNTIME_ABI_OWNWEIGHTS_H

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace dtcc {

/// The value of dtcc_image_header::weights where the weights are in the program itself; no file has this name.
inline constexpr std::string_view kOwnWeights = ".";
/// The safetensors file starts at a multiple of this: a page.
inline constexpr uint64_t kOwnWeightsAlignment = 4096;

/// The last bytes of such a program.
struct OwnWeightsEnd {
  char mark[8] = {'d', 't', 'c', 'c', 'E', 'N', 'D', '1'};
  uint64_t bytes = 0; /* of the safetensors file, which ends here */
};

/// The safetensors file within `program`, the whole of a file. Nothing: the file does not end with weights, because it
/// was cut short.
inline std::optional<std::string_view> findOwnWeights(std::string_view program) {
  OwnWeightsEnd end, expected;
  if (program.size() < sizeof end)
    return std::nullopt;
  program.copy(reinterpret_cast<char *>(&end), sizeof end, program.size() - sizeof end);
  program.remove_suffix(sizeof end);
  if (std::memcmp(end.mark, expected.mark, sizeof end.mark) != 0 || end.bytes > program.size())
    return std::nullopt;
  return program.substr(program.size() - end.bytes);
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_OWNWEIGHTS_H
