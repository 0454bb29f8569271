//===- MeshOption.cpp - The axes of --mesh
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/options/MeshOption.h"
#include "compiler/console/ErrorStream.h"

using namespace mlir;
using namespace dtcc;

FailureOr<plan::MeshSizes> dtcc::readMesh(const Options &options) {
  std::string error;
  std::optional<plan::MeshSizes> sizes = plan::parseMeshSizes(options.mesh, error, kMostRanks);
  // Programs have no experts that are folded into other axes.
  if (sizes && sizes->foldsExperts)
    error = "an axis must be one of dp, tp, cp, ep, pp, got: folded-ep";
  if (error.empty())
    return *sizes;
  return wrong("--mesh: " + error);
}
