//===- Precision.h - The float types that an op wants -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The answers of PrecisionOpInterface. PrecisionPolicy.h has what follows from them.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_PRECISION_H
#define DTCC_DIALECTS_GRAPH_PRECISION_H

namespace dtcc::graph {

enum class Precision {
  Follow,  // the widest type of the operands, parameters and constants not counted
  Compute, // the type that --precision names
  Wide,    // f32
};

} // namespace dtcc::graph

#endif // DTCC_DIALECTS_GRAPH_PRECISION_H
