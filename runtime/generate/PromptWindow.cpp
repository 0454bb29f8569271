//===- PromptWindow.cpp - A prompt as the data of an evaluation -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/generate/PromptWindow.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <numeric>

namespace dtcc::rt {
namespace {

/// A batch of samples in memory, of which all but the first are alike.
class RowsInMemory final : public SampleSource {
public:
  RowsInMemory(const std::vector<int64_t> &first, const std::vector<int64_t> &others, int64_t count)
      : first(first), others(others), count(count) {}

  int64_t samples() const override { return count; }
  const std::string &path() const override { return name; }
  std::vector<File> files() const override { return {}; }
  std::vector<FileType> types() const override { return {FileType::I64}; }
  StoredCells at(int64_t sample, int64_t offset, int64_t /*count*/, CellRoom & /*room*/) const override {
    return {FileType::I64, reinterpret_cast<const std::byte *>((sample == 0 ? first : others).data() + offset)};
  }
  const MappedFile *fileOf(int64_t) const override { return nullptr; }
  const std::string &pathOf(int64_t sample) const override { return name; }
  std::string placeOf(int64_t sample, int64_t offset) const override { return "token " + std::to_string(offset); }

private:
  const std::vector<int64_t> &first, &others;
  int64_t count;
  std::string name = "the prompt";
};

} // namespace

const dtcc_input *PromptWindow::find(const Image &image, uint32_t role) {
  const dtcc_input *found = nullptr;
  for (const dtcc_input &input : image.inputs()) {
    if (input.view == DTCC_NONE)
      continue;
    if (input.role == DTCC_INPUT_DATA || input.rank != 2)
      fail("generation gives a model tokens alone, and this one also reads '", image.string(input.name), "'");
    if (input.role == role)
      found = &input;
  }
  if (!found)
    fail("generation needs a model that reads tokens and their labels");
  return found;
}

PromptWindow::PromptWindow(const Image &image)
    : tokens(find(image, DTCC_INPUT_TOKENS)), labels(find(image, DTCC_INPUT_LABELS)),
      shift(image.training().label_shift) {
  int64_t positions = tokens->dims[1].size, ofLabels = labels->dims[1].size;
  // The label of the token behind n known ones stands at n - shift.
  if (shift > 1)
    fail("generation needs a model whose labels lie at most 1 position behind their tokens, got: ", shift);
  most = std::min(positions, ofLabels - 1 + shift);
  if (most < 1)
    fail("generation needs windows of at least 2 tokens, got: ", positions);
  window.assign(static_cast<size_t>(positions), tokens->lower);
  oneDocument.assign(static_cast<size_t>(positions), 0);
  counted = oneDocument;
  std::iota(counted.begin(), counted.end(), 0);
  ignored.assign(static_cast<size_t>(ofLabels), labels->ignore);
  chosen = ignored;
  data = std::make_unique<Batches>(image, [this](const dtcc_input &input) {
    const int64_t rows = input.dims[0].size;
    if (input.role == DTCC_INPUT_LABELS)
      return std::make_unique<RowsInMemory>(chosen, ignored, rows);
    const std::vector<int64_t> &each = input.role == DTCC_INPUT_DOCUMENTS   ? oneDocument
                                       : input.role == DTCC_INPUT_POSITIONS ? counted
                                                                            : window;
    return std::make_unique<RowsInMemory>(each, each, rows);
  });
}

void PromptWindow::show(std::span<const int64_t> known, int64_t padding) {
  known = known.last(std::min(known.size(), static_cast<size_t>(most)));
  std::fill(window.begin(), window.end(), padding);
  std::copy(known.begin(), known.end(), window.begin());
  std::fill(chosen.begin(), chosen.end(), labels->ignore);
  chosen[static_cast<size_t>(static_cast<int64_t>(known.size()) - shift)] = labels->lower;
}

} // namespace dtcc::rt
