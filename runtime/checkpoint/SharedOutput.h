//===- SharedOutput.h - A file that all ranks write ----------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rank 0 makes the file, every rank maps it and writes the cells that it owns, and rank 0
// renames it when all are done: no rank gathers another's state.
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

/// Makes a file of `bytes` bytes that starts with `header`; `write` is called on every rank with its first byte.
/// Without `rename` it is left under its temporary name, PATH.tmp.
void writeTogether(const std::string &path, const std::string &header, uint64_t bytes, const Rank &rank,
                   const std::function<void(std::byte *)> &write, bool rename = true);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_SHAREDOUTPUT_H
