//===- SharedOutput.cpp - A file that all ranks write --------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/SharedOutput.h"

#include "runtime/checkpoint/WholeFile.h"
#include "runtime/collective/Communicator.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace dtcc::rt {

void waitForAll(const Rank &rank) {
  if (rank.world)
    rank.world->barrier();
}

void writeTogether(const std::string &path, const std::string &header, uint64_t bytes, const Rank &rank,
                   const std::function<void(std::byte *)> &write, bool rename) {
  std::string temporary = path + ".tmp";
  std::optional<WholeFile> file;
  if (rank.abi.rank == 0) {
    file.emplace(temporary, bytes, /*create=*/true);
    std::memcpy(file->data(), header.data(), header.size());
  }
  waitForAll(rank);
  if (!file)
    file.emplace(temporary, bytes, /*create=*/false);
  write(file->data());
  waitForAll(rank);
  if (rank.abi.rank != 0)
    return;
  file->sync();
  if (rename)
    renameDurably(temporary, path);
}

void writeSafetensors(const std::string &path, const std::vector<SavedTensor> &tensors, const Rank &rank, bool rename) {
  // Readers want each tensor aligned to its elements.
  auto width = [](const SavedTensor &tensor) {
    std::optional<FileType> type = fileTypeNamed(tensor.type);
    return type ? fileTypeSize(*type) : 1;
  };
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(-width(tensors[a]), a) < std::pair(-width(tensors[b]), b); });
  SafetensorsLayout layout;
  for (size_t i : order)
    layout.add(tensors[i].name, tensors[i].type, tensors[i].shape, tensors[i].bytes);
  layout.setMetadata("format", "pt");
  layout.setMetadata("producer", "dtcc");
  layout.finish();
  auto write = [&](std::byte *start) {
    for (size_t i = 0; i < order.size(); ++i)
      writeCells(tensors[order[i]], rank, start + layout.offset(i));
  };
  writeTogether(path, layout.headerBytes(), layout.fileBytes(), rank, write, rename);
}

} // namespace dtcc::rt
