//===- Limits.h - Unsupported forms of operators, and replacements of operators
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text for users: the message that lists unsupported nodes, and SUPPORTED.md, which the
// node conformance test writes. every-operator.test asks for the nearest thing of each
// operator that the onnx package knows.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_LIMITS_H
#define DTCC_FRONTENDS_ONNX_LIMITS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace dtcc::onnx {

/// Forms of an operator that its rule refuses; empty if it takes everything that its definition allows.
llvm::StringRef limitOf(llvm::StringRef op);

/// The nearest thing that works for `name`: an operator without a rule, or all operators of a domain.
struct Replacement {
  llvm::StringRef name, text;
};

/// All that is known, in the order of names. Operators of other domains are named as in the table of rules.
llvm::ArrayRef<Replacement> replacements();

/// The replacement of an operator without a rule. An operator that is not in the table has that of its domain.
/// `domain` is empty for the standard one; only a standard operator may have none, with an empty text.
Replacement replacementOf(llvm::StringRef domain, llvm::StringRef op);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_LIMITS_H
