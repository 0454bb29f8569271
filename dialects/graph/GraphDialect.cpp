//===- GraphDialect.cpp - The training step on whole tensors
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/PositionOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

#include "dialects/graph/GraphDialect.cpp.inc"
#include "dialects/graph/GraphEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/graph/GraphAttrs.cpp.inc"
#include "dialects/graph/GraphInterfaces.cpp.inc"
#include "dialects/graph/GraphOptimizer.cpp.inc"
#include "dialects/graph/GraphPrecision.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/graph/GraphOps.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/graph/PositionOps.cpp.inc"

bool dtcc::graph::isTensorLike(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.hasStaticShape();
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && type.getDialect().getNamespace() == "spmd" && shaped.hasRank() && shaped.hasStaticShape();
}

void GraphDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/graph/GraphAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/graph/GraphOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/graph/PositionOps.cpp.inc"
      >();
}

Attribute InitAttr::parse(AsmParser &parser, Type) {
  FailureOr<InitKind> kind = failure();
  Real a, b;
  if (parser.parseLess() || failed(kind = FieldParser<InitKind>::parse(parser)))
    return {};
  for (Real *number : {&a, &b}) {
    if (failed(parser.parseOptionalComma()))
      break;
    FailureOr<Real> value = FieldParser<Real>::parse(parser);
    if (failed(value))
      return {};
    *number = *value;
  }
  return parser.parseGreater() ? Attribute() : InitAttr::get(parser.getContext(), *kind, a, b);
}
void InitAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyInitKind(getKind());
  if (getKind() != InitKind::zero)
    printer << ", " << Real(getA()) << ", " << Real(getB());
  printer << ">";
}

Operation *GraphDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || !isTensorLike(type))
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}
