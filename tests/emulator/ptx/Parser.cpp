//===- Parser.cpp - From the text of PTX to its syntax
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/ptx/Error.h"
#include "tests/emulator/ptx/Syntax.h"
#include "tests/emulator/ptx/Tokens.h"
#include <bit>
#include <cstdlib>
#include <cstring>
#include <set>

namespace dtcc::emulator {
namespace {

std::vector<std::string> splitAtPoints(std::string_view word) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= word.size();) {
    size_t end = std::min(word.find('.', at), word.size());
    if (end > at)
      parts.emplace_back(word.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

class Parser {
public:
  explicit Parser(std::string_view text) : tokens(split(text)) {}

  Module run();

private:
  [[noreturn]] void wrong(const std::string &what) const {
    throw PtxError(Fault::Text, "PTX line " + std::to_string(tokens[at].line) + ": " + what);
  }
  std::string_view peek() const { return tokens[at].text; }
  bool done() const { return peek().empty(); }
  std::string_view take() {
    if (done())
      wrong("the text ends too early");
    return tokens[at++].text;
  }
  bool accept(std::string_view word) {
    if (peek() != word)
      return false;
    ++at;
    return true;
  }
  void expect(std::string_view word) {
    if (!accept(word))
      wrong("expected '" + std::string(word) + "', got '" + std::string(peek()) + "'");
  }
  void skipLine() {
    for (unsigned line = tokens[at].line; !done() && tokens[at].line == line;)
      ++at;
  }
  bool number(Operand &operand);
  int64_t integer();
  Type type(std::string_view word) const;

  Variable variable(Space space);
  void initialise(Variable &variable, unsigned width);
  std::vector<Variable> parameters();
  void function(bool entry);
  void body(Function &function);
  void registers(Function &function);
  Operand operand();
  Operand address();
  std::vector<Operand> operandsUntil(std::string_view end);

  /// The name in the text -> the one of the function.
  std::string declare(std::string_view name);
  std::string resolve(std::string_view name) const;

  std::vector<Token> tokens;
  size_t at = 0;
  Module module;
  std::vector<std::unordered_map<std::string, std::string>> scopes;
  unsigned renamed = 0;
};

//===----------------------------------------------------------------------===//
// Names and numbers
//===----------------------------------------------------------------------===//

std::string Parser::declare(std::string_view name) {
  std::string unique(name);
  if (scopes.size() > 1)
    unique += "#" + std::to_string(++renamed);
  scopes.back()[std::string(name)] = unique;
  return unique;
}

std::string Parser::resolve(std::string_view name) const {
  std::string key(name);
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
    if (auto found = scope->find(key); found != scope->end())
      return found->second;
  return key;
}

Type Parser::type(std::string_view word) const {
  std::optional<Type> found = word.starts_with(".") ? findType(word.substr(1)) : std::nullopt;
  if (!found)
    wrong("unknown type '" + std::string(word) + "'");
  return *found;
}

bool Parser::number(Operand &operand) {
  size_t start = at;
  bool minus = accept("-");
  std::string text(peek());
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0]))) {
    at = start;
    return false;
  }
  ++at;
  char kind = text.size() > 1 && text[0] == '0' ? char(std::tolower(text[1])) : ' ';
  if (kind == 'f' || kind == 'd') {
    operand.kind = kind == 'f' ? Operand::Single : Operand::Double;
    uint64_t bits = std::strtoull(text.c_str() + 2, nullptr, 16);
    operand.value = int64_t(minus ? bits ^ (kind == 'f' ? 1ull << 31 : 1ull << 63) : bits);
  } else if (text.find('.') != text.npos) {
    operand.kind = Operand::Double;
    double value = std::strtod(text.c_str(), nullptr);
    operand.value = std::bit_cast<int64_t>(minus ? -value : value);
  } else {
    operand.kind = Operand::Integer;
    uint64_t value = std::strtoull(text.c_str(), nullptr, kind == 'b' ? 2 : 0);
    operand.value = int64_t(minus ? -value : value);
  }
  return true;
}

