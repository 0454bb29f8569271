//===- Manifest.h - What the exporting module knew of its parameters
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The export script writes the names, ties and trainability of parameters into the
// file's metadata, under `dtcc.manifest`, because an ONNX graph does not hold them.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_FILE_MANIFEST_H
#define DTCC_FRONTENDS_ONNX_FILE_MANIFEST_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace dtcc::onnx {

class Model;

struct ManifestEntry {
  bool trainable = true, decay = true;
  /// The learning rate's factor and the weight decay of the parameter's group, where the group has its own.
  std::optional<double> lrScale, weightDecay;
  /// The row of an embedding that receives no gradient, or -1.
  int64_t paddingIndex = -1;
};

class Manifest {
public:
  /// Reads the metadata of `model`, if there is any.
  mlir::LogicalResult read(const Model &model);
  bool exists() const { return present; }
  /// The entry of an initializer, or null: not a parameter.
  const ManifestEntry *find(llvm::StringRef initializer) const;

  /// Buffers that a step changes: the initializer, and the value of the graph that follows it.
  struct Update {
    std::string buffer, value;
  };
  llvm::ArrayRef<Update> bufferUpdates() const { return updates; }
  bool isUpdated(llvm::StringRef initializer) const;

  /// The output that the file's own loss is; empty if the manifest does not say.
  llvm::StringRef lossOutput() const { return loss; }
  /// Every name of a parameter or buffer of the module that an initializer holds: of tied ones there are several.
  llvm::ArrayRef<std::string> namesOf(llvm::StringRef initializer) const;
  /// Initializers of all parameters and saved buffers, each once, in the module's order.
  llvm::ArrayRef<std::string> saved() const { return order; }
  /// How a model with adapters is saved, as JSON; empty if the manifest does not say.
  llvm::StringRef adapters() const { return adapterForms; }

  /// A question that forward asked in Python about sizes that stay open: the trace holds the answer for sizes with this
  /// condition.
  struct SizeCondition {
    std::string condition, line;
  };
  llvm::ArrayRef<SizeCondition> sizeConditions() const { return conditions; }

  /// Number of positions by which the loss of the file shifts its labels, if the manifest says so.
  std::optional<int64_t> lossShift() const { return shift; }

private:
  mlir::LogicalResult readShift(const llvm::json::Object &described, const Model &model);
  mlir::LogicalResult readBuffers(const llvm::json::Object &facts, const Model &model);
  mlir::LogicalResult readConditions(const llvm::json::Object &facts, const Model &model);
  void addName(const llvm::json::Object &row, llvm::StringRef initializer);

  bool present = false;
  std::optional<int64_t> shift;
  llvm::StringMap<ManifestEntry> entries;
  std::vector<Update> updates;
  std::vector<SizeCondition> conditions;
  std::string loss, adapterForms;
  llvm::StringMap<std::vector<std::string>> names;
  std::vector<std::string> order;
};

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_FILE_MANIFEST_H
