//===- SpmdTypes.cpp - A whole tensor and how it lies on a mesh
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "dialects/spmd/Spmd.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

#define GET_TYPEDEF_CLASSES
#include "dialects/spmd/SpmdTypes.cpp.inc"

using namespace mlir;

namespace dtcc::spmd {

void SpmdDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/spmd/SpmdTypes.cpp.inc"
      >();
}

Layout TensorType::getLayout() const {
  Layout layout;
  for (ArrayAttr names : getAxes())
    layout.dims.push_back(toAxes(names));
  layout.partial = toAxes(getPartial());
  layout.reduction = getReduction();
  layout.padded.assign(getPadded().begin(), getPadded().end());
  layout.normalize({getShape().begin(), getShape().end()});
  return layout;
}

/// The parameters of the type that holds `layout`: sorted, and with explicit padded sizes.
static void storeLayout(MLIRContext *context, ArrayRef<int64_t> shape, Layout layout, SmallVector<ArrayAttr> &axes,
                        ArrayAttr &partial, Reduction &reduction, SmallVector<int64_t> &padded) {
  layout.normalize({shape.begin(), shape.end()});
  for (const Axes &dim : layout.dims)
    axes.push_back(fromAxes(context, dim));
  partial = fromAxes(context, layout.partial);
  reduction = layout.reduction;
  if (layout.padded.empty())
    padded.assign(shape.begin(), shape.end());
  else
    padded.assign(layout.padded.begin(), layout.padded.end());
}

TensorType TensorType::get(ArrayRef<int64_t> shape, Type elementType, FlatSymbolRefAttr mesh, const Layout &layout) {
  SmallVector<ArrayAttr> axes;
  ArrayAttr partial;
  Reduction reduction;
  SmallVector<int64_t> padded;
  storeLayout(elementType.getContext(), shape, layout, axes, partial, reduction, padded);
  return get(elementType.getContext(), shape, elementType, mesh, axes, partial, reduction, padded);
}

TensorType TensorType::withLayout(const Layout &layout) const {
  return get(getShape(), getElementType(), getMesh(), layout);
}

ShapedType TensorType::cloneWith(std::optional<ArrayRef<int64_t>> shape, Type elementType) const {
  Layout layout = getLayout();
  if (shape && *shape != getShape())
    layout.padded.clear();
  return get(shape.value_or(getShape()), elementType, getMesh(), layout);
}

RankedTensorType localType(TensorType type, const Mesh &mesh) {
  std::optional<std::vector<int64_t>> local =
      type.getLayout().localShape({type.getShape().begin(), type.getShape().end()}, mesh);
  return local ? RankedTensorType::get(*local, type.getElementType()) : RankedTensorType();
}

// Rule V1 without the sizes of the axes, which spmd-verify adds: a type cannot look up its mesh.
LogicalResult TensorType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape,
                                 Type elementType, FlatSymbolRefAttr mesh, ArrayRef<ArrayAttr> axes, ArrayAttr partial,
                                 Reduction reduction, ArrayRef<int64_t> padded) {
  if (!elementType.isIntOrIndexOrFloat())
    return emitError() << "element type must be a number, got: " << elementType;
  if (axes.size() != shape.size())
    return emitError() << "layout must list the axes of " << shape.size() << " dimensions, got: " << axes.size();
  if (padded.size() != shape.size())
    return emitError() << "pad must list " << shape.size() << " sizes, got: " << padded.size();
  for (auto [size, pad] : llvm::zip_equal(shape, padded)) {
    if (size < 0)
      return emitError() << "shape must be static, got: " << size;
    if (pad < size)
      return emitError() << "padded size must be at least " << size << ", got: " << pad;
  }
  llvm::StringSet<> seen;
  auto once = [&](ArrayAttr names) -> LogicalResult {
    for (Attribute name : names)
      if (!seen.insert(cast<StringAttr>(name).getValue()).second)
        return emitError() << "axis must stand once in a layout, got twice: " << cast<StringAttr>(name).getValue();
    return success();
  };
  for (ArrayAttr names : axes)
    if (failed(once(names)))
      return failure();
  if (failed(once(partial)))
    return failure();
  if (!llvm::is_sorted(partial, [](Attribute a, Attribute b) {
        return cast<StringAttr>(a).getValue() < cast<StringAttr>(b).getValue();
      }))
    return emitError() << "partial axes must be sorted by name";
  return success();
}

static ParseResult parseAxes(AsmParser &parser, Axes &axes) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Braces, [&]() -> ParseResult { return parser.parseKeywordOrString(&axes.emplace_back()); });
}

Type TensorType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  FlatSymbolRefAttr mesh;
  Layout layout;
  SMLoc start = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(element) ||
      parser.parseComma() || parser.parseAttribute(mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parseAxes(parser, layout.dims.emplace_back()); }))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("partial"))) {
      StringRef kind;
      if (parser.parseLParen() || parser.parseKeyword(&kind))
        return {};
      std::optional<Reduction> reduction = findReduction(kind);
      if (!reduction) {
        parser.emitError(start, "partial kind must be sum, max or min, got: ") << kind;
        return {};
      }
      layout.reduction = *reduction;
      if (parseAxes(parser, layout.partial) || parser.parseRParen())
        return {};
    } else if (parser.parseKeyword("pad") ||
               parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
                 return parser.parseInteger(layout.padded.emplace_back());
               })) {
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  SmallVector<ArrayAttr> axes;
  ArrayAttr partial;
  Reduction reduction;
  SmallVector<int64_t> padded;
  storeLayout(parser.getContext(), shape, layout, axes, partial, reduction, padded);
  return getChecked([&] { return parser.emitError(start); }, parser.getContext(), shape, element, mesh, axes, partial,
                    reduction, padded);
}

static void printAxes(AsmPrinter &printer, ArrayAttr axes) {
  printer << "{";
  llvm::interleave(
      axes, [&](Attribute axis) { printer.printKeywordOrString(cast<StringAttr>(axis).getValue()); },
      [&] { printer << ","; });
  printer << "}";
}

void TensorType::print(AsmPrinter &printer) const {
  printer << "<";
  for (int64_t size : getShape())
    printer << size << "x";
  printer << getElementType() << ", " << getMesh() << ", [";
  llvm::interleave(getAxes(), [&](ArrayAttr axes) { printAxes(printer, axes); }, [&] { printer << ","; });
  printer << "]";
  if (!getPartial().empty()) {
    printer << ", partial(" << mnemonicOf(getReduction()) << " ";
    printAxes(printer, getPartial());
    printer << ")";
  }
  if (getPadded() != getShape()) {
    printer << ", pad [";
    llvm::interleave(getPadded(), [&](int64_t size) { printer << size; }, [&] { printer << ","; });
    printer << "]";
  }
  printer << ">";
}

} // namespace dtcc::spmd
