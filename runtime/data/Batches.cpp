//===- Batches.cpp - The inputs of every step ----------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Batches.h"

#include "runtime/core/ContentHash.h"
#include "runtime/core/Error.h"
#include "runtime/image/StridedCopy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

namespace dtcc::rt {
Batches::Batches(const Image &image, const DataOptions &options) : image(image), batch(image.training().batch) {
  openSources(options);
  if (inputs.empty()) {
    epochSteps = INT64_MAX; // a model without inputs trains on nothing, for ever
    return;
  }
  const Input &first = inputs[0];
  if (first.steps() == 0)
    fail(first.source->path(), ": a batch needs ", first.rows, first.rows == 1 ? " sample" : " samples",
         first.input->role == DTCC_INPUT_TOKENS && first.input->rank == 2
             ? message(" of ", first.input->dims[1].size, " tokens")
             : "",
         ", got: ", first.source->samples());
  for (const Input &input : inputs)
    uneven |= input.rows != batch;
  makeOrder(options);
}

Batches::Batches(const Image &image, const std::function<std::unique_ptr<SampleSource>(const dtcc_input &)> &sourceOf)
    : image(image), batch(image.training().batch) {
  for (const dtcc_input &input : image.inputs())
    if (input.view != DTCC_NONE)
      inputs.push_back({&input, sourceOf(input), input.dims[0].size});
  makeOrder({});
}

/// Whether a float of a file may have digits that the input's type does not hold.
static bool rounds(FileType from, uint32_t to) {
  bool isFloat = from == FileType::F64 || from == FileType::F32 || from == FileType::BF16 || from == FileType::F16;
  return isFloat && fileTypeSize(fileTypeOf(to)) <= fileTypeSize(from) && fileTypeOf(to) != from;
}

void Batches::openSources(const DataOptions &options) {
  InputSources sources(image, options);
  std::vector<std::string> rounded;
  for (const dtcc_input &input : image.inputs()) {
    if (input.view == DTCC_NONE)
      continue;
    Input row{&input, sources.open(input), input.dims[0].size};
    if (!inputs.empty())
      checkLengths(inputs[0], row);
    // Types are tried on no elements here, on all when they are read.
    const char zero[8] = {};
    char sink[8];
    uint32_t dtype = image.views()[input.view].dtype;
    for (FileType type : row.source->types()) {
      if (convertElements(type, zero, dtype, sink, 1, /*rounding=*/false) >= 0)
        fail(row.source->path(), ": the input '", image.string(input.name), "' must be ", dtypeName(dtype),
             ", got: ", fileTypeName(type));
      std::string line = message(row.source->path(), " holds ", fileTypeName(type), ", which is rounded to ",
                                 dtypeName(dtype), ", the type of the input '", image.string(input.name), "'");
      // Several stages of a pipeline may read it.
      if (rounds(type, dtype) && std::find(rounded.begin(), rounded.end(), line) == rounded.end())
        rounded.push_back(std::move(line));
    }
    inputs.push_back(std::move(row));
  }
  lines = sources.finish();
  lines.insert(lines.end(), rounded.begin(), rounded.end());
  if (std::optional<DocumentMark> mark = options.documents.mark())
    reduced = message(mark->option(), "=", mark->id, options.documents.start ? " start;" : ";");
}

void Batches::makeOrder(const DataOptions &options) {
  std::vector<SampleOrder::Part> parts;
  if (uneven) {
    // Whole steps are ordered where inputs have different numbers of rows a step.
    parts.push_back({0, inputs[0].steps(), 0});
    for (const Input &input : inputs)
      if (input.source->parts()[0].weight > 0)
        refuseMixture(options);
  } else {
    // All inputs have as many samples. The parts of a mixture of tokens are those of the files beside it too.
    std::vector<SourcePart> sourceParts = inputs[0].source->parts();
    for (const Input &input : inputs)
      if (input.source->parts().size() > sourceParts.size())
        sourceParts = input.source->parts();
    int64_t begin = 0;
    for (const SourcePart &part : sourceParts) {
      if (part.weight > 0 && part.samples == 0)
        fail(options.option("tokens"), "=", options.tokens,
             ": every part of a mixture needs tokens for a window, and part ", parts.size() + 1, " has too few");
      parts.push_back({begin, part.samples, part.weight});
      begin += part.samples;
    }
  }
  isPart = options.heldOut > 0;
  if (isPart)
    holdOut(parts, options);
  order = SampleOrder(std::move(parts), uneven ? 1 : batch, options.shuffle);
  epochSteps = order.stepsPerEpoch();
  samples = uneven ? epochSteps * batch : order.samples();
  if (epochSteps == 0)
    fail(inputs[0].source->path(), ": --eval-fraction=", options.heldOut, " leaves ", order.samples(),
         uneven ? " step" : " sample", order.samples() == 1 ? "" : "s",
         options.isHeldOut ? " to evaluate, and a batch needs " : " to train on, and a batch needs ",
         uneven ? 1 : batch);
}

/// The weights of a mixture count samples, and whole steps of some files have a mixture of parts already.
void Batches::refuseMixture(const DataOptions &options) const {
  for (const Input &input : inputs)
    if (input.rows != batch)
      fail(options.option("tokens"), "=", options.tokens,
           ": a mixture needs inputs that all have a row for each of the ", batch, " samples of a step, and '",
           image.string(input.input->name), "' has ", input.rows, input.rows == 1 ? " row" : " rows",
           ": leave the weights out");
}

/// The end of each part is held out, so that the same samples are whatever the order of training is.
void Batches::holdOut(std::vector<SampleOrder::Part> &parts, const DataOptions &options) {
  for (SampleOrder::Part &part : parts) {
    // 0.07 of 100 must be 7, although 0.07 has no exact binary form.
    const double exact = static_cast<double>(part.samples) * options.heldOut;
    auto held = static_cast<int64_t>(std::ceil(exact - 1e-9 * std::max(1.0, exact)));
    if (options.isHeldOut)
      part = {part.first + part.samples - held, held, 0};
    else
      part.samples -= held;
    if (part.samples == 0 && part.weight > 0)
      fail(options.option("tokens"), "=", options.tokens, ": --eval-fraction=", options.heldOut,
           " leaves nothing of a part of the mixture to train on");
    reduced += message(part.first, "+", part.samples, ";");
  }
}

std::string Batches::fileSharedWith(const Batches &other) const {
  if (isPart || other.isPart)
    return "";
  auto canonical = [](const SampleSource::File &file) {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::weakly_canonical(file.path, error);
    return error ? file.path : path.string();
  };
  std::set<std::string> own;
  for (const Input &input : inputs)
    for (const SampleSource::File &file : input.source->files())
      own.insert(canonical(file));
  std::string shared;
  for (const Input &input : other.inputs) {
    const std::vector<SampleSource::File> files = input.source->files();
    auto found =
        std::find_if(files.begin(), files.end(), [&](const auto &file) { return own.count(canonical(file)) > 0; });
    // Samples of which one input is new are others.
    if (found == files.end() && !files.empty())
      return "";
    if (found != files.end() && shared.empty())
      shared = found->path;
  }
  return shared;
}

std::vector<DataIdentity> Batches::identities() const {
  std::vector<DataIdentity> all;
  for (const Input &row : inputs) {
    std::string name(image.string(row.input->name));
    // Several stages of a pipeline may read it.
    if (std::any_of(all.begin(), all.end(), [&](const DataIdentity &each) { return each.input == name; }))
      continue;
    all.push_back(identityOf(name, *row.source));
    // Another part of the same files is other data, so the part enters the hash.
    if (!reduced.empty())
      all.back().hash = hashText(contentHash(all.back().hash + reduced));
  }
  return all;
}

/// Fails unless both files serve as many steps. Inputs of one batch must agree in every sample: one more in one file
/// is likely a mistake.
void Batches::checkLengths(const Input &one, const Input &other) {
  int64_t count = one.source->samples(), otherCount = other.source->samples();
  if (one.rows == other.rows && count != otherCount)
    fail("all inputs must have as many samples: ", one.source->path(), " has ", count, ", ", other.source->path(),
         " has ", otherCount);
  if (one.steps() != other.steps())
    fail(
        "all inputs must have samples for as many steps: ", one.source->path(), " has ", count, ", ", one.rows,
        " a step, ", other.source->path(), " has ", otherCount, ", ", other.rows,
        " a step: the first dimension of every input counts as samples, so repeat rows that are the same in all steps, "
        "or make them a constant of the model");
}

int64_t Batches::rowAt(const Input &input, int64_t first, int64_t row) const {
  return uneven ? order(first / batch) * input.rows + row : order(first + row);
}

void Batches::convert(const Input &row, int64_t sample, int64_t offset, void *target, int64_t count) const {
  const dtcc_input &input = *row.input;
  uint32_t dtype = image.views()[input.view].dtype;
  CellRoom room;
  StoredCells source = row.source->at(sample, offset, count, room);
  auto bad = [&](int64_t i, const auto &...what) {
    fail(row.source->pathOf(sample), ": input '", image.string(input.name), "', ",
         row.source->placeOf(sample, offset + i), ": ", what...,
         ", got: ", elementAsDouble(source.type, source.data, i));
  };
  // An integer stands for an id or a count, of which another is another sample. A float is a measurement.
  int64_t wrong = convertElements(source.type, source.data, dtype, target, count, /*rounding=*/true);
  if (wrong >= 0)
    bad(wrong, "the value must be exact as ", dtypeName(dtype));
  if (rounds(source.type, dtype))
    for (int64_t i = 0; i < count; ++i)
      if (std::isinf(elementAsDouble(fileTypeOf(dtype), target, i)) &&
          !std::isinf(elementAsDouble(source.type, source.data, i)))
        bad(i, "the value must be within the range of ", dtypeName(dtype));
  if (input.upper <= input.lower)
    return;
  auto check = [&](auto *values) {
    for (int64_t i = 0; i < count; ++i) {
      auto value = static_cast<int64_t>(values[i]);
      if ((value < input.lower || value >= input.upper) && value != input.ignore)
        bad(i, "the value must be from ", input.lower, " to ", input.upper - 1);
    }
  };
  if (dtype == DTCC_I64)
    check(static_cast<int64_t *>(target));
  else if (dtype == DTCC_I32)
    check(static_cast<int32_t *>(target));
  else if (dtype == DTCC_I16)
    check(static_cast<int16_t *>(target));
  else if (dtype == DTCC_I8)
    check(static_cast<int8_t *>(target));
}

template <typename Body> void Batches::forInputsOf(const dtcc_stage &stage, const Body &body) const {
  const dtcc_input *begin = image.inputs().data() + stage.inputs.first;
  for (const Input &input : inputs)
    if (input.input >= begin && input.input < begin + stage.inputs.count)
      body(input);
}

void Batches::fill(const Rank &rank, int64_t slot, int64_t first) const {
  fill({rank.stage, rank.coordinates, rank.team,
        [&rank, slot](uint32_t view) { return static_cast<std::byte *>(rank.address(view, slot)); }},
       first);
}

void Batches::fill(const BatchPlace &place, int64_t first) const {
  if (uneven && first % batch)
    fail("inputs with different numbers of rows a step are read in whole steps of ", batch,
         " samples: a run cannot go on behind sample ", first);
  forInputsOf(place.stage, [&](const Input &input) { fillInput(place, input, first); });
}

/// The block of one sample: all dimensions but the first.
static Block sampleOf(const Block &block) {
  Block sample;
  sample.rank = block.rank - 1;
  for (size_t d = 1; d < static_cast<size_t>(block.rank); ++d)
    sample.dims[d - 1] = block.dims[d];
  return sample;
}

void Batches::fillInput(const BatchPlace &place, const Input &row, int64_t first) const {
  const dtcc_input &input = *row.input;
  const dtcc_view &view = image.views()[input.view];
  int64_t width = dtcc_dtype_size(view.dtype);
  std::byte *base = place.addressOf(input.view);
  Block block =
      makeBlock(image.mesh(), input.dims, static_cast<int>(input.rank), place.coordinates.data(), view.strides);
  bool padded = false;
  for (uint32_t d = 0; d < input.rank; ++d)
    padded |= input.dims[d].padded != input.dims[d].size;
  // Padding is zeroed each step, because other values may have used the memory since the last one.
  if (padded)
    fillView(view, base, 0, place.team);
  BlockDim rows = block.dims[0];
  Block sample = sampleOf(block);
  // A scattered innermost dimension is rare: its runs have one element each.
  place.team.parallelFor(rows.valid, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t source = rowAt(row, first, rows.start + i);
      BlockRuns runs(sample);
      for (Run run; runs.next(run);)
        convert(row, source, run.whole, base + (i * rows.stride + run.local) * width, run.length);
      if (const MappedFile *file = row.source->fileOf(source))
        file->checkLength();
    }
  });
}

void Batches::touch(int64_t rank, int64_t first, const std::function<bool()> &stops) const {
  constexpr int64_t page = 4096;
  for (int64_t slot = 0; slot < image.mesh().slots(); ++slot) {
    std::vector<int64_t> coordinates = image.mesh().coordinates(rank, slot);
    forInputsOf(image.stageAt(coordinates), [&](const Input &row) {
      Block block = makeBlock(image.mesh(), row.input->dims, static_cast<int>(row.input->rank), coordinates.data(),
                              /*strides=*/nullptr);
      Block sample = sampleOf(block);
      for (int64_t i = 0; i < block.dims[0].valid && !stops(); ++i) {
        int64_t source = rowAt(row, first, block.dims[0].start + i);
        BlockRuns runs(sample);
        for (Run run; runs.next(run);) {
          CellRoom room;
          StoredCells cells = row.source->at(source, run.whole, run.length, room);
          const volatile std::byte *bytes = cells.data;
          int64_t length = run.length * fileTypeSize(cells.type);
          for (int64_t at = 0; at < length; at += page)
            (void)bytes[at];
          if (length > 0)
            (void)bytes[length - 1];
        }
      }
    });
  }
}

} // namespace dtcc::rt
