//===- DimensionClasses.cpp - How dimensions split, network-wide
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Union-find without path compression, so that changes can be undone; chains stay
// short because joins follow the order of the program.
//
//===----------------------------------------------------------------------===//

#include "passes/graph/DimensionClasses.h"
#include "llvm/ADT/STLExtras.h"
#include <cassert>

using namespace dtcc::graph;
using Id = DimensionClasses::Id;

Id DimensionClasses::create(int64_t size) {
  assert(size != 1 && "a dimension of one cell has no class");
  nodes.push_back({size, Id(nodes.size()), {}});
  return nodes.size() - 1;
}

Id DimensionClasses::find(Id id) const {
  while (nodes[id].parent != id)
    id = nodes[id].parent;
  return id;
}

void DimensionClasses::appendLeaves(Id id, llvm::SmallVectorImpl<Id> &leaves) const {
  id = find(id);
  if (nodes[id].children.empty())
    return leaves.push_back(id);
  for (Id child : nodes[id].children)
    appendLeaves(child, leaves);
}

llvm::SmallVector<Id> DimensionClasses::leaves(llvm::ArrayRef<Id> ids) const {
  llvm::SmallVector<Id> result;
  for (Id id : ids)
    appendLeaves(id, result);
  return result;
}

void DimensionClasses::join(Id a, Id b) {
  nodes[b].parent = a;
  trail.push_back({b, false});
}

void DimensionClasses::split(Id id, Id outer, Id inner) {
  nodes[id].children = {outer, inner};
  trail.push_back({id, true});
}

void DimensionClasses::undo(size_t mark) {
  for (; trail.size() > mark; trail.pop_back()) {
    auto [id, isSplit] = trail.back();
    if (isSplit)
      nodes[id].children.clear();
    else
      nodes[id].parent = id;
  }
}

bool DimensionClasses::unify(llvm::ArrayRef<Id> a, llvm::ArrayRef<Id> b) {
  size_t start = mark();
  // Both lists are walked from the outermost class, which stands at the back.
  llvm::SmallVector<Id> left(llvm::reverse(a)), right(llvm::reverse(b));
  auto expand = [&](llvm::SmallVector<Id> &list) {
    Id top = find(list.pop_back_val());
    while (!nodes[top].children.empty()) {
      for (Id child : llvm::reverse(llvm::ArrayRef(nodes[top].children).drop_front()))
        list.push_back(child);
      top = find(nodes[top].children.front());
    }
    return top;
  };
  while (!left.empty() && !right.empty()) {
    Id x = expand(left), y = expand(right);
    if (x == y)
      continue;
    if (nodes[x].size == nodes[y].size) {
      join(x, y);
      continue;
    }
    bool leftIsLarger = nodes[x].size > nodes[y].size;
    Id large = leftIsLarger ? x : y, small = leftIsLarger ? y : x;
    if (nodes[small].size == 0 || nodes[large].size % nodes[small].size != 0) {
      undo(start);
      return false;
    }
    Id rest = create(nodes[large].size / nodes[small].size);
    split(large, small, rest);
    (leftIsLarger ? left : right).push_back(rest);
  }
  if (left.empty() && right.empty())
    return true;
  undo(start);
  return false;
}
