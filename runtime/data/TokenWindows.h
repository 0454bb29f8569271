//===- TokenWindows.h - Samples cut of files of tokens ----------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two ways to cut samples of a fixed length of a corpus. Windows follow one another in a file, or they start at
// documents: a document is then cut into windows, and the last one is filled up.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DATA_TOKENWINDOWS_H
#define DTCC_RUNTIME_DATA_TOKENWINDOWS_H

#include "runtime/data/Documents.h"
#include "runtime/data/TokenFile.h"

namespace dtcc::rt {

/// Files of tokens in their order, with the parts of a mixture. It outlives what is cut of it.
struct TokenShards {
  struct Part {
    size_t files; /* they follow each other */
    double weight;
  };
  std::string option, spec;
  std::vector<TokenFile> files;
  std::vector<Part> parts;
};

/// A document: tokens [begin, end) of a file. It holds the mark that ends it, and the one that begins it.
struct DocumentExtent {
  size_t file;
  int64_t begin, end;

  /// Windows of `length` tokens in which at least one token has a label.
  int64_t windows(int64_t length) const { return end - begin < 2 ? 0 : (end - begin - 2) / length + 1; }
};
/// Reads all tokens. Throws Error if no token is the mark.
std::vector<DocumentExtent> findDocuments(const TokenShards &shards, DocumentMark mark);

/// Windows of `length` tokens that follow one another, moved by `shift` tokens. A window and its labels, moved by
/// `largestShift`, lie in one file.
std::unique_ptr<SampleSource> cutWindows(std::shared_ptr<const TokenShards> shards, int64_t length, int64_t shift,
                                         int64_t largestShift);

/// Windows of `length` tokens from the start of a document on, moved by `shift` tokens. `padding` stands behind the end
/// of the document.
std::unique_ptr<SampleSource> cutDocuments(std::shared_ptr<const TokenShards> shards,
                                           std::shared_ptr<const std::vector<DocumentExtent>> documents, int64_t length,
                                           int64_t shift, int64_t padding);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DATA_TOKENWINDOWS_H
