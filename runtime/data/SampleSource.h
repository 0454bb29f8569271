//===- SampleSource.h - Source of the samples of an input ------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sample is one row of an input: all cells at one index of dimension 0. A source knows the
// number of samples and finds parts of a sample in its mapped files. Sources are read-only and
// shared by the ranks of a process.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DATA_SAMPLESOURCE_H
#define DTCC_RUNTIME_DATA_SAMPLESOURCE_H

#include "runtime/core/Elements.h"
#include "runtime/core/MappedFile.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dtcc::rt {

/// Cells of a sample as a file has them.
struct StoredCells {
  FileType type;
  const std::byte *data;
};

/// Memory for cells that a source computes.
using CellRoom = std::vector<int64_t>;

/// Samples of a source that are taken together; see SampleOrder.h.
struct SourcePart {
  int64_t samples = 0;
  double weight = 0; /* of a mixture; 0: the source is none */
};

class SampleSource {
public:
  struct File {
    std::string path;
    std::span<const std::byte> bytes;
    /// The type that the user gave raw bytes, if another would be read without a word.
    std::optional<FileType> givenType = std::nullopt;
  };

  virtual ~SampleSource() = default;
  virtual int64_t samples() const = 0;
  /// The samples in order: those of part 0, then those of part 1, ...
  virtual std::vector<SourcePart> parts() const { return {{samples(), 0}}; }
  /// The file or files, for messages about all of them.
  virtual const std::string &path() const = 0;
  virtual std::vector<File> files() const = 0;
  /// The element types of the cells, each once.
  virtual std::vector<FileType> types() const = 0;
  /// `count` cells of a sample from element `offset` on: where a file has them, or in `room`.
  virtual StoredCells at(int64_t sample, int64_t offset, int64_t count, CellRoom &room) const = 0;
  /// The file that holds a sample; null: it is in memory.
  virtual const MappedFile *fileOf(int64_t sample) const = 0;
  /// The file of a sample and the place of an element in it, for messages: "sample 2, element 0", "token 1234".
  virtual const std::string &pathOf(int64_t sample) const = 0;
  virtual std::string placeOf(int64_t sample, int64_t offset) const = 0;
};

/// Facts by which data is known again: a run that goes on with other data trains something else.
struct DataIdentity {
  std::string input; /* of the model */
  std::string name;  /* of the file or files, without their folder, which may move */
  uint64_t bytes = 0;
  std::string hash; /* of heads and tails: the whole may take hours to read */

  bool operator==(const DataIdentity &other) const {
    return input == other.input && bytes == other.bytes && hash == other.hash;
  }
  /// "corpus.bin of 1000 bytes (hash 0123456789abcdef)"
  std::string text() const;
};
DataIdentity identityOf(const std::string &input, const SampleSource &source);

/// The files of `option`=`path`: the file, or the .npy files of a folder or a glob, sorted by name. Throws Error if
/// there are none.
std::vector<std::string> findArrays(const std::string &option, const std::string &path);

/// The rows of `.npy` files, one file after the other. Their dimensions past the first are `shape`.
std::unique_ptr<SampleSource> openNpySource(const std::vector<std::string> &paths, const std::string &input,
                                            const std::vector<int64_t> &shape);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DATA_SAMPLESOURCE_H
