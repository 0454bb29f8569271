//===- Pins.h - Parameters and values that are held to a layout
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `dtcc --pin=GLOB=LAYOUT`. GLOB names parameters as they are saved, or nodes of the model,
// whose results it means. LAYOUT is that of `!spmd.tensor`: "[{tp},{}]", the axes of each
// dimension. A pin takes candidates from the placement search, it decides nothing else:
// what splits the batch, positions, experts and the shares of ZeRO is not its matter.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_STEP_PINS_H
#define DTCC_PLANNER_STEP_PINS_H

#include "dialects/spmd/Layout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Error.h"

namespace dtcc::spmd {

/// The axis that the placement search gives to ops and states.
inline constexpr llvm::StringLiteral kModelAxis = "tp";

struct Pin {
  /// The option as it was given, for messages.
  std::string text;
  std::string glob;
  /// Axes of each dimension.
  std::vector<Axes> dims;

  /// Whether the pin splits a dimension.
  bool splits() const;
};

/// Reads "GLOB=LAYOUT". An axis must be "tp", which alone is given to ops by the search.
llvm::Expected<Pin> parsePin(llvm::StringRef text);

/// The name of the node of the model that `op` came from: "node 'NAME' (KIND)" somewhere in its location; or empty.
llvm::StringRef nodeOf(mlir::Operation *op);

/// Returns for each dimension of `finer` its dimension of `saved`, both in row-major order; nothing if they do not
/// match.
std::optional<llvm::SmallVector<int64_t>> entriesOf(llvm::ArrayRef<int64_t> finer, llvm::ArrayRef<int64_t> saved);

/// Pins and the values of one step that they hold: results of reads and of forward ops.
class Pins {
public:
  Pins() = default;
  /// Finds the values that pins name. Fails with a message that names the pin that nothing or a value of other
  /// dimensions answers to, or both of a pair that holds a value to two layouts.
  static mlir::FailureOr<Pins> resolve(mlir::func::FuncOp step, std::vector<Pin> pins);

  bool empty() const { return pins.empty(); }
  /// The first pin that splits something, or null.
  const Pin *splitting() const;
  /// Whether `layout` is what the pin of `value` wants of `axes`, the axes given to ops. True of values without.
  bool allows(mlir::Value value, const Layout &layout, const Axes &axes) const;
  /// "--pin=wte=[{tp},{}]" of a value that is held, and what it is called; empty for others.
  std::string optionOf(mlir::Value value) const;
  std::string describe(mlir::Value value) const;
  /// Equal for two values of the same shape that are held alike; empty for those that are not.
  std::string signatureOf(mlir::Value value) const;
  /// The values that are held, in the order of the step for each pin.
  llvm::SmallVector<mlir::Value> values() const;

private:
  class Resolver;
  struct PinnedValue {
    size_t pin = 0;
    std::string name;
    /// For each dimension of the value the entry of the pin that it belongs to. A parameter may be pinned by the
    /// dimensions under which it is saved, of which the step may have made several finer ones: any of them will do.
    llvm::SmallVector<int64_t> entries;
  };
  std::vector<Pin> pins;
  llvm::MapVector<mlir::Value, PinnedValue> held;
};

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_STEP_PINS_H
