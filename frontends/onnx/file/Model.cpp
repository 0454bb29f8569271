//===- Model.cpp - An ONNX file, checked and mapped
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsing, and tensors whose data lies in the file itself.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/file/Model.h"
#include "dialects/interfaces/Source.h"
#include "frontends/onnx/file/Tensor.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "onnx/onnx-ml.pb.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <limits>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;
using ::onnx::TensorProto;

/// The ONNX data types that dtcc reads, one row each.
struct ElementRow {
  int32_t onnxType;
  StringRef name;
  Type (*type)(MLIRContext *);
};
template <unsigned Width> static Type integerType(MLIRContext *context) { return IntegerType::get(context, Width); }
template <typename T> static Type floatType(MLIRContext *context) { return T::get(context); }
static const ElementRow kElements[] = {
    {TensorProto::FLOAT, "float", floatType<Float32Type>},
    {TensorProto::DOUBLE, "double", floatType<Float64Type>},
    {TensorProto::FLOAT16, "float16", floatType<Float16Type>},
    {TensorProto::BFLOAT16, "bfloat16", floatType<BFloat16Type>},
    {TensorProto::INT64, "int64", integerType<64>},
    {TensorProto::INT32, "int32", integerType<32>},
    {TensorProto::INT16, "int16", integerType<16>},
    {TensorProto::INT8, "int8", integerType<8>},
    {TensorProto::BOOL, "bool", integerType<1>},
    // Unsigned ones in the next signed type that kernels know.
    {TensorProto::UINT8, "uint8", integerType<32>},
    {TensorProto::UINT16, "uint16", integerType<32>},
    {TensorProto::UINT32, "uint32", integerType<64>},
};

int dtcc::onnx::unsignedBits(int32_t onnxType) {
  return onnxType == TensorProto::UINT8    ? 8
         : onnxType == TensorProto::UINT16 ? 16
         : onnxType == TensorProto::UINT32 ? 32
                                           : 0;
}

Type dtcc::onnx::elementType(MLIRContext *context, int32_t onnxType) {
  for (const ElementRow &row : kElements)
    if (row.onnxType == onnxType)
      return row.type(context);
  return nullptr;
}

StringRef dtcc::onnx::elementTypeName(int32_t onnxType) {
  for (const ElementRow &row : kElements)
    if (row.onnxType == onnxType)
      return row.name;
  static const std::pair<int32_t, StringRef> others[] = {{TensorProto::UNDEFINED, "undefined"},
                                                         {TensorProto::UINT64, "uint64"},
                                                         {TensorProto::STRING, "string"},
                                                         {TensorProto::COMPLEX64, "complex64"},
                                                         {TensorProto::COMPLEX128, "complex128"}};
  for (auto [type, name] : others)
    if (type == onnxType)
      return name;
  return "a type of low precision";
}

Model::Model(MLIRContext *context, StringRef path, StringRef externalRoot, ArrayRef<std::string> outputs,
             bool dataOptional)
    : context(context), path(path), folder(llvm::sys::path::parent_path(path)), externalRoot(externalRoot),
      outputs(outputs), dataOptional(dataOptional), fileLoc(NameLoc::get(StringAttr::get(context, path))),
      message(std::make_shared<::onnx::ModelProto>()) {
  if (folder.empty())
    folder = ".";
}

Model::~Model() = default;

