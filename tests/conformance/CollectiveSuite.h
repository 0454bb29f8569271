//===- CollectiveSuite.h - What every collective backend must do -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The suite runs on a set of ranks that some backend connects: threads of the test, or
// processes that mpirun started. Every rank calls it with the same communicators. It
// returns what is wrong, empty if nothing is.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_CONFORMANCE_COLLECTIVESUITE_H
#define DTCC_TESTS_CONFORMANCE_COLLECTIVESUITE_H

#include "runtime/collective/RowExchange.h"

namespace dtcc::rt::test {

/// Promise of a backend about the order of sums.
enum class Sums {
  InOrder, /* in the order of the group, of all element types */
  AnyOrder /* in any, but of 16-bit integers: numbers are whole, so that the bits are the same */
};

/// Runs every collective, element type, reduction and a range of sizes on `group`.
/// Results are compared with a computation from the same inputs in the order of the
/// group, bit for bit.
std::string checkCollectives(Communicator &group, Sums sums = Sums::InOrder);

/// One size of many chunks, which a team shares out.
std::string checkLarge(Communicator &group, Sums sums = Sums::InOrder);

/// Collectives of all ranks over memory of Transport::allocate, and where one member's
/// buffer lies elsewhere.
std::string checkAllocated(Transport &transport, Communicator &group);

/// Interface that moves rows among the members of a group, as RowExchange.h describes.
class RowMover {
public:
  virtual ~RowMover() = default;
  virtual int64_t size() const = 0;
  virtual int64_t index() const = 0;
  virtual void dispatch(const RowExchange &exchange, const void *in, const void *ids, void *out) = 0;
  virtual void combine(const RowExchange &exchange, const void *in, const void *ids, void *out) = 0;
};

/// Rows to the members that hold a picked expert, and what these make of them back: mixed, skewed, long.
std::string checkRows(RowMover &mover);
/// Checks the exchange of rows by the communicator's allToAllRows.
std::string checkRows(Communicator &group);

/// Messages in a ring, several under way at once, different lengths.
std::string checkMessages(Communicator &group);
/// Every member's bytes arrive at the next. On a group that sent nothing so far.
std::string checkShifts(Communicator &group);

/// Groups of a mesh of `rows` x `columns` ranks: reductions over rows and columns.
std::string checkGroups(Transport &transport, int64_t rank, int64_t rows, int64_t columns);

} // namespace dtcc::rt::test

#endif // DTCC_TESTS_CONFORMANCE_COLLECTIVESUITE_H
