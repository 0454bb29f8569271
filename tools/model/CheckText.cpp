//===- CheckText.cpp - Text of modules that the parser can bear
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "tools/model/CheckText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

namespace dtcc {

namespace {
constexpr int64_t kMostDepth = 256, kMostResults = 65536, kMostSize = int64_t(1) << 24, kMostSigns = 256;

/// Reads the text word by word. What an alias is follows from its first character and the '=' behind its name, where no
/// bracket is open: "#map = ..", "!type = ..". All that follows is taken for a part of it up to the next alias or the
/// next op, whose name has a dot or which begins with a value.
class TextChecker {
public:
  explicit TextChecker(llvm::StringRef text) : text(text) {}
  std::optional<TextProblem> run();

private:
  struct Alias {
    int64_t depth = 0, size = 0;
  };
  void skipString();
  void readName(char first);
  void readResult();
  void readSign(char sign);
  void wrong(const llvm::Twine &message) {
    llvm::StringRef before = text.take_front(word);
    if (!problem)
      problem = TextProblem{before.count('\n') + 1, word - (before.rfind('\n') + 1) + 1, message.str()};
  }
  /// Something lies `levels` deep from here on, and is `size` large.
  void add(int64_t levels, int64_t size);

  llvm::StringRef text;
  size_t at = 0, word = 0; /* the next character, and the first of the word at hand */
  int64_t depth = 0, signs = 0;
  llvm::StringMap<Alias> aliases;
  /// The alias that is being defined, or empty.
  llvm::StringRef defined;
  std::optional<TextProblem> problem;
};
} // namespace

static bool isNamePart(char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.'; }

void TextChecker::add(int64_t levels, int64_t size) {
  if (depth + levels > kMostDepth)
    wrong("brackets must lie at most " + llvm::Twine(kMostDepth) + " deep");
  if (size > kMostSize)
    wrong("an alias must stand for at most " + llvm::Twine(kMostSize) + " words");
  if (defined.empty())
    return;
  Alias &alias = aliases[defined];
  alias.depth = std::max(alias.depth, depth + levels);
  alias.size += size;
  if (alias.size > kMostSize)
    wrong("an alias must stand for at most " + llvm::Twine(kMostSize) + " words, got more in: " + defined);
}

void TextChecker::skipString() {
  for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
    if (text[at] == '\\')
      ++at;
  ++at;
}

/// A word; with '#' or '!' in front, maybe an alias.
void TextChecker::readName(char first) {
  size_t begin = at++;
  while (at < text.size() && isNamePart(text[at]))
    ++at;
  llvm::StringRef name = text.slice(begin, at);
  if (first == '#' || first == '!') {
    if (depth == 0 && text.drop_front(at).ltrim(" \t\r\n").starts_with("=")) {
      defined = name;
      aliases[name] = {};
      return;
    }
    if (auto known = aliases.find(name); known != aliases.end() && name != defined)
      return add(known->second.depth, known->second.size);
  } else if (depth == 0 && (name.contains('.') || name == "module")) {
    defined = "";
  }
  add(0, 1);
}

/// Reads the number behind '#' of a value's name, "%0#3", or behind ':' of an op's results, "%0:3".
void TextChecker::readResult() {
  if (depth == 0)
    defined = "";
  size_t begin = ++at;
  while (at < text.size() && isNamePart(text[at]))
    ++at;
  if (at + 1 >= text.size() || (text[at] != '#' && text[at] != ':') || !llvm::isDigit(text[at + 1]))
    return;
  llvm::StringRef number = text.drop_front(at + 1).take_while(llvm::isDigit);
  uint64_t value = 0;
  if (number.getAsInteger(10, value) || value >= uint64_t(kMostResults))
    wrong("an op must have at most " + llvm::Twine(kMostResults) + " results, got: " + text.slice(begin - 1, at + 1) +
          number);
  at += 1 + number.size();
}

void TextChecker::readSign(char sign) {
  char next = at + 1 < text.size() ? text[at + 1] : 0;
  if ((sign == '-' && next == '>') || ((sign == '<' || sign == '>') && next == '=')) {
    at += 2; // no brackets: a result type, a comparison
    return;
  }
  ++at;
  signs = sign == '-' ? signs + 1 : 0;
  if (signs > kMostSigns)
    wrong("at most " + llvm::Twine(kMostSigns) + " minus signs may stand in a row");
  if (llvm::StringRef("([{<").contains(sign)) {
    add(1, 1);
    ++depth;
  } else if (llvm::StringRef(")]}>").contains(sign)) {
    depth = std::max<int64_t>(depth - 1, 0);
  }
}

std::optional<TextProblem> TextChecker::run() {
  while (at < text.size() && !problem) {
    char c = text[at];
    word = at;
    if (llvm::isSpace(c)) {
      ++at;
      continue;
    }
    if (c == '"') {
      skipString();
      add(0, 1);
    } else if (text.drop_front(at).starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '%') {
      readResult();
    } else if (c == '#' || c == '!' || isNamePart(c)) {
      readName(c);
    } else {
      readSign(c);
      continue;
    }
    signs = 0;
  }
  return problem;
}

std::optional<TextProblem> checkText(llvm::StringRef text) { return TextChecker(text).run(); }

} // namespace dtcc
