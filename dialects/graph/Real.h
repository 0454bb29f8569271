//===- Real.h - A number as an attribute parameter
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes are uniqued, so their parameters need a hash and an equality that is
// exact: a double has neither for NaN and -0. It prints so that it reads back the same.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_REAL_H
#define DTCC_DIALECTS_GRAPH_REAL_H

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/bit.h"

namespace dtcc::graph {

/// A double, compared and hashed by its bits.
class Real {
public:
  Real(double value = 0) : value(value) {}
  operator double() const { return value; }
  bool operator==(const Real &other) const { return bits() == other.bits(); }
  friend llvm::hash_code hash_value(const Real &real) { return llvm::hash_value(real.bits()); }

private:
  uint64_t bits() const { return llvm::bit_cast<uint64_t>(value); }
  double value;
};

inline mlir::AsmPrinter &operator<<(mlir::AsmPrinter &printer, const Real &real) {
  printer.printFloat(llvm::APFloat(static_cast<double>(real)));
  return printer;
}

} // namespace dtcc::graph

namespace mlir {
template <> struct FieldParser<dtcc::graph::Real> {
  static FailureOr<dtcc::graph::Real> parse(AsmParser &parser) {
    double value;
    if (parser.parseFloat(value))
      return failure();
    return dtcc::graph::Real(value);
  }
};
} // namespace mlir

#endif // DTCC_DIALECTS_GRAPH_REAL_H
