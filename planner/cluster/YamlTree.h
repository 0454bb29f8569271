//===- YamlTree.h - A YAML document with the places of its parts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's YAML parser visits a document once and forgets it; a reader that checks one part
// against another needs all of it, and where each part stands. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_CLUSTER_YAMLTREE_H
#define DTCC_PLANNER_CLUSTER_YAMLTREE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace dtcc::cost {

struct YamlTree {
  enum Kind { Scalar, List, Map };
  Kind kind = Scalar;
  std::string scalar;
  /// Elements of a list, or values of a map whose keys are in `keys`.
  std::vector<YamlTree> parts;
  std::vector<std::string> keys;
  unsigned line = 1, column = 1;

  /// The value of a key, or null.
  const YamlTree *find(llvm::StringRef key) const;
};

/// The one document in `text`. An error is "FILE:LINE:COLUMN: what is wrong": bad syntax, a key
/// that stands twice, anchors.
llvm::Expected<YamlTree> parseYaml(llvm::StringRef text, llvm::StringRef file);

} // namespace dtcc::cost

#endif // DTCC_PLANNER_CLUSTER_YAMLTREE_H
