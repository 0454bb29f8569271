//===- HostTensor.cpp - Whole tensors for the reference evaluators
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/interfaces/HostTensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"

using namespace mlir;

namespace dtcc {

static int64_t countOf(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

HostTensor::HostTensor(ArrayRef<int64_t> shape, Type elementType) : shape(shape), elementType(elementType) {
  if (isFloat())
    floats.assign(countOf(shape), 0.0);
  else
    ints.assign(countOf(shape), 0);
}

int64_t HostTensor::size() const { return countOf(shape); }
SmallVector<int64_t> HostTensor::strides() const { return rowMajorStrides(shape); }

SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

int64_t positionOf(ArrayRef<int64_t> index, ArrayRef<int64_t> strides) {
  int64_t position = 0;
  for (size_t i = 0; i < index.size(); ++i)
    position += index[i] * strides[i];
  return position;
}

void forEachIndex(ArrayRef<int64_t> shape, llvm::function_ref<void(ArrayRef<int64_t>, int64_t)> body) {
  SmallVector<int64_t> index(shape.size(), 0);
  int64_t count = countOf(shape);
  for (int64_t position = 0; position < count; ++position) {
    body(index, position);
    for (size_t i = shape.size(); i-- > 0;) {
      if (++index[i] < shape[i])
        break;
      index[i] = 0;
    }
  }
}

/// Rounds to the semantics of `type` and gives the value back as a double.
static double roundTo(double value, FloatType type) {
  if (type.isF64())
    return value;
  if (type.isF32())
    return static_cast<float>(value);
  llvm::APFloat narrow(value);
  bool inexact;
  narrow.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return narrow.convertToDouble();
}

void HostTensor::round() {
  auto type = dyn_cast<FloatType>(elementType);
  if (!type || type.isF64())
    return;
  for (double &value : floats)
    value = roundTo(value, type);
}

/// The raw bytes of a dense resource, or nothing if they were never given.
static FailureOr<HostTensor> fromBytes(ArrayRef<int64_t> shape, Type element, ArrayRef<char> bytes) {
  HostTensor tensor(shape, element);
  unsigned bits = element.getIntOrFloatBitWidth();
  // Booleans of a resource take one byte each.
  unsigned width = std::max(8u, bits) / 8;
  if (bytes.size() != static_cast<size_t>(tensor.size()) * width || width > 8)
    return failure();
  for (int64_t i = 0; i < tensor.size(); ++i) {
    uint64_t raw = 0;
    memcpy(&raw, bytes.data() + i * width, width);
    llvm::APInt word(width * 8, raw);
    if (auto type = dyn_cast<FloatType>(element))
      tensor.floats[i] = llvm::APFloat(type.getFloatSemantics(), word).convertToDouble();
    else
      tensor.ints[i] = bits == 1 ? (raw != 0) : word.getSExtValue();
  }
  return tensor;
}

FailureOr<HostTensor> HostTensor::fromAttribute(ElementsAttr attr) {
  auto type = cast<ShapedType>(attr.getType());
  Type element = type.getElementType();
  if (!type.hasStaticShape() || !(element.isIntOrIndexOrFloat()))
    return failure();
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attr)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return failure();
    return fromBytes(type.getShape(), element, blob->getData());
  }
  auto dense = dyn_cast<DenseElementsAttr>(attr);
  if (!dense)
    return failure();
  HostTensor tensor(type.getShape(), element);
  if (tensor.isFloat()) {
    int64_t i = 0;
    for (llvm::APFloat value : dense.getValues<llvm::APFloat>()) {
      bool inexact;
      value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
      tensor.floats[i++] = value.convertToDouble();
    }
  } else {
    int64_t i = 0;
    for (const llvm::APInt &value : dense.getValues<llvm::APInt>())
      tensor.ints[i++] = element.isInteger(1) || element.isUnsignedInteger()
                             ? static_cast<int64_t>(value.getZExtValue())
                             : value.getSExtValue();
  }
  return tensor;
}

DenseElementsAttr HostTensor::toAttribute() const {
  auto type = RankedTensorType::get(shape, elementType);
  if (auto floatType = dyn_cast<FloatType>(elementType)) {
    SmallVector<llvm::APFloat> values;
    values.reserve(floats.size());
    for (double value : floats) {
      llvm::APFloat narrow(value);
      bool inexact;
      narrow.convert(floatType.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
      values.push_back(narrow);
    }
    return DenseElementsAttr::get(type, values);
  }
  unsigned bits = elementType.isIndex() ? 64 : elementType.getIntOrFloatBitWidth();
  SmallVector<llvm::APInt> values;
  values.reserve(ints.size());
  for (int64_t value : ints)
    values.push_back(llvm::APInt(64, value).sextOrTrunc(bits));
  return DenseElementsAttr::get(type, values);
}

} // namespace dtcc
