//===- Syntax.h - PTX as it is written ------------------------- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Result of the parser: variables and functions, whose instructions are words and
// operands without a meaning yet. Names are those of the text, made unique if nested
// scopes declare one again.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_EMULATOR_PTX_SYNTAX_H
#define DTCC_TESTS_EMULATOR_PTX_SYNTAX_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dtcc::emulator {

enum class Type {
  Pred,
  U8,
  S8,
  B8,
  U16,
  S16,
  B16,
  F16,
  BF16,
  U32,
  S32,
  B32,
  F32,
  TF32,
  F16x2,
  BF16x2,
  U64,
  S64,
  B64,
  F64,
  F32x2,
  B128,
};
/// The type that a word without its point names, as "u32".
std::optional<Type> findType(std::string_view word);
/// 0 for predicates: a warp has one in 32 bits.
unsigned bytesOf(Type type);

struct Operand {
  enum Kind {
    Name,    ///< a register, a variable, a label, a special register
    Integer, ///< value
    Single,  ///< value: the bits of an f32
    Double,  ///< value: the bits of an f64
    Address, ///< [name + value]; without a name [value]
    Vector,  ///< {elements}
    List,    ///< (elements), of a call
    Pair,    ///< elements: a|b
    Sink,    ///< _
  };
  Kind kind = Sink;
  std::string name;
  int64_t value = 0;
  /// Whether a predicate is negated: !p.
  bool negated = false;
  std::vector<Operand> elements;
};

struct Instruction {
  unsigned line = 0;
  std::string guard; ///< empty: always
  bool guardNegated = false;
  /// "ld.global.v4.b32" as {"ld", "global", "v4", "b32"}.
  std::vector<std::string> words;
  std::vector<Operand> operands;

  const std::string &opcode() const { return words.front(); }
  bool has(std::string_view word) const;
  /// Its types in the order of the text.
  std::vector<Type> types() const;
  std::string text() const;
};

enum class Space { Generic, Global, Const, Shared, Local, Param };

struct Variable {
  std::string name;
  Space space = Space::Global;
  unsigned align = 1, line = 0;
  uint64_t bytes = 0;
  bool dynamic = false;  ///< .extern .shared x[]: as large as a launch says
  bool external = false; ///< defined by nobody here
  /// From the start; the rest is zero.
  std::vector<uint8_t> initial;
  /// Addresses in the initial value: where, of what, plus what.
  struct Reference {
    uint64_t at;
    std::string name;
    int64_t offset;
  };
  std::vector<Reference> references;
};

struct Function {
  std::string name;
  unsigned line = 0;
  bool entry = false, defined = false;
  std::vector<Variable> parameters, results;
  std::unordered_map<std::string, Type> registers;
  std::vector<Variable> variables; ///< shared, local, and params of calls
  std::vector<Instruction> body;
  std::unordered_map<std::string, size_t> labels; ///< before which instruction
  std::unordered_map<std::string, std::vector<std::string>> targets;
  uint64_t mostThreads = 1024;
};

struct Module {
  std::vector<Variable> variables;
  std::map<std::string, Function> functions;
};

/// Throws PtxError with the line of what it does not understand.
Module parse(std::string_view text);

} // namespace dtcc::emulator

#endif // DTCC_TESTS_EMULATOR_PTX_SYNTAX_H
