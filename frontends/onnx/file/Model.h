//===- Model.h - An ONNX file, checked and mapped
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes to messages and tensors. Everything in the file is hostile until checked
// here: nesting, ranks, sizes, names, paths of external data. Weights are views of
// mapped files or of the parsed message, never copies.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_FILE_MODEL_H
#define DTCC_FRONTENDS_ONNX_FILE_MODEL_H

#include "dialects/interfaces/HostTensor.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <memory>
#include <optional>
#include <string>

namespace onnx {
class ModelProto;
class NodeProto;
class TensorProto;
} // namespace onnx

namespace dtcc::onnx {

/// Dimensions of a tensor beyond this are refused.
constexpr int64_t kMaxRank = 32;
/// Nested messages and calls of functions beyond this are refused.
constexpr int kMaxNesting = 64;

/// A tensor of the file. `bytes` is empty with `hasData` false when the file names data that is not there.
struct StoredTensor {
  std::string name;
  /// Type in the graph: f32 for the types that Model::widen was called for.
  mlir::RankedTensorType type;
  /// The element type of `bytes`.
  mlir::Type stored;
  llvm::ArrayRef<char> bytes;
  bool hasData = false;
  /// Keeps `bytes` alive.
  std::shared_ptr<const void> owner;
  /// Bytes of an element in the file.
  size_t width() const { return std::max<size_t>(1, stored.getIntOrFloatBitWidth() / 8); }

  /// The cells as values; needs data.
  HostTensor toHost() const;
  /// The bytes as an attribute that keeps their owner alive. Misaligned data, which a file may hold, is copied.
  mlir::ElementsAttr toResource() const;
};

/// The name by which a node is known: its own, or its first output's where it has none.
std::string nameOf(const ::onnx::NodeProto &node);

/// The element type of an ONNX data type, or null if dtcc has none for it.
mlir::Type elementType(mlir::MLIRContext *context, int32_t onnxType);
/// Bits of an unsigned type that dtcc holds in a wider signed one, or 0.
int unsignedBits(int32_t onnxType);
/// The name of an element type in ONNX's documents, for messages.
llvm::StringRef elementTypeName(int32_t onnxType);

class Model {
public:
  Model(mlir::MLIRContext *context, llvm::StringRef path, llvm::StringRef externalRoot,
        llvm::ArrayRef<std::string> outputs, bool dataOptional);
  ~Model();

  /// Reads and checks the file. Errors are emitted at the file.
  mlir::LogicalResult load();
  /// Decodes a tensor, mapping its external data. With `dataOptional`, data that is missing as a whole is no error.
  mlir::FailureOr<StoredTensor> decode(const ::onnx::TensorProto &tensor, mlir::Location loc);

  /// Tensors of this float type are f32 from now on, wherever the file has them.
  void widen(int32_t onnxType) { widened.push_back(onnxType); }
  /// The element type that the graph has for an ONNX data type, or null if dtcc has none for it.
  mlir::Type elementType(int32_t onnxType) const;

  /// The file as the image holds it (runtime/checkpoint/save/SaveOnnx.h): without the initializers that `drops` names.
  /// Fails, silently, if what is left is too large for an image, or lacks data.
  mlir::FailureOr<std::string> withoutInitializers(llvm::function_ref<bool(llvm::StringRef)> drops);

  const ::onnx::ModelProto &proto() const { return *message; }
  /// The message, for who rewrites its graph before anything is decoded.
  ::onnx::ModelProto &mutableProto() { return *message; }
  mlir::MLIRContext *getContext() const { return context; }
  const std::string &getPath() const { return path; }
  /// The folder that the file lies in.
  const std::string &getFolder() const { return folder; }
  /// The location of a node of the file.
  mlir::Location nodeLoc(const ::onnx::NodeProto &node) const;
  /// The location of the file.
  mlir::Location loc() const { return fileLoc; }
  /// Version of the default operator set.
  int64_t opset() const { return opsets.lookup(""); }
  /// Version of an operator set, 0 if the file does not import it.
  int64_t opset(llvm::StringRef domain) const { return opsets.lookup(domain); }

private:
  /// A read-only mapping of an external file, or of nothing if it does not exist.
  struct Mapping;
  mlir::FailureOr<std::shared_ptr<Mapping>> map(llvm::StringRef location, mlir::Location loc);
  mlir::LogicalResult decodeExternal(const ::onnx::TensorProto &tensor, StoredTensor &result, int64_t size,
                                     mlir::Location loc);

  mlir::MLIRContext *context;
  std::string path, folder, externalRoot;
  std::vector<std::string> outputs;
  bool dataOptional;
  mlir::Location fileLoc;
  std::shared_ptr<::onnx::ModelProto> message;
  llvm::SmallVector<int32_t> widened;
  llvm::StringMap<int64_t> opsets;
  llvm::StringMap<std::shared_ptr<Mapping>> mappings;
};

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_FILE_MODEL_H
