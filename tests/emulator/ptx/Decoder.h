//===- Decoder.h - What the rows of the instruction table build with -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each family of instructions has a file with its handlers and a table from opcodes to
// functions that fill in a Code. They ask the decoder for the places of operands.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_EMULATOR_PTX_DECODER_H
#define DTCC_TESTS_EMULATOR_PTX_DECODER_H

#include "tests/emulator/ptx/Error.h"
#include "tests/emulator/ptx/Program.h"

namespace dtcc::emulator {

class Decoder;
using Build = void (*)(Decoder &, const Instruction &, Code &);
using Rows = std::unordered_map<std::string_view, Build>;

/// The families.
const Rows &arithmeticRows();
const Rows &comparisonRows();
const Rows &logicRows();
const Rows &conversionRows();
const Rows &memoryRows();
const Rows &warpRows();
const Rows &matrixRows();
const Rows &controlRows();

class Decoder {
public:
  Decoder(const Module &module, const std::string &entry, const Addresses &variables);
  std::unique_ptr<Program> run();

  [[noreturn]] void wrong(unsigned line, const std::string &what) const;
  [[noreturn]] void unknown(const Instruction &instruction) const {
    wrong(instruction.line, "the emulator does not know '" + instruction.text() + "'");
  }

  /// The operand with this number; an error if there are fewer.
  const Operand &operand(const Instruction &instruction, size_t number) const;
  /// The place of the register that is written. `width`: its bytes (0: a predicate); with
  /// `wider`, it may have more.
  uint32_t destination(const Instruction &instruction, const Operand &operand, unsigned width, bool wider = false);
  /// The place of what is read: a register, a constant, the address of a variable.
  uint32_t source(const Instruction &instruction, const Operand &operand, unsigned width, bool wider = false);
  uint32_t constant(unsigned width, uint64_t bits);
  /// Bytes of a cell of the register that an operand names; nothing if it names none.
  std::optional<unsigned> widthOf(const Operand &operand) const;
  /// Fills in a, value and from (bytes of the register) for an address; the space if `address`
  /// names a variable: parameters of entries and of calls lie apart.
  void address(const Instruction &instruction, const Operand &address, Code &code);
  /// Appends more places.
  uint32_t list(const std::vector<uint32_t> &places);
  std::vector<uint32_t> targetsOf(const Instruction &instruction, const std::string &table);
  void branchTo(const Instruction &instruction, const std::string &label, Code &code);
  /// The code of a call, with the copies of what goes in and comes out.
  void call(const Instruction &instruction, Code code);
  bool inEntry() const { return current->entry; }
  uint32_t returnPlace() const { return returnPlaces.at(current->name); }
  uint32_t table(const Instruction &instruction, const std::string &name);

private:
  struct Symbol {
    Space space;
    uint64_t address;
    uint64_t bytes;
  };
  void decodeFunction(const Function &function);
  void visit(const Function &function, std::vector<std::string> &path);
  void place(const Variable &variable, const std::string &name);
  uint32_t allocate(unsigned width);
  const Symbol *findSymbol(const std::string &name) const;
  std::string scoped(const std::string &name) const { return current->name + "/" + name; }
  uint32_t special(const Instruction &instruction, const std::string &name);
  void copy(const Instruction &instruction, const Code &like, const Symbol &from, const Symbol &to);
  bool isNamed(const std::string &name) const;

  const Module &module;
  const Addresses &globals;
  std::unique_ptr<Program> program;
  std::vector<const Function *> order;
  const Function *current = nullptr;
  std::unordered_map<std::string, Symbol> symbols; ///< "function/name" and "name"
  std::unordered_map<std::string, uint32_t> registers;
  std::unordered_map<std::string, uint32_t> returnPlaces, starts;
  std::map<std::pair<unsigned, uint64_t>, uint32_t> constants;
  std::map<Special, uint32_t> specials;
  struct Fix {
    size_t code;
    std::string label;
    unsigned line;
  };
  std::vector<Fix> fixes;
  std::vector<std::pair<size_t, std::pair<std::string, unsigned>>> tableFixes;
};

} // namespace dtcc::emulator

#endif // DTCC_TESTS_EMULATOR_PTX_DECODER_H
