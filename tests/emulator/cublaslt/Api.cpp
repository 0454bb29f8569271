//===- Api.cpp - The functions of the emulated cublasLt
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers of attributes and statuses are those of cublasLt.h, CUDA 12 and 13.
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/cublaslt/Product.h"
#include "tests/emulator/cuda/Streams.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

using namespace dtcc::emulator;

namespace {

constexpr int kDone = 0, kNoHandle = 1, kWrongValue = 7, kFailed = 13, kUnsupported = 15;

struct Preference {
  uint64_t workspace = 0;
  uint32_t reductions = 7; ///< cublasLtReductionScheme_t
  uint32_t alignment[4] = {256, 256, 256, 256};
};

/// cublasLtMatmulHeuristicResult_t
struct Heuristic {
  uint64_t algorithm[8];
  size_t workspaceBytes;
  int status;
  float waves;
  int reserved[4];
};
/// DTCC_EMULATED_CUBLASLT.
bool isEmulated(const char *what) {
  const char *set = std::getenv("DTCC_EMULATED_CUBLASLT");
  return set && std::strcmp(set, what) == 0;
}

/// Mark by which this library recognises its own algorithms, which also hold their workspace.
constexpr uint64_t kAlgorithm = 0x656d756c61746564;
/// The heuristic's order, which is not that of what a product takes in emulated seconds: so many that a busy machine's
/// own do not count.
struct Kind {
  size_t workspaceBytes;
  double seconds;
};
constexpr Kind kKinds[] = {{1 << 16, 3e3}, {1 << 20, 1e3}, {0, 2e3}, {uint64_t{1} << 40, 0}, {0, 500}};
/// The last one adds up parts in the type of the result; the heuristic has it first where that is a half.
constexpr uint64_t kOrder[] = {4, 0, 1, 2, 3}, kRounds = 4;
constexpr uint32_t kInOutputType = 1 | 4;
/// Words of an algorithm: what it is, its kind, its workspace, how A, B, C and D are aligned.
constexpr int kKindWord = 1, kWorkspaceWord = 2, kAlignmentWord = 3;
char handle;
/// Products that did something with their result besides, for tests to see who did it.
std::atomic<uint64_t> epilogues = 0;

int wrong(int status, const char *call, const char *what) {
  std::fprintf(stderr, "emulated cublasLt: %s: %s\n", call, what);
  return status;
}

/// A row of the tables of attributes: where a value of how many bytes goes.
struct Attribute {
  int number;
  size_t bytes;
  void *to;
};

template <size_t n>
int setAttribute(const Attribute (&rows)[n], int number, const void *value, size_t bytes, const char *call) {
  for (const Attribute &row : rows)
    if (row.number == number) {
      if (row.bytes != bytes)
        return wrong(kWrongValue, call, "a value of another size");
      std::memcpy(row.to, value, bytes);
      return kDone;
    }
  return wrong(kWrongValue, call, "an attribute that the emulator does not know");
}
} // namespace

