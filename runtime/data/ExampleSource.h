//===- ExampleSource.h - Source of the samples of an input ---- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sample is one row of an input: all cells at one index of dimension 0. A source knows the
// number of samples and fills parts of a sample. Sources are read-only and shared by the ranks
// of a process.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DATA_EXAMPLESOURCE_H
#define DTCC_RUNTIME_DATA_EXAMPLESOURCE_H

#include "runtime/core/Elements.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dtcc::rt {

class ExampleSource {
public:
  virtual ~ExampleSource() = default;
  virtual int64_t examples() const = 0;
  /// The file, for messages.
  virtual const std::string &path() const = 0;
  /// The stored type and the address of element `offset` of a sample.
  virtual FileType type() const = 0;
  virtual const std::byte *at(int64_t example, int64_t offset) const = 0;
  /// The whole file.
  virtual std::span<const std::byte> file() const = 0;
};

/// Facts by which a file of data is known again: a run that goes on with other data trains something else.
struct DataIdentity {
  std::string input; /* of the model */
  std::string name;  /* of the file, without its folder, which may move */
  uint64_t bytes = 0;
  std::string hash; /* of its head and its tail: the whole may take hours to read */

  bool operator==(const DataIdentity &other) const {
    return input == other.input && bytes == other.bytes && hash == other.hash;
  }
  /// "corpus.bin of 1000 bytes (hash 0123456789abcdef)"
  std::string text() const;
};
DataIdentity identityOf(const std::string &input, const ExampleSource &source);

/// A `.npy` file whose dimensions past the first are `shape`.
std::unique_ptr<ExampleSource> openNpySource(const std::string &path, const std::string &input,
                                             const std::vector<int64_t> &shape);

/// One stream of token ids, opened once for both inputs of a language model.
class TokenStream {
public:
  /// `spec` is FILE, FILE:u16 or FILE:u32; see CLI.md.
  explicit TokenStream(const std::string &spec);
  ~TokenStream();

  /// Rows of `length` tokens, one after the other, that begin `shift` tokens into
  /// the stream. Row r and its row of labels (shift 1) both lie inside the stream
  /// for every r below examples(); `largestShift` is that of the labels.
  std::unique_ptr<ExampleSource> rows(int64_t length, int64_t shift, int64_t largestShift) const;

private:
  struct Contents;
  std::shared_ptr<Contents> contents;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DATA_EXAMPLESOURCE_H
