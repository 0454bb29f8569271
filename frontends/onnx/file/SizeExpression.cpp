//===- SizeExpression.cpp - Arithmetic and conditions over named sizes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recursive-descent parser that evaluates as it reads. Values are doubles, which hold whole numbers up to 2^53
// exactly: sizes are at most 2^40, and an expression that leaves this range has no value.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/file/SizeExpression.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace dtcc::onnx;

namespace {
constexpr double kMost = double(int64_t(1) << 53);
constexpr int kMostNested = 64;

bool isWordCharacter(char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; }

class Parser {
public:
  Parser(StringRef text, SizeOfName sizeOf) : rest(text), sizeOf(sizeOf) {}

  /// Returns the value that `read` computes, or nothing if it does not read the whole text.
  std::optional<double> whole(double (Parser::*read)()) {
    double value = (this->*read)();
    return failed || !rest.trim().empty() ? std::nullopt : std::optional(value);
  }

  double disjunction() {
    double value = conjunction();
    while (acceptWord("or")) {
      double other = conjunction();
      value = value != 0 || other != 0;
    }
    return value;
  }

  double sum() {
    double value = product();
    while (!failed)
      if (accept("+"))
        value = checked(value + product());
      else if (accept("-"))
        value = checked(value - product());
      else
        break;
    return value;
  }

private:
  bool accept(StringRef token) {
    rest = rest.ltrim();
    return !failed && rest.consume_front(token);
  }
  bool acceptWord(StringRef word) {
    rest = rest.ltrim();
    StringRef behind = rest;
    if (failed || !behind.consume_front(word) || (!behind.empty() && isWordCharacter(behind.front())))
      return false;
    rest = behind;
    return true;
  }
  double checked(double value) {
    failed |= !(std::fabs(value) <= kMost);
    return value;
  }

  double conjunction() {
    double value = negation();
    while (acceptWord("and")) {
      double other = negation();
      value = value != 0 && other != 0;
    }
    return value;
  }

  double negation() {
    bool turned = false;
    while (acceptWord("not"))
      turned = !turned;
    double value = comparison();
    return turned ? value == 0 : value;
  }

  double comparison() {
    double left = bits();
    if (accept("=="))
      return left == bits();
    if (accept("!="))
      return left != bits();
    if (accept("<="))
      return left <= bits();
    if (accept(">="))
      return left >= bits();
    if (accept("<"))
      return left < bits();
    if (accept(">"))
      return left > bits();
    return left;
  }

  double bits() {
    double value = sum();
    while (accept("&")) {
      double other = sum();
      failed |= value < 0 || other < 0 || value != std::floor(value) || other != std::floor(other);
      value = failed ? 0 : double(int64_t(value) & int64_t(other));
    }
    return value;
  }

  /// The quotient of whole numbers, rounded down. It is exact: a quotient below 2^53 that is not whole differs from
  /// the next whole number by more than the rounding of its division.
  double floorQuotient(double value, double by) {
    failed |= by <= 0;
    return failed ? 0 : std::floor(value / by);
  }

  double product() {
    double value = unary();
    while (!failed) {
      if (accept("//")) {
        value = floorQuotient(value, unary());
      } else if (accept("/")) {
        double by = unary();
        failed |= by == 0;
        value = failed ? 0 : checked(value / by);
      } else if (accept("%")) {
        double by = unary();
        value = value - by * floorQuotient(value, by);
      } else if (accept("*")) {
        value = checked(value * unary());
      } else {
        break;
      }
    }
    return value;
  }

  double unary() {
    if (++depth > kMostNested)
      failed = true;
    if (failed)
      return 0;
    double value = accept("-") ? -unary() : power();
    --depth;
    return value;
  }

  double power() {
    double base = primary();
    return accept("**") ? checked(std::pow(base, unary())) : base;
  }

  double primary() {
    rest = rest.ltrim();
    if (accept("(")) {
      double value = disjunction();
      failed |= !accept(")");
      return value;
    }
    StringRef word = rest.take_while(isWordCharacter);
    rest = rest.drop_front(word.size());
    if (word.empty()) {
      failed = true;
      return 0;
    }
    if (llvm::isDigit(word.front())) {
      double value = 0;
      failed |= word.getAsDouble(value);
      return checked(value);
    }
    if (rest.starts_with("("))
      return call(word);
    std::optional<int64_t> size = sizeOf(word);
    failed |= !size;
    return size ? checked(double(*size)) : 0;
  }

  double call(StringRef name) {
    SmallVector<double> operands;
    for (bool more = accept("("); more; more = accept(","))
      operands.push_back(disjunction());
    failed |= !accept(")");
    if (failed)
      return 0;
    if (name == "max" || name == "min") {
      double value = operands[0];
      for (double operand : operands)
        value = name == "max" ? std::max(value, operand) : std::min(value, operand);
      return value;
    }
    using Function = double (*)(double);
    Function function = llvm::StringSwitch<Function>(name)
                            .Case("abs", [](double x) { return std::fabs(x); })
                            .Case("ceil", [](double x) { return std::ceil(x); })
                            .Case("floor", [](double x) { return std::floor(x); })
                            .Case("int", [](double x) { return std::trunc(x); })
                            // Python rounds halves to even numbers, as the default rounding mode does.
                            .Case("round", [](double x) { return std::nearbyint(x); })
                            .Case("sqrt", [](double x) { return std::sqrt(x); })
                            .Default(nullptr);
    failed |= !function || operands.size() != 1;
    return failed ? 0 : checked(function(operands[0]));
  }

  StringRef rest;
  SizeOfName sizeOf;
  bool failed = false;
  int depth = 0;
};
} // namespace

std::optional<int64_t> dtcc::onnx::evaluateSize(StringRef text, SizeOfName sizeOf) {
  std::optional<double> value = Parser(text, sizeOf).whole(&Parser::sum);
  if (!value || *value != std::floor(*value))
    return std::nullopt;
  return int64_t(*value);
}

std::optional<bool> dtcc::onnx::evaluateCondition(StringRef text, SizeOfName sizeOf) {
  std::optional<double> value = Parser(text, sizeOf).whole(&Parser::disjunction);
  return value ? std::optional(*value != 0) : std::nullopt;
}
