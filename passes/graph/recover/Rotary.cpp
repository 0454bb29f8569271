//===- Rotary.cpp - Rotary embedding by its linear map
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Anchored on the halves of a vector. The region computes from x and two tables; with
// numbers for the tables and unit vectors for x it is a 2 x 2 matrix in each pair, and
// rotary if that matrix is (c -s; s c).
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"
#include "passes/graph/recover/Cells.h"
#include "passes/graph/recover/Recover.h"
#include "passes/graph/recover/Region.h"
#include "passes/graph/recover/Views.h"
#include <cmath>

using namespace mlir;

namespace dtcc::graph {

namespace {

/// A table as the region reads it: its base and how its dimensions stand in x.
struct Table {
  Value base;
  /// Dimension of the base for each dimension of x, or -1.
  Dims dims;
};

bool dependsOn(Value value, Value input, size_t limit = 64) {
  return llvm::is_contained(ancestors(value, limit), input);
}

class RotaryRecovery {
public:
  explicit RotaryRecovery(UnstackOp halves) : halves(halves), x(halves.getX()), pair(halves.getDim()) {}

  bool run() {
    for (Value root : descendants(halves.getYs()[0], 16)) {
      if (root.getType() != x.getType() || !collect(root))
        continue;
      for (bool swapped : {false, true})
        for (bool inverse : {false, true})
          if (isRotation(root, swapped ? 1 : 0, inverse)) {
            replace(root, swapped ? 1 : 0, inverse);
            return true;
          }
    }
    return false;
  }

private:
  /// Finds the two tables that the root reads beside x, and that the region is closed.
  bool collect(Value root) {
    tables.clear();
    llvm::SetVector<Value> seen;
    seen.insert(root);
    bool reached = false;
    for (size_t i = 0; i < seen.size(); ++i) {
      Value value = seen[i];
      if (value == x) {
        reached = true;
        continue;
      }
      if (!dependsOn(value, x)) {
        View view = View::of(value, false);
        if (!isFloat(value) || splatValue(value) || rankOf(value) != rankOf(x))
          return false;
        if (llvm::none_of(tables, [&](const Table &table) { return table.base == view.base; }))
          tables.push_back({view.base, view.dims});
        continue;
      }
      auto op = value.getDefiningOp<CellOpInterface>();
      if (!op || seen.size() > 24)
        return false;
      seen.insert(op->operand_begin(), op->operand_end());
    }
    if (!reached || tables.size() != 2 || tables[0].dims != tables[1].dims)
      return false;
    SmallVector<Value> inputs{x, tables[0].base, tables[1].base};
    std::optional<Region> region = Region::between(inputs, root, 24);
    return region && region->isClosed() && llvm::all_of(tables, [&](const Table &table) { return isUsable(table); });
  }

  /// Whether a table is computed from what trains: the op has no gradient to its tables.
  static bool trains(Value base) {
    return llvm::any_of(ancestors(base, 64), [](Value value) {
      auto read = value.getDefiningOp<ReadOp>();
      auto state = read ? SymbolTable::lookupNearestSymbolFrom<StateOp>(read, read.getStateAttr()) : StateOp();
      return state && state.getTrainable();
    });
  }

  /// Rebuildable without the pair dimension, with its dimensions in the order of x, and not trained.
  bool isUsable(const Table &table) const {
    if (trains(table.base))
      return false;
    if (table.dims[pair] >= 0 && !isConstantAlong(table.base, table.dims[pair]))
      return false;
    return tableDims(table).size() + (table.dims[pair] >= 0) == static_cast<size_t>(rankOf(table.base));
  }
  /// The dimensions of x that the table has, but the pair.
  Dims tableDims(const Table &table) const {
    Dims dims;
    for (auto [i, from] : llvm::enumerate(table.dims))
      if (from >= 0 && static_cast<int64_t>(i) != pair)
        dims.push_back(i);
    return dims;
  }

  /// Whether the map is (c -s; s c), with c and s of the tables numbered `cosine` and the
  /// other; `inverse` rotates back. Tried at cells of every corner and a middle, with
  /// tables whose cells all differ but along the pair.
  bool isRotation(Value root, int cosine, bool inverse) {
    auto tableCell = [&](int table, ArrayRef<int64_t> index) {
      const Table &which = tables[table];
      double value = table == cosine ? 0.3 : -0.7;
      for (auto [i, from] : llvm::enumerate(which.dims))
        if (from >= 0 && static_cast<int64_t>(i) != pair)
          value += std::sin(1.0 + 3.1 * index[from] + 17.3 * i);
      return value;
    };
    auto shape = shapeOf(x);
    for (int corner = 0; corner < 3; ++corner) {
      Dims cell;
      for (int64_t size : shape)
        cell.push_back(corner == 0 ? 0 : corner == 1 ? size - 1 : size / 2);
      for (int64_t unit = 0; unit < 2; ++unit) {
        cell[pair] = unit;
        Cells cells([&](Value value, ArrayRef<int64_t> index) -> std::optional<double> {
          if (value == x)
            return index == ArrayRef<int64_t>(cell) ? 1.0 : 0.0;
          for (int table = 0; table < 2; ++table)
            if (value == tables[table].base)
              return tableCell(table, index);
          return std::nullopt;
        });
        auto tableAt = [&](int table) {
          Dims index(rankOf(tables[table].base), 0);
          for (auto [i, from] : llvm::enumerate(tables[table].dims))
            if (from >= 0)
              index[from] = cell[i];
          return tableCell(table, index);
        };
        double c = tableAt(cosine), s = tableAt(1 - cosine) * (inverse ? -1 : 1);
        for (int64_t out = 0; out < 2; ++out) {
          Dims at = cell;
          at[pair] = out;
          std::optional<double> y = cells.at(root, at);
          double expected = out == unit ? c : unit == 0 ? s : -s;
          if (!y || std::fabs(*y - expected) > 1e-9)
            return false;
          // Nothing may leak into a neighbouring pair.
          for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim) {
            if (dim == pair || shape[dim] == 1)
              continue;
            Dims neighbour = at;
            neighbour[dim] = (at[dim] + 1) % shape[dim];
            std::optional<double> zero = cells.at(root, neighbour);
            if (!zero || *zero != 0)
              return false;
          }
        }
      }
    }
    return true;
  }

  void replace(Value root, int cosine, bool inverse) {
    OpBuilder builder(root.getDefiningOp());
    Build b(builder, root.getLoc());
    Value rebuilt[2];
    for (int i = 0; i < 2; ++i) {
      const Table &table = tables[i == 0 ? cosine : 1 - cosine];
      Dims order, left = table.dims;
      Value base = table.base;
      if (int64_t along = table.dims[pair]; along >= 0) {
        base = dropDim(b, base, along);
        for (int64_t &from : left)
          from -= from > along;
      }
      for (int64_t dim : tableDims(table))
        order.push_back(left[dim]);
      rebuilt[i] = b.transpose(base, order);
    }
    Value y =
        RotaryOp::create(builder, b.loc, x.getType(), x, rebuilt[0], rebuilt[1], pair, tableDims(tables[0]), inverse);
    root.replaceAllUsesWith(y);
  }

  UnstackOp halves;
  Value x;
  int64_t pair;
  SmallVector<Table, 2> tables;
};
} // namespace

void recoverRotary(func::FuncOp function) {
  SmallVector<UnstackOp> anchors(function.getOps<UnstackOp>());
  for (UnstackOp anchor : anchors)
    if (!anchor->use_empty() && anchor.getYs().size() == 2 && isFloat(anchor.getX()))
      RotaryRecovery(anchor).run();
}

} // namespace dtcc::graph
