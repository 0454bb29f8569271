//===- Weights.cpp - Initial values beside a program -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/training/Weights.h"
#include "compiler/console/ErrorStream.h"
#include "dialects/exec/Exec.h"
#include "dialects/graph/Graph.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace dtcc;

bool dtcc::hasWeights(ModuleOp module) {
  return llvm::any_of(module.getOps<graph::StateOp>(),
                      [](graph::StateOp op) { return op.getValue() || op.getSlots(); });
}

/// safetensors' name of an element type.
static StringRef typeName(Type type) {
  switch (*exec::getDType(type)) {
  case 0:
    return "F32";
  case 1:
    return "F64";
  case 2:
    return "BF16";
  case 3:
    return "F16";
  case 4:
    return "I64";
  case 5:
    return "I32";
  case 6:
    return "I16";
  case 7:
    return "I8";
  default:
    return "BOOL";
  }
}

static int64_t bytesOf(ShapedType type) { return type.getNumElements() * exec::getElementBytes(type.getElementType()); }

static LogicalResult writeValue(graph::StateOp op, ElementsAttr value, raw_ostream &stream) {
  int64_t bytes = bytesOf(value.getShapedType());
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || int64_t(blob->getData().size()) != bytes)
      return op.emitOpError("value must have ") << bytes << " bytes of data";
    stream.write(blob->getData().data(), bytes);
    return success();
  }
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    return op.emitOpError("value must be dense, got: ") << value.getType();
  if (dense.getElementType().isInteger(1)) {
    for (bool bit : dense.getValues<bool>())
      stream << char(bit);
  } else if (dense.isSplat()) {
    for (int64_t i = 0, e = dense.getNumElements(); i < e; ++i)
      stream.write(dense.getRawData().data(), dense.getRawData().size());
  } else {
    stream.write(dense.getRawData().data(), dense.getRawData().size());
  }
  return success();
}

namespace {
/// A tensor of the file.
struct Stored {
  graph::StateOp state;
  std::string name;
  ElementsAttr value;
};
} // namespace

/// The values of states, and those of the optimizer's slots that have any, under the names that the image gives them.
static SmallVector<Stored> storedValues(ModuleOp module) {
  SmallVector<StringRef> suffixes;
  for (auto program : module.getOps<exec::ProgramOp>())
    if (auto optimizer = dyn_cast_or_null<graph::OptimizerAttrInterface>(program.getOptimizerAttr()))
      suffixes = optimizer.getSlotNames();
  SmallVector<Stored> values;
  for (auto op : module.getOps<graph::StateOp>()) {
    if (op.getValue())
      values.push_back({op, op.getSavedName().str(), *op.getValue()});
    if (op.getSlots())
      for (auto [suffix, slot] : llvm::zip(suffixes, *op.getSlots()))
        values.push_back({op, (op.getSavedName() + "." + suffix).str(), cast<ElementsAttr>(slot)});
  }
  return values;
}

LogicalResult dtcc::writeWeights(ModuleOp module, StringRef path) {
  SmallVector<Stored> values = storedValues(module);
  llvm::json::Object header;
  int64_t offset = 0;
  for (auto &[op, name, value] : values) {
    ShapedType type = value.getShapedType();
    if (!exec::getDType(type.getElementType()))
      return op.emitOpError("element type cannot be saved: ") << type.getElementType();
    llvm::json::Array shape(ArrayRef<int64_t>(op.getSavedShape()));
    int64_t end = offset + bytesOf(type);
    header[name] = llvm::json::Object{{"dtype", typeName(type.getElementType())},
                                      {"shape", std::move(shape)},
                                      {"data_offsets", llvm::json::Array{offset, end}}};
    offset = end;
  }
  std::string text = llvm::formatv("{0}", llvm::json::Value(std::move(header))).str();
  // The data starts aligned: readers map the file.
  text.resize((text.size() + 7) / 8 * 8, ' ');

  std::error_code code;
  llvm::raw_fd_ostream stream(path, code);
  if (code) {
    errorStream() << "cannot write the weights: " << code.message() << '\n';
    return failure();
  }
  char size[8];
  llvm::support::endian::write64le(size, text.size());
  stream.write(size, sizeof size) << text;
  for (auto &[op, name, value] : values)
    if (failed(writeValue(op, value, stream))) {
      stream.clear_error();
      return failure();
    }
  stream.close();
  if (stream.has_error()) {
    errorStream() << "cannot write the weights: " << stream.error().message() << '\n';
    stream.clear_error();
    return failure();
  }
  return success();
}
