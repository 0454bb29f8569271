//===- Weights.cpp - Initial values of a program -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/training/Weights.h"
#include "compiler/console/ErrorStream.h"
#include "compiler/emit/States.h"
#include "compiler/training/SavedTensors.h"
#include "dialects/exec/Exec.h"
#include "dialects/graph/Graph.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "runtime/abi/OwnWeights.h"
#include "llvm/Support/Alignment.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace dtcc;

bool dtcc::hasWeights(ModuleOp module) {
  return llvm::any_of(module.getOps<graph::StateOp>(),
                      [](graph::StateOp op) { return op.getValue() || op.getSlots(); }) ||
         llvm::any_of(unusedTensors(module), [](const UnusedTensor &tensor) { return bool(tensor.value); });
}

namespace {
/// A tensor of the file: the initial value of a state or of an optimizer's slot, or an unused tensor.
struct Row {
  Operation *owner;
  std::string name;
  SmallVector<int64_t> shape;
  ElementsAttr value;
};
} // namespace

static LogicalResult writeValue(Operation *op, ElementsAttr value, raw_ostream &stream) {
  int64_t bytes = getBytes(value.getShapedType());
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || int64_t(blob->getData().size()) != bytes)
      return op->emitOpError("value must have ") << bytes << " bytes of data";
    stream.write(blob->getData().data(), bytes);
    return success();
  }
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    return op->emitOpError("value must be dense, got: ") << value.getType();
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

/// The tensors of the file: values of states, those of optimizer slots that have any, under the names that the image
/// gives them, and unused tensors.
static SmallVector<Row> storedRows(ModuleOp module) {
  auto programs = module.getOps<exec::ProgramOp>();
  SmallVector<Row> rows;
  for (auto op : module.getOps<graph::StateOp>()) {
    SmallVector<int64_t> shape(op.getSavedShape());
    if (op.getValue())
      rows.push_back({op, op.getSavedName().str(), shape, *op.getValue()});
    if (op.getSlots() && !programs.empty())
      for (auto [suffix, slot] : llvm::zip(slotNames(op, *programs.begin()), *op.getSlots()))
        rows.push_back({op, (op.getSavedName() + "." + suffix).str(), shape, cast<ElementsAttr>(slot)});
  }
  for (const UnusedTensor &tensor : unusedTensors(module))
    if (tensor.value)
      rows.push_back({module, std::string(tensor.name), SmallVector<int64_t>(tensor.type.getShape()), tensor.value});
  return rows;
}

static LogicalResult cannotWrite(std::error_code code) {
  errorStream() << "cannot write the weights: " << code.message() << '\n';
  return failure();
}

static LogicalResult closeWeights(llvm::raw_fd_ostream &stream) {
  stream.close();
  std::error_code code = stream.error();
  stream.clear_error();
  return code ? cannotWrite(code) : success();
}

LogicalResult dtcc::writeWeights(ModuleOp module, StringRef path) {
  SmallVector<Row> rows = storedRows(module);
  llvm::json::Object header;
  int64_t offset = 0;
  for (const Row &row : rows) {
    ShapedType type = row.value.getShapedType();
    if (!exec::getDType(type.getElementType()))
      return row.owner->emitOpError("element type cannot be saved: ") << type.getElementType();
    int64_t end = offset + getBytes(type);
    header[row.name] = llvm::json::Object{{"dtype", safetensorsType(type.getElementType())},
                                          {"shape", llvm::json::Array(row.shape)},
                                          {"data_offsets", llvm::json::Array{offset, end}}};
    offset = end;
  }
  std::string text = llvm::formatv("{0}", llvm::json::Value(std::move(header))).str();
  // The data starts aligned: readers map the file.
  text.resize((text.size() + 7) / 8 * 8, ' ');

  std::error_code code;
  llvm::raw_fd_ostream stream(path, code);
  if (code)
    return cannotWrite(code);
  char size[8];
  llvm::support::endian::write64le(size, text.size());
  stream.write(size, sizeof size) << text;
  for (const Row &row : rows)
    if (failed(writeValue(row.owner, row.value, stream))) {
      stream.clear_error();
      return failure();
    }
  return closeWeights(stream);
}

LogicalResult dtcc::appendWeights(StringRef weights, StringRef program) {
  // Mapped and streamed: the file may be larger than memory.
  auto buffer = llvm::MemoryBuffer::getFile(weights, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  std::error_code code = buffer.getError();
  uint64_t bytes = 0;
  if (!code)
    code = llvm::sys::fs::file_size(program, bytes);
  if (code)
    return cannotWrite(code);
  llvm::raw_fd_ostream stream(program, code, llvm::sys::fs::CD_OpenExisting, llvm::sys::fs::FA_Write,
                              llvm::sys::fs::OF_Append);
  if (code)
    return cannotWrite(code);
  OwnWeightsEnd end;
  end.bytes = (*buffer)->getBufferSize();
  stream.write_zeros(llvm::offsetToAlignment(bytes, llvm::Align(kOwnWeightsAlignment)));
  stream << (*buffer)->getBuffer();
  stream.write(reinterpret_cast<const char *>(&end), sizeof end);
  return closeWeights(stream);
}
