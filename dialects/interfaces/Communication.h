//===- Communication.h - What an op exchanges with other ranks
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The value that CommunicationOpInterface returns, for ops on tensors and for commands alike.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_INTERFACES_COMMUNICATION_H
#define DTCC_DIALECTS_INTERFACES_COMMUNICATION_H

#include "mlir/IR/BuiltinAttributes.h"
#include "runtime/abi/Collectives.h"
#include <string>

namespace dtcc {

/// One collective of a group, or one message.
struct Communication {
  /// Nothing: the op sends a message to `peer`, or receives one from it.
  std::optional<CollectiveKind> collective;
  Reduction reduction = Reduction::Sum;

  /// The group: mesh axes of an op on tensors, the communicator of a command.
  mlir::ArrayAttr axes;
  mlir::FlatSymbolRefAttr communicator;
  /// Coordinates of the one axis that take part; empty: all.
  llvm::ArrayRef<int64_t> members;

  /// The dimension along which the members' parts are joined, and the one of which a member takes its part; -1: none.
  int64_t joins = -1, splits = -1;
  /// Bytes that this rank gives and gets.
  int64_t bytesIn = 0, bytesOut = 0;
  /// Experts that a row picks, of exchanges of rows (Traffic::ToPicked).
  int64_t picks = 0;
  /// Whether it takes place in one micro-batch of a phase that repeats, not in each.
  bool once = false;

  bool sends = false;
  int64_t peer = 0, channel = 0;
  /// Messages of the channel that may be on their way.
  int64_t room = 1;

  const CollectiveInfo &info() const { return infoOf(*collective); }
};

/// The type of the first operand, else of the first result, as text.
std::string describeFirstType(mlir::Operation *op);

} // namespace dtcc

#endif // DTCC_DIALECTS_INTERFACES_COMMUNICATION_H
