//===- Choices.h - Chosen ways of commands, as text ----------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One line a choice: the problem, a tab, the name of the way, the words of its algorithm in
// hexadecimal. The same lines stand in a file of --tune and in the manifest of a checkpoint.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_TUNING_CHOICES_H
#define DTCC_RUNTIME_TUNING_CHOICES_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace dtcc::rt {

/// One way to compute a command. Ways are known by name, so that a file of another version of this runtime is not taken
/// for what it does not say.
struct Choice {
  std::string way;                        /* a word */
  std::array<uint64_t, 8> algorithm = {}; /* of a library that has several for the way */
  bool operator==(const Choice &) const = default;
};

/// The key is the problem: one line with everything on which a choice depends.
using Choices = std::map<std::string, Choice>;

std::string textOf(const Choices &choices);

/// Adds the choices of `text`. Returns the number of the first line that is no choice, counted from 1; 0 if all are.
size_t readChoices(const std::string &text, Choices &choices);

/// Reads the choices of the file that `--tune=file` names. A missing or empty file gives none; a damaged file gives
/// none and a note. Throws Error if the file is something else, because it would be overwritten.
Choices readChoicesFile(const std::string &file);

/// Throws Error if the file cannot be written.
void writeChoicesFile(const std::string &file, const Choices &choices);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_TUNING_CHOICES_H
