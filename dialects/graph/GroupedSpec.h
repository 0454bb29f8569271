//===- GroupedSpec.h - The letters of a grouped contraction
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction one of whose letters is not a loop but given by the row.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_GROUPEDSPEC_H
#define DTCC_DIALECTS_GRAPH_GROUPEDSPEC_H

#include "dialects/graph/ContractSpec.h"

namespace dtcc::graph {

struct GroupedSpec {
  ContractSpec terms;
  /// The letters of the ids.
  std::string rows;
  /// The letter whose index is the row's id.
  char group = '\0';
  /// Whether the group's letter stands in the result, so that rows are summed within their group.
  bool byGroup = false;

  /// `spec` and `rows` are those of a verified op, or to be verified.
  static GroupedSpec parse(llvm::StringRef spec, llvm::StringRef rows);
  /// The group's factor in the op's map.
  int64_t groupFactor() const { return terms.letters().find(group); }
};

} // namespace dtcc::graph

#endif // DTCC_DIALECTS_GRAPH_GROUPEDSPEC_H