LogicalResult Model::load() {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return emitError(fileLoc) << "cannot read the model: " << buffer.getError().message();
  if ((*buffer)->getBufferSize() > size_t(std::numeric_limits<int>::max()))
    return emitError(fileLoc) << "an ONNX file must be smaller than 2 GiB (weights go to external data), got: "
                              << (*buffer)->getBufferSize() << " bytes";
  google::protobuf::io::ArrayInputStream bytes((*buffer)->getBufferStart(), int((*buffer)->getBufferSize()));
  google::protobuf::io::CodedInputStream stream(&bytes);
  stream.SetRecursionLimit(kMaxNesting);
  if (!message->ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    return emitError(fileLoc) << "not an ONNX file: it is cut off, damaged or of another format";
  if (!message->has_graph() || message->opset_import_size() == 0)
    return emitError(fileLoc) << "not an ONNX model: it has no " << (message->has_graph() ? "operator set" : "graph");
  for (const auto &entry : message->opset_import()) {
    StringRef domain = entry.domain() == "ai.onnx" ? "" : StringRef(entry.domain());
    if (!opsets.try_emplace(domain, entry.version()).second && opsets.lookup(domain) != entry.version())
      return emitError(fileLoc) << "operator set '" << domain << "' is imported in two versions";
  }
  int64_t version = opset();
  if (version < 1 || version > 27)
    return emitError(fileLoc) << "the default operator set must be of version 1 to 27, got: " << version;
  return success();
}

/// The path of the PyTorch module whose forward pass made `node`. torch.onnx.export writes it as metadata,
/// ": Net/blocks.0: Block/blocks.0.up: torch.nn.Linear/linear: aten.linear.default", and older exporters name the node
/// "/blocks.0/up/MatMul". Other files do not tell.
static std::string moduleOf(const ::onnx::NodeProto &node) {
  for (const auto &entry : node.metadata_props())
    if (entry.key() == "namespace") {
      auto [scopes, op] = StringRef(entry.value()).rsplit('/');
      StringRef path = scopes.rsplit('/').second.empty() ? scopes : scopes.rsplit('/').second;
      path = path.split(':').first;
      // The export script puts the module into one of its own, which adds the loss.
      if (scopes.starts_with(": dtcc_export.losses.WithLoss"))
        path = path == "model" ? "" : path.starts_with("model.") ? path.drop_front(StringRef("model.").size()) : path;
      return path.str();
    }
  StringRef name = node.name();
  if (!name.consume_front("/"))
    return "";
  SmallVector<StringRef> parts;
  name.rsplit('/').first.split(parts, '/');
  return name.contains('/') ? llvm::join(parts, ".") : "";
}

Location Model::nodeLoc(const ::onnx::NodeProto &node) const {
  StringRef name = !node.name().empty() ? StringRef(node.name())
                   : node.output_size() ? StringRef(node.output(0))
                                        : StringRef("?");
  Location loc = NameLoc::get(StringAttr::get(context, "node '" + name + "' (" + node.op_type() + ")"), fileLoc);
  std::string module = moduleOf(node);
  return module.empty() ? loc : atModule(loc, module);
}

/// Owned bytes of the narrow typed fields, which protobuf stores widened.
template <typename To, typename Field> static std::shared_ptr<std::vector<char>> narrow(const Field &field) {
  auto bytes = std::make_shared<std::vector<char>>(field.size() * sizeof(To));
  for (int i = 0; i < field.size(); ++i) {
    To cell = To(field.Get(i));
    std::memcpy(bytes->data() + i * sizeof(To), &cell, sizeof(To));
  }
  return bytes;
}

/// Unsigned cells of `bits` in the type that holds them.
template <typename From, typename To> static void widenCells(StoredTensor &stored) {
  size_t count = stored.bytes.size() / sizeof(From);
  auto bytes = std::make_shared<std::vector<char>>(count * sizeof(To));
  for (size_t i = 0; i < count; ++i) {
    From cell;
    std::memcpy(&cell, stored.bytes.data() + i * sizeof(From), sizeof(From));
    To wide = cell;
    std::memcpy(bytes->data() + i * sizeof(To), &wide, sizeof(To));
  }
  stored.bytes = *bytes;
  stored.owner = bytes;
}

static void widenUnsigned(StoredTensor &stored, int bits) {
  if (!stored.hasData)
    return;
  if (bits == 8)
    widenCells<uint8_t, int32_t>(stored);
  else if (bits == 16)
    widenCells<uint16_t, int32_t>(stored);
  else if (bits == 32)
    widenCells<uint32_t, int64_t>(stored);
}

FailureOr<StoredTensor> Model::decode(const TensorProto &tensor, Location loc) {
  StoredTensor result;
  result.name = tensor.name();
  Type element = onnx::elementType(context, tensor.data_type());
  if (!element)
    return emitError(loc) << "tensor '" << result.name
                          << "' has an unsupported element type: " << elementTypeName(tensor.data_type());
  if (tensor.dims_size() > kMaxRank)
    return emitError(loc) << "tensor '" << result.name << "' must have at most " << kMaxRank
                          << " dimensions, got: " << tensor.dims_size();
  if (tensor.has_segment())
    return emitError(loc) << "tensor '" << result.name << "' is stored in segments, which is not supported";
  SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  std::optional<int64_t> cells = checkedSize(shape);
  int bits = unsignedBits(tensor.data_type());
  int64_t width = bits ? bits / 8 : element.isInteger(1) ? 1 : element.getIntOrFloatBitWidth() / 8, size;
  if (!cells || llvm::MulOverflow(*cells, width, size))
    return emitError(loc) << "tensor '" << result.name << "' has a negative or too large dimension";
  result.type = RankedTensorType::get(shape, elementType(tensor.data_type()));
  result.stored = element;
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    if (failed(decodeExternal(tensor, result, size, loc)))
      return failure();
    widenUnsigned(result, bits);
    return result;
  }
  result.hasData = true;
  auto typed = [&](const auto &field) {
    result.bytes = ArrayRef(reinterpret_cast<const char *>(field.data()), field.size() * sizeof(*field.data()));
    result.owner = message;
  };
  auto narrowed = [&](std::shared_ptr<std::vector<char>> bytes) {
    result.bytes = *bytes;
    result.owner = bytes;
  };
  if (tensor.has_raw_data()) {
    result.bytes = ArrayRef(tensor.raw_data().data(), tensor.raw_data().size());
    result.owner = message;
  } else if (element.isF32()) {
    typed(tensor.float_data());
  } else if (element.isF64()) {
    typed(tensor.double_data());
  } else if (bits == 32) {
    narrowed(narrow<uint32_t>(tensor.uint64_data()));
  } else if (bits == 8) {
    narrowed(narrow<uint8_t>(tensor.int32_data()));
  } else if (element.isInteger(64)) {
    typed(tensor.int64_data());
  } else if (element.isInteger(32) && !bits) {
    typed(tensor.int32_data());
  } else if (width == 2) {
    narrowed(narrow<uint16_t>(tensor.int32_data()));
  } else {
    narrowed(narrow<int8_t>(tensor.int32_data()));
  }
  if (int64_t(result.bytes.size()) != size)
    return emitError(loc) << "tensor '" << result.name << "' must have " << size
                          << " bytes of data for its shape, got: " << result.bytes.size();
  widenUnsigned(result, bits);
  return result;
}

