//===- SharedOutput.h - A file that all ranks write ----------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rank 0 makes the file, every rank maps it and writes the cells that it owns, and rank 0
// renames it when all are done: no rank gathers another's state. A rank whose host does not
// see the file writes into memory, and sends rank 0 what it wrote.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_SHAREDOUTPUT_H
#define DTCC_RUNTIME_CHECKPOINT_SHAREDOUTPUT_H

#include "runtime/image/Rank.h"

#include <functional>
#include <string>

namespace dtcc::rt {

/// Waits for all ranks, if there are others.
void waitForAll(const Rank &rank);

/// The text of rank 0, on every rank. All ranks call it.
std::string textOfFirst(const std::string &mine, const Rank &rank);

/// A last pass over the finished file, by all ranks that see it. There are `shares` such ranks, and the calling rank
/// has number `share`.
using FinishFile = std::function<void(std::byte *start, int64_t share, int64_t shares)>;

/// Makes a file of `bytes` bytes that starts with `header`; `write` is called on every rank with its first byte, and
/// writes bytes that no other rank writes. When all have, `finish` is called. Without `rename` the file is left under
/// its temporary name, PATH.tmp.
void writeTogether(const std::string &path, const std::string &header, uint64_t bytes, const Rank &rank,
                   const std::function<void(std::byte *)> &write, bool rename = true, const FinishFile &finish = {});

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_SHAREDOUTPUT_H