extern "C" {

uint64_t dtcc_emulated_epilogues() { return epilogues; }

int cublasLtCreate(void **made) {
  *made = &handle;
  return kDone;
}
int cublasLtDestroy(void *destroyed) { return destroyed == &handle ? kDone : kNoHandle; }
size_t cublasLtGetVersion() { return 130000; }

int cublasLtMatmulDescCreate(Description **made, int computeType, int scaleType) {
  *made = new Description;
  (*made)->computeType = computeType;
  (*made)->scaleType = scaleType;
  return kDone;
}
int cublasLtMatmulDescDestroy(Description *description) {
  delete description;
  return kDone;
}
int cublasLtMatmulDescSetAttribute(Description *how, int attribute, const void *value, size_t bytes) {
  const Attribute rows[] = {{0, 4, &how->computeType}, {1, 4, &how->scaleType},   {2, 4, &how->pointerMode},
                            {3, 4, &how->transposeA},  {4, 4, &how->transposeB},  {7, 4, &how->epilogue},
                            {8, 8, &how->bias},        {10, 8, &how->biasStride}, {11, 8, &how->aux},
                            {12, 8, &how->auxLeading}, {13, 8, &how->auxStride},  {22, 4, &how->auxType},
                            {26, 4, &how->biasType}};
  return setAttribute(rows, attribute, value, bytes, "cublasLtMatmulDescSetAttribute");
}

int cublasLtMatrixLayoutCreate(Layout **made, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  *made = new Layout{type, 0, rows, columns, leading};
  return kDone;
}
int cublasLtMatrixLayoutDestroy(Layout *layout) {
  delete layout;
  return kDone;
}
int cublasLtMatrixLayoutSetAttribute(Layout *layout, int attribute, const void *value, size_t bytes) {
  const Attribute rows[] = {{0, 4, &layout->type},       {1, 4, &layout->order},   {2, 8, &layout->rows},
                            {3, 8, &layout->columns},    {4, 8, &layout->leading}, {5, 4, &layout->batches},
                            {6, 8, &layout->batchStride}};
  return setAttribute(rows, attribute, value, bytes, "cublasLtMatrixLayoutSetAttribute");
}

int cublasLtMatmulPreferenceCreate(Preference **made) {
  *made = new Preference;
  return kDone;
}
int cublasLtMatmulPreferenceDestroy(Preference *preference) {
  delete preference;
  return kDone;
}
int cublasLtMatmulPreferenceSetAttribute(Preference *preference, int attribute, const void *value, size_t bytes) {
  uint32_t mode;
  float waves;
  const Attribute rows[] = {{0, 4, &mode},
                            {1, 8, &preference->workspace},
                            {3, 4, &preference->reductions},
                            {5, 4, &preference->alignment[0]},
                            {6, 4, &preference->alignment[1]},
                            {7, 4, &preference->alignment[2]},
                            {8, 4, &preference->alignment[3]},
                            {9, 4, &waves}};
  return setAttribute(rows, attribute, value, bytes, "cublasLtMatmulPreferenceSetAttribute");
}

int cublasLtMatmulAlgoGetHeuristic(void *, Description *how, Layout *a, Layout *b, Layout *c, Layout *d,
                                   Preference *preference, int wanted, Heuristic *results, int *found) {
  *found = 0;
  if (wanted < 1)
    return wrong(kWrongValue, "cublasLtMatmulAlgoGetHeuristic", "no algorithm is wanted");
  Product product{*how, *a, *b, *c, *d};
  if (const char *problem = product.problem())
    return wrong(kUnsupported, "cublasLtMatmulAlgoGetHeuristic", problem);
  if (how->epilogue != kPlain && isEmulated("plain"))
    return kUnsupported; // as where a GPU has no kernel for them
  for (uint64_t kind : kOrder) {
    const size_t bytes = kKinds[kind].workspaceBytes;
    const bool reduces = bytesOf(d->element()) == 2 && (preference->reductions & kInOutputType);
    if ((bytes > preference->workspace && kind != 0) || (kind == kRounds && !reduces) || *found == wanted)
      continue;
    Heuristic &result = results[(*found)++];
    result = {};
    result.algorithm[0] = kAlgorithm;
    result.algorithm[kKindWord] = kind;
    // Some need memory of their own: who does not hand it over is told.
    result.workspaceBytes = result.algorithm[kWorkspaceWord] = std::min<uint64_t>(bytes, preference->workspace);
    for (int i = 0; i < 4; ++i) // what was promised of addresses, for the product to hold it to
      result.algorithm[kAlignmentWord + i] = std::min<uint64_t>(preference->alignment[i], 16);
  }
  return kDone;
}

int cublasLtMatmulAlgoCheck(void *, Description *how, Layout *a, Layout *b, Layout *c, Layout *d,
                            const uint64_t *algorithm, Heuristic *result) {
  if (const char *problem = Product{*how, *a, *b, *c, *d}.problem())
    return wrong(kWrongValue, "cublasLtMatmulAlgoCheck", problem);
  if (algorithm[0] != kAlgorithm || algorithm[kKindWord] >= std::size(kKinds))
    return kUnsupported;
  result->workspaceBytes = algorithm[kWorkspaceWord];
  result->status = kDone;
  return kDone;
}

int cublasLtGetProperty(int part, int *value) {
  *value = part == 0 ? 13 : 0;
  return kDone;
}

int cublasLtMatmul(void *, Description *how, const void *alpha, const void *a, Layout *aLayout, const void *b,
                   Layout *bLayout, const void *beta, const void *c, Layout *cLayout, void *d, Layout *dLayout,
                   const uint64_t *algorithm, void *workspace, size_t workspaceBytes, void *streamHandle) {
  Product product{*how, *aLayout, *bLayout, *cLayout, *dLayout};
  if (const char *problem = product.problem())
    return wrong(kUnsupported, "cublasLtMatmul", problem);
  bool doubles = how->scaleType == 1;
  product.alpha = doubles ? *static_cast<const double *>(alpha) : *static_cast<const float *>(alpha);
  product.roundsParts = algorithm && algorithm[kKindWord] == kRounds;
  product.beta = doubles ? *static_cast<const double *>(beta) : *static_cast<const float *>(beta);
  Emulation &emulation = Emulation::get();
  Lock lock = emulation.hold();
  try {
    Stream &stream = emulation.streamOf(streamHandle);
    auto locate = [&](const void *data, const Layout &layout) {
      int64_t cells = layout.span();
      return cells ? emulation.locate(*stream.device, reinterpret_cast<uint64_t>(data),
                                      uint64_t(cells) * bytesOf(layout.element()), "cublasLtMatmul")
                   : nullptr;
    };
    product.aData = locate(a, product.a);
    product.bData = locate(b, product.b);
    product.dData = locate(d, product.d);
    if (product.beta != 0)
      product.cData = locate(c, product.c);
    if (how->usesBias())
      product.biasData = emulation.locate(*stream.device, reinterpret_cast<uint64_t>(how->bias),
                                          uint64_t(product.biasCells()) * bytesOf(product.biasElement()),
                                          "the bias of cublasLtMatmul");
    if (how->has(kAux)) {
      int64_t cells =
          (product.columns() - 1) * how->auxLeading + product.rows() + (product.d.batches - 1) * how->auxStride;
      product.auxData =
          emulation.locate(*stream.device, reinterpret_cast<uint64_t>(how->aux),
                           uint64_t(cells) * bytesOf(product.auxElement()), "the auxiliary matrix of cublasLtMatmul");
    }
    char *scratch = nullptr;
    if (algorithm) {
      if (algorithm[kKindWord] == 1 && isEmulated("refuses"))
        return kUnsupported;
      if (algorithm[0] != kAlgorithm)
        return wrong(kWrongValue, "cublasLtMatmul", "an algorithm that no heuristic gave");
      if (algorithm[kWorkspaceWord] > workspaceBytes)
        return wrong(kWrongValue, "cublasLtMatmul", "less workspace than the algorithm needs");
      const void *addresses[] = {a, b, c, d};
      for (int i = 0; i < 4; ++i)
        if (uint64_t promised = algorithm[kAlignmentWord + i];
            promised && reinterpret_cast<uint64_t>(addresses[i]) % promised)
          return wrong(kWrongValue, "cublasLtMatmul", "an address that is less aligned than the heuristic was told");
      if (algorithm[kWorkspaceWord])
        scratch = emulation.locate(*stream.device, reinterpret_cast<uint64_t>(workspace), algorithm[kWorkspaceWord],
                                   "the workspace of cublasLtMatmul");
    }
    epilogues += how->epilogue != kPlain;
    std::string kernel = "cublasLt";
    for (int part : {int(product.a.element()), int(product.b.element()), int(product.d.element()), how->transposeA,
                     how->transposeB, int(how->epilogue), int(algorithm ? algorithm[kKindWord] : 0)})
      kernel += ' ' + std::to_string(part);
    if (stream.device->loaded.insert(kernel).second && stream.device->meetings > 0)
      return wrong(
          kFailed, "cublasLtMatmul",
          "its kernel is loaded when it is first used: the driver then waits for all work of the GPU, and NCCL's "
          "may wait for other ranks");
    size_t scratchBytes = scratch ? algorithm[kWorkspaceWord] : 0;
    double seconds = algorithm ? kKinds[algorithm[kKindWord]].seconds : 0;
    if (isEmulated("fast")) // than anything else
      seconds -= 1e6;
    else if (how->epilogue != kPlain)
      seconds += isEmulated("slow-epilogues") ? 1e3 : -10;
    emulation.enqueue(lock, stream, [product, scratch, scratchBytes, seconds, device = stream.device] {
      product.run();
      device->emulatedSeconds += seconds;
      // Nobody else may count on it.
      if (scratch)
        std::memset(scratch, 0xff, scratchBytes);
    });
    return kDone;
  } catch (const CallError &error) {
    return wrong(kFailed, "cublasLtMatmul", error.what.c_str());
  }
}
}
