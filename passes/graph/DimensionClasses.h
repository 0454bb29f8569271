//===- DimensionClasses.h - How dimensions split, network-wide
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A class is a size and, once split, an ordered list of smaller classes; dimensions
// that must agree share one. Everything a rule says is one equation: this list of
// classes is that list, row-major. A split is made in the class, so every tensor that
// holds it sees it at once, and one pass over a graph is enough.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_DIMENSIONCLASSES_H
#define DTCC_PASSES_GRAPH_DIMENSIONCLASSES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace dtcc::graph {

class DimensionClasses {
public:
  using Id = unsigned;

  /// A new class of `size` > 1 cells.
  Id create(int64_t size);
  int64_t size(Id id) const { return nodes[find(id)].size; }
  /// The classes that `id` is made of and that are not split, outermost first.
  void appendLeaves(Id id, llvm::SmallVectorImpl<Id> &leaves) const;
  llvm::SmallVector<Id> leaves(llvm::ArrayRef<Id> ids) const;

  /// Makes both lists equal, splitting classes where one size divides the other. On a conflict (neither divides)
  /// nothing changes and the result is false. The products of both lists must be equal.
  bool unify(llvm::ArrayRef<Id> a, llvm::ArrayRef<Id> b);

  /// For several equations that hold together or not at all.
  size_t mark() const { return trail.size(); }
  void undo(size_t mark);

private:
  struct Node {
    int64_t size;
    Id parent;
    llvm::SmallVector<Id, 2> children;
  };
  /// A recorded change: a class was joined to another, or split.
  struct Change {
    Id id;
    bool split;
  };
  Id find(Id id) const;
  void join(Id a, Id b);
  void split(Id id, Id outer, Id inner);

  std::vector<Node> nodes;
  std::vector<Change> trail;
};

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_DIMENSIONCLASSES_H
