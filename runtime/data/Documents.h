//===- Documents.h - Where documents begin and end --------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A corpus is a stream of tokens in which one id separates documents: it stands behind each document (`--eos`) or in
// front of each (`--bos`). Programs that keep attention within documents have two inputs that are computed from the
// tokens of a window by this id.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DATA_DOCUMENTS_H
#define DTCC_RUNTIME_DATA_DOCUMENTS_H

#include "runtime/data/SampleSource.h"

#include <optional>

namespace dtcc::rt {

/// The id that separates documents.
struct DocumentMark {
  int64_t id = 0;
  bool begins = false; /* it is the first token of a document, not the last */

  const char *option() const { return begins ? "bos" : "eos"; }
};

struct DocumentOptions {
  std::optional<int64_t> eos, bos; /* at most one */
  bool start = false;              /* windows start at documents */

  std::optional<DocumentMark> mark() const {
    return eos   ? std::optional(DocumentMark{*eos, false})
           : bos ? std::optional(DocumentMark{*bos, true})
                 : std::nullopt;
  }
};

/// Numbers that a program reads of each token of a sample.
enum class DocumentNumber { Document, Position };

/// The numbers of the samples that `tokens` has. Without a mark a sample is one document.
std::unique_ptr<SampleSource> openDocumentNumbers(std::unique_ptr<SampleSource> tokens,
                                                  std::optional<DocumentMark> mark, DocumentNumber number);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DATA_DOCUMENTS_H
