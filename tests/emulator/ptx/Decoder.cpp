//===- Decoder.cpp - From the syntax of a kernel to its program
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/ptx/Decoder.h"
#include "tests/emulator/ptx/Warp.h"
#include <algorithm>
#include <cstring>

namespace dtcc::emulator {

void Decoder::wrong(unsigned line, const std::string &what) const {
  throw PtxError(Fault::Text, "PTX line " + std::to_string(line) + ": " + what);
}

static uint64_t roundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

uint32_t Decoder::allocate(unsigned width) {
  uint32_t place = program->frameBytes;
  program->frameBytes += uint32_t(roundUp(width ? width * kWarpSize : 4, 64));
  return place;
}

uint32_t Decoder::constant(unsigned width, uint64_t bits) {
  if (width < 8 && width)
    bits &= (1ull << (8 * width)) - 1;
  auto [found, made] = constants.try_emplace({width, bits}, 0);
  if (made) {
    found->second = allocate(width);
    program->constants.push_back({found->second, uint8_t(width), bits});
  }
  return found->second;
}

uint32_t Decoder::list(const std::vector<uint32_t> &places) {
  auto first = uint32_t(program->places.size());
  program->places.insert(program->places.end(), places.begin(), places.end());
  return first;
}

const Operand &Decoder::operand(const Instruction &instruction, size_t number) const {
  if (number >= instruction.operands.size())
    wrong(instruction.line, "'" + instruction.text() + "' has too few operands");
  return instruction.operands[number];
}

std::optional<unsigned> Decoder::widthOf(const Operand &operand) const {
  auto found = current->registers.find(operand.name);
  return operand.kind != Operand::Name || found == current->registers.end() ? std::nullopt
                                                                            : std::optional(bytesOf(found->second));
}

uint32_t Decoder::destination(const Instruction &instruction, const Operand &operand, unsigned width, bool wider) {
  if (operand.kind == Operand::Sink)
    return allocate(width);
  std::optional<unsigned> has = widthOf(operand);
  if (!has)
    wrong(instruction.line, "'" + instruction.text() + "' writes '" + operand.name + "', which is no register");
  if (*has != width && !(wider && *has > width && width))
    wrong(instruction.line, "'" + instruction.text() + "' needs a register of " + std::to_string(8 * width) +
                                " bits, got: " + operand.name);
  return registers.at(scoped(operand.name));
}

uint32_t Decoder::special(const Instruction &instruction, const std::string &name) {
  static const std::unordered_map<std::string_view, Special> names = {
      {"%tid.x", Special::TidX},
      {"%tid.y", Special::TidY},
      {"%tid.z", Special::TidZ},
      {"%ntid.x", Special::NtidX},
      {"%ntid.y", Special::NtidY},
      {"%ntid.z", Special::NtidZ},
      {"%ctaid.x", Special::CtaidX},
      {"%ctaid.y", Special::CtaidY},
      {"%ctaid.z", Special::CtaidZ},
      {"%nctaid.x", Special::NctaidX},
      {"%nctaid.y", Special::NctaidY},
      {"%nctaid.z", Special::NctaidZ},
      {"%laneid", Special::Lane},
      {"%warpid", Special::WarpNumber},
      {"%nwarpid", Special::WarpCount},
      {"%smid", Special::Processor},
      {"%lanemask_lt", Special::LanesLess},
      {"%lanemask_le", Special::LanesLessEqual},
      {"%lanemask_eq", Special::LanesEqual},
      {"%lanemask_gt", Special::LanesGreater},
      {"%lanemask_ge", Special::LanesGreaterEqual},
      {"%dynamic_smem_size", Special::DynamicShared},
      {"%total_smem_size", Special::TotalShared},
  };
  auto found = names.find(name);
  if (found == names.end())
    wrong(instruction.line, "'" + instruction.text() + "' reads '" + name + "', which the emulator does not know");
  auto [known, made] = specials.try_emplace(found->second, 0);
  if (made) {
    known->second = allocate(4);
    program->specials.push_back({known->second, found->second});
  }
  return known->second;
}

uint32_t Decoder::source(const Instruction &instruction, const Operand &operand, unsigned width, bool wider) {
  switch (operand.kind) {
  case Operand::Integer:
    return constant(width, uint64_t(operand.value));
  case Operand::Single:
    if (width != 4)
      wrong(instruction.line, "an f32 where '" + instruction.text() + "' takes another type");
    return constant(4, uint64_t(operand.value));
  case Operand::Double:
    if (width == 4)
      return constant(4, std::bit_cast<uint32_t>(float(std::bit_cast<double>(operand.value))));
    return constant(8, uint64_t(operand.value));
  case Operand::Name:
    if (operand.name == "WARP_SZ")
      return constant(width, kWarpSize);
    if (widthOf(operand))
      return destination(instruction, operand, width, wider);
    if (const Symbol *symbol = findSymbol(operand.name))
      return constant(width, symbol->address + uint64_t(operand.value));
    return special(instruction, operand.name);
  default:
    wrong(instruction.line, "'" + instruction.text() + "' cannot take such an operand");
  }
}

const Decoder::Symbol *Decoder::findSymbol(const std::string &name) const {
  for (const std::string &key : {scoped(name), name})
    if (auto found = symbols.find(key); found != symbols.end())
      return &found->second;
  return nullptr;
}

void Decoder::address(const Instruction &instruction, const Operand &address, Code &code) {
  if (address.kind != Operand::Address)
    wrong(instruction.line, "'" + instruction.text() + "' needs an address");
  code.value = address.value;
  Operand base;
  base.kind = Operand::Name;
  base.name = address.name;
  if (address.name.empty()) {
    code.a = constant(8, 0);
    code.from = 8;
  } else if (std::optional<unsigned> width = widthOf(base)) {
    if (*width != 4 && *width != 8)
      wrong(instruction.line, "an address has 32 or 64 bits, got: " + base.name);
    code.a = destination(instruction, base, *width);
    code.from = uint8_t(*width);
  } else if (const Symbol *symbol = findSymbol(address.name)) {
    code.a = constant(8, symbol->address);
    code.from = 8;
    // Parameters of a call lie in the thread's own memory.
    if (code.space == Space::Param)
      code.space = symbol->space;
  } else {
    wrong(instruction.line, "'" + address.name + "' is no address");
  }
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

/// Puts a variable of a block or a thread behind the others.
void Decoder::place(const Variable &variable, const std::string &name) {
  if (variable.space == Space::Shared) {
    if (variable.dynamic)
      return; // behind all others, at the end
    program->sharedBytes = uint32_t(roundUp(program->sharedBytes, std::max(1u, variable.align)));
    symbols[name] = {Space::Shared, kSharedStart + program->sharedBytes, variable.bytes};
    program->sharedBytes += uint32_t(variable.bytes);
  } else {
    program->localBytes = uint32_t(roundUp(program->localBytes, std::max(1u, variable.align)));
    symbols[name] = {Space::Local, kLocalStart + program->localBytes, variable.bytes};
    program->localBytes += uint32_t(variable.bytes);
  }
}

/// Callees before callers: a warp goes on where its lanes are least far, so that lanes in a
/// call come back before the others go on.
void Decoder::visit(const Function &function, std::vector<std::string> &path) {
  if (std::find(order.begin(), order.end(), &function) != order.end())
    return;
  if (std::find(path.begin(), path.end(), function.name) != path.end())
    wrong(function.line, "'" + function.name + "' calls itself, which the emulator does not do");
  path.push_back(function.name);
  for (const Instruction &instruction : function.body)
    if (instruction.opcode() == "call")
      for (const Operand &operand : instruction.operands)
        if (auto found = module.functions.find(operand.name);
            operand.kind == Operand::Name && found != module.functions.end() && found->second.defined)
          visit(found->second, path);
  path.pop_back();
  order.push_back(&function);
}

bool Decoder::isNamed(const std::string &name) const {
  return std::any_of(order.begin(), order.end(), [&](const Function *function) {
    return std::any_of(function->body.begin(), function->body.end(), [&](const Instruction &instruction) {
      return std::any_of(instruction.operands.begin(), instruction.operands.end(),
                         [&](const Operand &operand) { return operand.name == name; });
    });
  });
}

Decoder::Decoder(const Module &module, const std::string &entry, const Addresses &variables)
    : module(module), globals(variables), program(std::make_unique<Program>()) {
  const Function &function = module.functions.at(entry);
  program->name = entry;
  program->mostThreads = function.mostThreads;
  std::vector<std::string> path;
  visit(function, path);
  for (const auto &[name, where] : globals)
    symbols[name] = {Space::Global, where, 0};
  for (const Variable &variable : module.variables)
    if (variable.space == Space::Shared && isNamed(variable.name))
      place(variable, variable.name);
  for (const Function *each : order) {
    current = each;
    for (const auto &[name, type] : each->registers)
      registers[scoped(name)] = allocate(bytesOf(type));
    program->registers += unsigned(each->registers.size());
    for (const Variable &variable : each->variables)
      place(variable, scoped(variable.name));
    if (!each->entry) {
      returnPlaces[each->name] = allocate(4);
      for (const auto *variables : {&each->parameters, &each->results})
        for (const Variable &variable : *variables)
          place(variable, scoped(variable.name));
      continue;
    }
    for (const Variable &variable : each->parameters) {
      program->parameterBytes = roundUp(program->parameterBytes, variable.align);
      program->parameters.push_back({program->parameterBytes, variable.bytes});
      symbols[scoped(variable.name)] = {Space::Param, program->parameterBytes, variable.bytes};
      program->parameterBytes += variable.bytes;
    }
  }
  program->sharedBytes = uint32_t(roundUp(program->sharedBytes, 16));
  program->localBytes = uint32_t(roundUp(program->localBytes, 16));
  for (const Variable &variable : module.variables)
    if (variable.space == Space::Shared && variable.dynamic)
      symbols[variable.name] = {Space::Shared, kSharedStart + program->sharedBytes, 0};
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

void Decoder::branchTo(const Instruction &instruction, const std::string &label, Code &) {
  fixes.push_back({program->code.size(), label, instruction.line});
}

uint32_t Decoder::table(const Instruction &instruction, const std::string &name) {
  auto found = current->targets.find(name);
  if (found == current->targets.end())
    wrong(instruction.line, "no list of targets '" + name + "'");
  auto number = uint32_t(program->tables.size());
  program->tables.emplace_back();
  for (const std::string &label : found->second)
    tableFixes.push_back({number, {label, instruction.line}});
  return number;
}

static void copyLocal(Warp &warp, const Code &code, uint32_t lanes) {
  for (; lanes; lanes &= lanes - 1) {
    int lane = std::countr_zero(lanes);
    char *memory = warp.local(lane);
    std::memcpy(memory + code.d, memory + code.a, size_t(code.value));
  }
}

void Decoder::copy(const Instruction &instruction, const Code &like, const Symbol &from, const Symbol &to) {
  if (from.bytes != to.bytes)
    wrong(instruction.line, "a call with an argument of another size");
  Code code = like;
  code.control = Control::None;
  code.handler = copyLocal;
  code.a = uint32_t(from.address - kLocalStart);
  code.d = uint32_t(to.address - kLocalStart);
  code.value = int64_t(from.bytes);
  program->code.push_back(code);
}

void Decoder::call(const Instruction &instruction, Code code) {
  const Operand *callee = nullptr;
  std::vector<Operand> results, arguments;
  for (const Operand &operand : instruction.operands)
    if (operand.kind == Operand::Name)
      callee = &operand;
    else if (operand.kind == Operand::List)
      (callee ? arguments : results) = operand.elements;
  auto found = callee ? module.functions.find(callee->name) : module.functions.end();
  if (found == module.functions.end() || !found->second.defined)
    wrong(instruction.line, "call of '" + (callee ? callee->name : "") + "', which is not in this text");
  const Function &function = found->second;
  if (results.size() != function.results.size() || arguments.size() != function.parameters.size())
    wrong(instruction.line, "call of '" + function.name + "' with another number of arguments");
  auto move = [&](const std::vector<Operand> &mine, const std::vector<Variable> &theirs, bool in) {
    for (size_t i = 0; i < mine.size(); ++i) {
      const Symbol *here = findSymbol(mine[i].name);
      if (!here)
        wrong(instruction.line, "'" + mine[i].name + "' is no parameter");
      const Symbol &there = symbols.at(function.name + "/" + theirs[i].name);
      copy(instruction, code, in ? *here : there, in ? there : *here);
    }
  };
  move(arguments, function.parameters, true);
  code.control = Control::Call;
  code.target = starts.at(function.name);
  code.d = returnPlaces.at(function.name);
  program->code.push_back(code);
  move(results, function.results, false);
}

void Decoder::decodeFunction(const Function &function) {
  static const Rows rows = [] {
    Rows all;
    for (const Rows &family : {arithmeticRows(), comparisonRows(), logicRows(), conversionRows(), memoryRows(),
                               warpRows(), matrixRows(), controlRows()})
      all.insert(family.begin(), family.end());
    return all;
  }();
  current = &function;
  fixes.clear();
  tableFixes.clear();
  auto start = uint32_t(program->code.size());
  starts[function.name] = start;
  if (function.entry)
    program->start = start;
  std::vector<uint32_t> positions;
  for (const Instruction &instruction : function.body) {
    positions.push_back(uint32_t(program->code.size()));
    auto row = rows.find(instruction.opcode());
    if (row == rows.end())
      unknown(instruction);
    Code code;
    code.line = instruction.line;
    if (!instruction.guard.empty()) {
      Operand guard;
      guard.kind = Operand::Name;
      guard.name = instruction.guard;
      code.guard = destination(instruction, guard, 0);
      code.flip = instruction.guardNegated ? ~0u : 0;
    }
    if (instruction.opcode() == "call") {
      call(instruction, code);
      continue;
    }
    row->second(*this, instruction, code);
    program->code.push_back(code);
  }
  // Whatever runs off the end.
  positions.push_back(uint32_t(program->code.size()));
  Code last;
  last.line = function.line;
  last.control = function.entry ? Control::Exit : Control::Return;
  last.a = function.entry ? kNowhere : returnPlace();
  program->code.push_back(last);
  auto positionOf = [&](const std::string &label, unsigned line) {
    auto found = function.labels.find(label);
    if (found == function.labels.end())
      wrong(line, "no label '" + label + "'");
    return positions[found->second];
  };
  for (const Fix &fix : fixes)
    program->code[fix.code].target = positionOf(fix.label, fix.line);
  for (const auto &[table, target] : tableFixes)
    program->tables[table].push_back(positionOf(target.first, target.second));
}

std::unique_ptr<Program> Decoder::run() {
  for (const Function *function : order)
    decodeFunction(*function);
  return std::move(program);
}

std::unique_ptr<Program> decode(const Module &module, const std::string &entry, const Addresses &variables) {
  return Decoder(module, entry, variables).run();
}

} // namespace dtcc::emulator
