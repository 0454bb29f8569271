//===- Axis.cpp - An axis of a picture, with ticks at round numbers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/pages/Axis.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace dtcc;

static constexpr AxisUnit secondUnits[] = {{1e-6, "us"}, {1e-3, "ms"}, {1, "s"}};
static constexpr AxisUnit byteUnits[] = {
    {1, "B"}, {1024.0, "KiB"}, {1048576.0, "MiB"}, {1073741824.0, "GiB"}, {1099511627776.0, "TiB"}};
const llvm::ArrayRef<AxisUnit> dtcc::kSecondUnits = secondUnits;
const llvm::ArrayRef<AxisUnit> dtcc::kByteUnits = byteUnits;

Axis::Axis(llvm::StringRef name, llvm::ArrayRef<AxisUnit> units, double end)
    : name(name), unit(units.front()), end(end > 0 ? end : units.front().factor) {
  for (const AxisUnit &each : units)
    if (each.factor <= this->end)
      unit = each;
  constexpr double kMostTicks = 6;
  double least = this->end / unit.factor / kMostTicks, power = std::pow(10, std::floor(std::log10(least)));
  double step = power * 10;
  for (double round : {5, 2, 1})
    if (round * power >= least * (1 - 1e-9))
      step = round * power;
  for (double value = 0; value <= this->end / unit.factor * (1 + 1e-9); value += step)
    places.push_back(value * unit.factor);
}

std::string Axis::text(double value) const {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.10g", value / unit.factor);
  return text;
}

std::string Axis::title() const { return (name + ", in " + unit.name).str(); }

void Axis::drawBelow(Svg &svg, double left, double width, double top, double bottom) const {
  for (double tick : places) {
    double x = left + tick / end * width;
    svg.line(x, top, x, bottom, "axis");
    svg.text(x, bottom + 13, text(tick), Svg::Anchor::Middle, "soft");
  }
  svg.text(left, bottom + 28, title(), Svg::Anchor::Start, "soft");
}

void Axis::drawLeft(Svg &svg, double left, double width, double top, double bottom) const {
  for (double tick : places) {
    double y = bottom - tick / end * (bottom - top);
    svg.line(left, y, left + width, y, "axis");
    svg.text(left - 8, y + 4, text(tick), Svg::Anchor::End, "soft");
  }
}
