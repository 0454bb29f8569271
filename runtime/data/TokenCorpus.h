//===- TokenCorpus.h - All tokens of a run ----------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shards that --tokens names, opened once for all inputs of a language model. A sample is a window of tokens that
// lies in one shard: windows stand one after the other, and the tokens behind the last whole window are left out.
// Files are mapped, so a rank reads the pages of its own windows alone. Windows that start at documents need all tokens
// to be read once, at the start.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DATA_TOKENCORPUS_H
#define DTCC_RUNTIME_DATA_TOKENCORPUS_H

#include "runtime/data/TokenWindows.h"

namespace dtcc::rt {

class TokenCorpus {
public:
  /// Opens the files of `spec` (TokenPaths.h), the text of the option `option`. Throws Error that names the file.
  TokenCorpus(const std::string &option, const std::string &spec);

  /// Windows of `length` tokens, moved by `shift` tokens. Window r and its labels (moved by `largestShift`) both lie
  /// in one shard for every r below samples().
  std::unique_ptr<SampleSource> windows(int64_t length, int64_t shift, int64_t largestShift);

  /// Windows of `length` tokens from the starts of documents on, moved by `shift` tokens, with `padding` behind the
  /// ends of documents.
  std::unique_ptr<SampleSource> documentWindows(int64_t length, int64_t shift, DocumentMark mark, int64_t padding);

  /// Lines for people: how many files and tokens there are, which format was assumed, and what is not read.
  std::vector<std::string> notes() const;

private:
  std::shared_ptr<TokenShards> contents;
  std::shared_ptr<const std::vector<DocumentExtent>> documents; /* once they are needed */
  std::string documentNote, shortNote;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DATA_TOKENCORPUS_H
