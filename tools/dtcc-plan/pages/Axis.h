//===- Axis.h - An axis of a picture, with ticks at round numbers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An axis from 0 with a name and ticks at 1, 2 or 5 times a power of ten, in the unit that suits its end.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_PAGES_AXIS_H
#define DTCC_TOOLS_DTCC_PLAN_PAGES_AXIS_H

#include "tools/dtcc-plan/pages/Svg.h"
#include <vector>

namespace dtcc {

/// A unit of an axis: its factor of the base unit, and its name. Lists go from small to large.
struct AxisUnit {
  double factor;
  llvm::StringRef name;
};
extern const llvm::ArrayRef<AxisUnit> kSecondUnits, kByteUnits;

class Axis {
public:
  /// From 0 to `end`, both in the base unit.
  Axis(llvm::StringRef name, llvm::ArrayRef<AxisUnit> units, double end);

  /// "1.5" for a tick, in the unit of the axis.
  std::string text(double value) const;
  /// "time of a step, in ms".
  std::string title() const;

  /// Draws vertical lines between two heights, the numbers below them and the title below the numbers.
  void drawBelow(Svg &svg, double left, double width, double top, double bottom) const;
  /// Draws the numbers left of a picture, and the title above them.
  void drawLeft(Svg &svg, double left, double width, double top, double bottom) const;
  /// Room that drawBelow() takes under the picture.
  static constexpr double kHeight = 34;

private:
  llvm::StringRef name;
  AxisUnit unit;
  double end;
  std::vector<double> places;
};

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_PAGES_AXIS_H
