//===- Source.h - The part of the user's model that an op computes -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops remember in their locations which module of the user's model they came from, and
// whether they compute a gradient of it. Rewrites carry locations along by themselves, so
// that a profile of the program can name layers. Nothing is decided by it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_INTERFACES_SOURCE_H
#define DTCC_DIALECTS_INTERFACES_SOURCE_H

#include "mlir/IR/Location.h"
#include <string>

namespace dtcc {

struct Source {
  /// The path of the module, as "blocks.0.mlp.up"; empty if it is not known.
  std::string module;
  bool isGradient = false;
};

/// `where`, inside the module at the path `module`.
mlir::Location atModule(mlir::Location where, llvm::StringRef module);
/// `where`, of an op that computes gradients.
mlir::Location ofGradient(mlir::Location where);

/// The source of an op at `where`. An op that was fused from several is of the innermost module that holds all of them
/// whose module is known, and computes a gradient if one of them does.
Source sourceOf(mlir::Location where);

} // namespace dtcc

#endif // DTCC_DIALECTS_INTERFACES_SOURCE_H