ElementsAttr StoredTensor::toResource() const {
  size_t align = width();
  AsmResourceBlob blob;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % align == 0) {
    blob = AsmResourceBlob(bytes, align, [owner = owner](void *, size_t, size_t) {}, /*dataIsMutable=*/false);
  } else {
    blob = HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, align, /*dataIsMutable=*/false);
  }
  auto own = RankedTensorType::get(type.getShape(), stored);
  return cast<ElementsAttr>(DenseResourceElementsAttr::get(own, name, std::move(blob)));
}

Type Model::elementType(int32_t onnxType) const {
  return onnx::elementType(context, llvm::is_contained(widened, onnxType) ? int32_t(TensorProto::FLOAT) : onnxType);
}

/// Numbers beyond f32 that are finite, as masks have them, stay finite.
static void roundToF32(HostTensor &cells) {
  for (double &cell : cells.floats)
    if (std::isfinite(cell))
      cell = float(std::clamp<double>(cell, -std::numeric_limits<float>::max(), std::numeric_limits<float>::max()));
}

HostTensor StoredTensor::toHost() const {
  HostTensor cells(type.getShape(), type.getElementType());
  Type element = stored;
  auto read = [&]<typename Cell>(int64_t i, Cell) {
    Cell cell;
    std::memcpy(&cell, bytes.data() + i * sizeof(Cell), sizeof(Cell));
    return cell;
  };
  const llvm::fltSemantics *semantics =
      isa<FloatType>(element) ? &cast<FloatType>(element).getFloatSemantics() : nullptr;
  for (int64_t i = 0, size = cells.size(); i < size; ++i) {
    if (element.isF32())
      cells.floats[i] = read(i, float());
    else if (element.isF64())
      cells.floats[i] = read(i, double());
    else if (semantics)
      cells.floats[i] = APFloat(*semantics, APInt(16, read(i, uint16_t()))).convertToDouble();
    else if (element.isInteger(64))
      cells.ints[i] = read(i, int64_t());
    else if (element.isInteger(32))
      cells.ints[i] = read(i, int32_t());
    else if (element.isInteger(16))
      cells.ints[i] = read(i, int16_t());
    else
      cells.ints[i] = element.isInteger(1) ? read(i, int8_t()) != 0 : read(i, int8_t());
  }
  if (stored.isF64() && type.getElementType().isF32())
    roundToF32(cells);
  return cells;
}
