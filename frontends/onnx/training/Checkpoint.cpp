//===- Checkpoint.cpp - The parameters of ONNX Runtime's training artifacts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How flatbuffers lie in memory: https://flatbuffers.dev/internals/. All numbers are
// little-endian. A table starts with the signed distance back to its vtable: its size in
// bytes, the table's, then for each field where it lies in the table, 0 if absent.
// Strings, vectors and tables are behind a distance forward.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/training/Checkpoint.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"
#include <optional>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

namespace {

/// A buffer from which nothing beyond its end is read. Positions are counted from its start; nothing: a position led
/// outside.
class FlatBuffer {
public:
  explicit FlatBuffer(StringRef bytes) : bytes(bytes) {}

  using Position = std::optional<uint64_t>;

  template <typename T> std::optional<T> number(Position at) const {
    if (!at || *at > bytes.size() || bytes.size() - *at < sizeof(T))
      return std::nullopt;
    return llvm::support::endian::read<T, llvm::endianness::little>(bytes.data() + *at);
  }
  /// Returns the position that the distance stored at `at` leads to.
  Position follow(Position at) const {
    std::optional<uint32_t> distance = number<uint32_t>(at);
    return distance ? Position(*at + *distance) : std::nullopt;
  }
  /// Returns the position of field `i` of a table, 0 if the table lacks the field, or nothing if the table is damaged.
  Position field(Position table, unsigned i) const {
    std::optional<int32_t> back = number<int32_t>(table);
    if (!back || (*back >= 0 ? uint64_t(*back) > *table : uint64_t(-int64_t(*back)) > bytes.size()))
      return std::nullopt;
    uint64_t vtable = *table - int64_t(*back);
    std::optional<uint16_t> size = number<uint16_t>(vtable);
    if (!size || *size < 4)
      return std::nullopt;
    if (*size < 4 + 2 * (i + 1))
      return 0;
    std::optional<uint16_t> offset = number<uint16_t>(vtable + 4 + 2 * i);
    if (!offset)
      return std::nullopt;
    return *offset ? *table + *offset : 0;
  }
  struct Vector {
    uint64_t begin = 0, length = 0;
  };
  /// The vector of elements of `width` bytes that a field holds; one that is absent is empty.
  std::optional<Vector> vector(Position field, unsigned width) const {
    if (field == 0)
      return Vector();
    Position at = follow(field);
    std::optional<uint32_t> length = number<uint32_t>(at);
    if (!length || (bytes.size() - *at - 4) / width < *length)
      return std::nullopt;
    return Vector{*at + 4, *length};
  }
  StringRef text(const Vector &vector) const { return bytes.substr(vector.begin, vector.length); }

private:
  StringRef bytes;
};

/// Reads the tables; a failure is damage.
class CheckpointReader {
public:
  explicit CheckpointReader(StringRef bytes) : buffer(bytes) {}

  FailureOr<Checkpoint> read() {
    Checkpoint result;
    FlatBuffer::Position root = buffer.follow(0), module = buffer.field(root, 1);
    if (!module || module == 0)
      return failure();
    module = buffer.follow(module);
    auto groups = buffer.vector(buffer.field(root, 2), 4);
    if (!groups || failed(readList(buffer.field(module, 0), result.trainable)) ||
        failed(readList(buffer.field(module, 1), result.frozen)))
      return failure();
    result.hasOptimizerState = groups->length > 0;
    return result;
  }

private:
  LogicalResult readList(FlatBuffer::Position field, std::vector<CheckpointTensor> &list) {
    auto tensors = buffer.vector(field, 4);
    if (!tensors)
      return failure();
    for (uint64_t i = 0; i < tensors->length; ++i)
      if (failed(readTensor(buffer.follow(tensors->begin + 4 * i), list.emplace_back())))
        return failure();
    return success();
  }

  LogicalResult readTensor(FlatBuffer::Position table, CheckpointTensor &tensor) {
    auto name = buffer.vector(buffer.field(table, 0), 1), dims = buffer.vector(buffer.field(table, 2), 8),
         values = buffer.vector(buffer.field(table, 4), 1);
    FlatBuffer::Position type = buffer.field(table, 3);
    if (!name || name->length == 0 || !dims || !values || !type || type == 0 || !buffer.number<int32_t>(type))
      return failure();
    tensor.name = buffer.text(*name).str();
    // Each name once: a file cannot list one tensor over and over.
    if (!names.insert(tensor.name).second)
      return failure();
    for (uint64_t i = 0; i < dims->length; ++i)
      tensor.dims.push_back(*buffer.number<int64_t>(dims->begin + 8 * i));
    tensor.type = *buffer.number<int32_t>(type);
    tensor.offset = static_cast<int64_t>(values->begin), tensor.bytes = static_cast<int64_t>(values->length);
    return success();
  }

  FlatBuffer buffer;
  llvm::StringSet<> names;
};
} // namespace

FailureOr<Checkpoint> dtcc::onnx::readCheckpoint(StringRef path, Location loc) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return emitError(loc) << "cannot read the checkpoint of the artifacts, '" << path
                          << "': " << file.getError().message();
  StringRef bytes = (*file)->getBuffer();
  if (bytes.size() < 8 || bytes.substr(4, 4) != "ODTC")
    return emitError(loc) << "'" << path << "' must be a checkpoint of ONNX Runtime's training (identifier ODTC)";
  FailureOr<Checkpoint> checkpoint = CheckpointReader(bytes).read();
  if (failed(checkpoint))
    return emitError(loc) << "the checkpoint '" << path << "' is cut off or damaged";
  return checkpoint;
}