int64_t Parser::integer() {
  Operand found;
  if (!number(found) || found.kind != Operand::Integer)
    wrong("expected an integer, got '" + std::string(peek()) + "'");
  return found.value;
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

void Parser::initialise(Variable &variable, unsigned width) {
  auto put = [&](uint64_t value) {
    const auto *bytes = reinterpret_cast<const uint8_t *>(&value);
    variable.initial.insert(variable.initial.end(), bytes, bytes + width);
  };
  auto one = [&](auto &&self) -> void {
    if (accept("{")) {
      while (!accept("}")) {
        self(self);
        accept(",");
      }
      return;
    }
    Operand value;
    if (number(value)) {
      put(uint64_t(value.value));
      return;
    }
    bool generic = accept("generic");
    if (generic)
      expect("(");
    Variable::Reference reference{variable.initial.size(), std::string(take()), 0};
    if (generic)
      expect(")");
    if (accept("+"))
      reference.offset = integer();
    variable.references.push_back(reference);
    put(0);
  };
  one(one);
  if (variable.initial.size() > variable.bytes)
    wrong("more initial values than cells of '" + variable.name + "'");
}

/// After the word of its space.
Variable Parser::variable(Space space) {
  Variable made;
  made.space = space;
  made.line = tokens[at].line;
  std::optional<Type> element;
  unsigned vector = 1;
  while (peek().starts_with(".")) {
    std::string_view word = take();
    if (word == ".align") {
      made.align = unsigned(integer());
    } else if (word == ".v2" || word == ".v4") {
      vector = unsigned(word[2] - '0');
    } else if (word == ".ptr") {
      // Properties of the memory that a parameter points to: .ptr .global .align 16
      while (peek() == ".align" || peek() == ".global" || peek() == ".shared" || peek() == ".const" ||
             peek() == ".local")
        if (take() == ".align")
          integer();
    } else if (word == ".attribute") {
      expect("(");
      while (!accept(")"))
        take();
    } else {
      element = type(word);
    }
  }
  if (!element)
    wrong("a variable without a type");
  made.name = std::string(take());
  unsigned width = bytesOf(*element);
  made.bytes = uint64_t(width) * vector;
  made.align = std::max<unsigned>(made.align, unsigned(made.bytes));
  while (accept("[")) {
    if (accept("]")) {
      made.dynamic = true;
      made.bytes = 0;
      continue;
    }
    made.bytes *= uint64_t(integer());
    expect("]");
  }
  if (accept("="))
    initialise(made, width);
  return made;
}

std::vector<Variable> Parser::parameters() {
  std::vector<Variable> made;
  expect("(");
  while (!accept(")")) {
    expect(".param");
    made.push_back(variable(Space::Param));
    accept(",");
  }
  return made;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void Parser::registers(Function &function) {
  Type element = type(take());
  // .reg .v4 .b32 is of old compilers.
  do {
    std::string name(take());
    if (!accept("<")) {
      function.registers[declare(name)] = element;
      continue;
    }
    int64_t count = integer();
    expect(">");
    for (int64_t i = 0; i < count; ++i)
      function.registers[declare(name + std::to_string(i))] = element;
  } while (accept(","));
  expect(";");
}

Operand Parser::address() {
  Operand made;
  made.kind = Operand::Address;
  Operand offset;
  if (number(offset)) {
    made.value = offset.value;
  } else {
    made.name = resolve(take());
    if (accept("+"))
      made.value = integer();
    else if (peek() == "-")
      made.value = integer();
  }
  expect("]");
  return made;
}

std::vector<Operand> Parser::operandsUntil(std::string_view end) {
  std::vector<Operand> made;
  while (!accept(end)) {
    made.push_back(operand());
    if (peek() != end)
      expect(",");
  }
  return made;
}

Operand Parser::operand() {
  Operand made;
  if (accept("["))
    return address();
  if (accept("{")) {
    made.kind = Operand::Vector;
    made.elements = operandsUntil("}");
    return made;
  }
  if (accept("(")) {
    made.kind = Operand::List;
    made.elements = operandsUntil(")");
    return made;
  }
  if (number(made))
    return made;
  made.negated = accept("!");
  std::string_view word = take();
  if (!isWordCharacter(word[0]))
    wrong("expected an operand, got '" + std::string(word) + "'");
  made.kind = word == "_" ? Operand::Sink : Operand::Name;
  made.name = resolve(word);
  if (accept("|")) {
    Operand pair;
    pair.kind = Operand::Pair;
    pair.elements = {made, operand()};
    return pair;
  }
  // A variable's address, moved on.
  if (peek() == "+" && made.kind == Operand::Name) {
    take();
    made.value = integer();
  }
  return made;
}

void Parser::body(Function &function) {
  size_t depth = scopes.size();
  scopes.emplace_back();
  while (scopes.size() > depth) {
    if (accept("{")) {
      scopes.emplace_back();
      continue;
    }
    if (accept("}")) {
      scopes.pop_back();
      continue;
    }
    unsigned line = tokens[at].line;
    std::string_view word = take();
    if (word == ".reg") {
      registers(function);
    } else if (word == ".shared" || word == ".local" || word == ".param") {
      Variable made = variable(word == ".shared" ? Space::Shared : word == ".local" ? Space::Local : Space::Param);
      made.name = declare(made.name);
      function.variables.push_back(made);
      expect(";");
    } else if (word == ".loc") {
      skipLine();
    } else if (word == ".pragma") {
      take();
      expect(";");
    } else if (accept(":")) {
      if (accept(".branchtargets")) {
        std::vector<std::string> &list = function.targets[std::string(word)];
        do
          list.emplace_back(take());
        while (accept(","));
        expect(";");
      } else {
        function.labels[std::string(word)] = function.body.size();
      }
    } else {
      Instruction made;
      made.line = line;
      if (word == "@") {
        made.guardNegated = accept("!");
        made.guard = resolve(take());
        word = take();
      }
      made.words = splitAtPoints(word);
      if (made.words.empty() || !isWordCharacter(word[0]))
        wrong("expected an instruction, got '" + std::string(word) + "'");
      made.operands = operandsUntil(";");
      function.body.push_back(std::move(made));
    }
  }
}

void Parser::function(bool entry) {
  Function made;
  made.entry = entry;
  made.line = tokens[at].line;
  if (!entry && peek() == "(")
    made.results = parameters();
  made.name = std::string(take());
  if (peek() == "(")
    made.parameters = parameters();
  while (peek().starts_with(".")) {
    std::string_view word = take();
    Operand ignored;
    uint64_t threads = 1;
    while (number(ignored)) {
      threads *= uint64_t(ignored.value);
      accept(",");
    }
    if (word == ".maxntid" || word == ".reqntid")
      made.mostThreads = threads;
  }
  if (accept("{")) {
    made.defined = true;
    body(made);
  } else {
    expect(";");
  }
  Function &known = module.functions[made.name];
  if (made.defined || !known.defined)
    known = std::move(made);
}

Module Parser::run() {
  static const std::set<std::string_view> linkage = {".visible", ".weak", ".extern", ".common"};
  while (!done()) {
    bool external = false;
    while (linkage.count(peek()))
      external |= take() == ".extern";
    std::string_view word = take();
    if (word == ".version" || word == ".target" || word == ".file" || word == ".loc") {
      --at;
      skipLine();
    } else if (word == ".address_size") {
      if (integer() != 64)
        wrong("addresses of 64 bits are expected");
    } else if (word == ".entry" || word == ".func") {
      function(word == ".entry");
    } else if (word == ".global" || word == ".const" || word == ".shared") {
      Variable made = variable(word == ".global" ? Space::Global : word == ".const" ? Space::Const : Space::Shared);
      made.external = external && !made.dynamic;
      module.variables.push_back(made);
      expect(";");
    } else if (word == ".section") {
      while (!accept("}"))
        take();
    } else {
      --at;
      wrong("unknown directive '" + std::string(word) + "'");
    }
  }
  return std::move(module);
}
} // namespace

Module parse(std::string_view text) { return Parser(text).run(); }

std::optional<Type> findType(std::string_view word) {
  static const std::unordered_map<std::string_view, Type> types = {
      {"pred", Type::Pred}, {"u8", Type::U8},        {"s8", Type::S8},   {"b8", Type::B8},     {"u16", Type::U16},
      {"s16", Type::S16},   {"b16", Type::B16},      {"f16", Type::F16}, {"bf16", Type::BF16}, {"u32", Type::U32},
      {"s32", Type::S32},   {"b32", Type::B32},      {"f32", Type::F32}, {"tf32", Type::TF32}, {"f16x2", Type::F16x2},
      {"u64", Type::U64},   {"s64", Type::S64},      {"b64", Type::B64}, {"f64", Type::F64},   {"f32x2", Type::F32x2},
      {"b128", Type::B128}, {"bf16x2", Type::BF16x2}};
  auto found = types.find(word);
  return found == types.end() ? std::nullopt : std::optional(found->second);
}

unsigned bytesOf(Type type) {
  switch (type) {
  case Type::Pred:
    return 0;
  case Type::U8:
  case Type::S8:
  case Type::B8:
    return 1;
  case Type::U16:
  case Type::S16:
  case Type::B16:
  case Type::F16:
  case Type::BF16:
    return 2;
  case Type::U64:
  case Type::S64:
  case Type::B64:
  case Type::F64:
  case Type::F32x2:
    return 8;
  case Type::B128:
    return 16;
  default:
    return 4;
  }
}

bool Instruction::has(std::string_view word) const {
  for (size_t i = 1; i < words.size(); ++i)
    if (words[i] == word)
      return true;
  return false;
}

std::vector<Type> Instruction::types() const {
  std::vector<Type> found;
  for (size_t i = 1; i < words.size(); ++i)
    if (std::optional<Type> type = findType(words[i]))
      found.push_back(*type);
  return found;
}

std::string Instruction::text() const {
  std::string all = words[0];
  for (size_t i = 1; i < words.size(); ++i)
    all += "." + words[i];
  return all;
}

} // namespace dtcc::emulator
