//===- ProgramFile.cpp - The image inside a compiled program
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/program/ProgramFile.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>
#include <string>

using namespace dtcc;

static llvm::Error fail(llvm::StringRef path, const llvm::Twine &message) {
  return llvm::createStringError(path + ": " + message);
}

/// The bytes of a symbol dtcc_image.
static llvm::Expected<llvm::StringRef> imageAt(llvm::StringRef path, const llvm::object::ObjectFile &object,
                                               const llvm::object::ELFSymbolRef &symbol) {
  auto section = symbol.getSection();
  auto address = symbol.getAddress();
  if (!section || !address || *section == object.section_end()) {
    llvm::consumeError(section.takeError());
    llvm::consumeError(address.takeError());
    return fail(path, "damaged program: the symbol dtcc_image must lie in a section");
  }
  llvm::Expected<llvm::StringRef> contents = (*section)->getContents();
  if (!contents)
    return fail(path, "damaged program: " + llvm::toString(contents.takeError()));
  uint64_t begin = *address - (*section)->getAddress(), size = symbol.getSize();
  if (begin > contents->size() || size > contents->size() - begin)
    return fail(path, "damaged program: the symbol dtcc_image must lie in its section of " +
                          llvm::Twine(contents->size()) + " bytes, got: " + llvm::Twine(size) + " bytes at " +
                          llvm::Twine(begin));
  return contents->substr(begin, size);
}

/// The bytes of all symbols dtcc_image.
static llvm::Expected<std::vector<llvm::StringRef>> findImages(llvm::StringRef path, llvm::StringRef bytes) {
  auto object = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(bytes, path));
  if (!object)
    return fail(path, "damaged program: " + llvm::toString(object.takeError()));
  std::vector<llvm::StringRef> images;
  for (const llvm::object::ELFSymbolRef symbol : llvm::cast<llvm::object::ELFObjectFileBase>(**object).symbols()) {
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!name)
      return fail(path, "damaged program: " + llvm::toString(name.takeError()));
    if (*name != "dtcc_image")
      continue;
    llvm::Expected<llvm::StringRef> image = imageAt(path, **object, symbol);
    if (!image)
      return image.takeError();
    images.push_back(*image);
  }
  if (images.empty())
    return fail(path, "an executable without the symbol dtcc_image: not a program of dtcc, or stripped");
  return images;
}

llvm::Expected<ProgramFile> ProgramFile::readImage(llvm::StringRef path, llvm::StringRef bytes) {
  if (bytes.size() < sizeof(dtcc_image_header))
    return fail(path, "damaged program: the image must hold a header of " + llvm::Twine(sizeof(dtcc_image_header)) +
                          " bytes, got: " + llvm::Twine(bytes.size()));
  ProgramFile program;
  program.image.resize(llvm::divideCeil(bytes.size(), 8));
  std::memcpy(program.image.data(), bytes.data(), bytes.size());
  if (llvm::Error error = checkHeader(program.header(), bytes.size()))
    return fail(path, llvm::toString(std::move(error)));
  if (llvm::Error error = checkTables(program))
    return fail(path, llvm::toString(std::move(error)));
  return program;
}

llvm::Expected<std::vector<ProgramFile>> ProgramFile::readWorlds(llvm::StringRef path, llvm::StringRef bytes) {
  llvm::Expected<std::vector<llvm::StringRef>> images = findImages(path, bytes);
  if (!images)
    return images.takeError();
  std::vector<ProgramFile> worlds;
  for (llvm::StringRef image : *images) {
    llvm::Expected<ProgramFile> world = readImage(path, image);
    if (!world)
      return world.takeError();
    worlds.push_back(std::move(*world));
  }
  llvm::sort(worlds, [](const ProgramFile &a, const ProgramFile &b) {
    return a.product(DTCC_AXIS_RANK) < b.product(DTCC_AXIS_RANK);
  });
  return worlds;
}

llvm::StringRef ProgramFile::string(uint32_t offset) const {
  if (offset == DTCC_NONE)
    return "";
  return reinterpret_cast<const char *>(image.data()) + header().strings.offset + offset;
}

int64_t ProgramFile::extent(const dtcc_axes &set) const {
  int64_t result = 1;
  for (uint8_t id : llvm::ArrayRef(set.ids, set.count))
    result *= axes()[id].size;
  return result;
}

std::string ProgramFile::names(const dtcc_axes &set) const {
  std::string result;
  for (uint8_t id : llvm::ArrayRef(set.ids, set.count))
    result += (result.empty() ? "" : ",") + string(axes()[id].name).str();
  return result;
}

std::string ProgramFile::processor() const {
  if (gpuModules().empty())
    return string(header().cpu).str();
  std::string oldest, assembled;
  for (const dtcc_gpu_module &module : gpuModules()) {
    std::string name = "sm_" + std::to_string(module.architecture);
    if (module.kind == DTCC_GPU_PTX)
      oldest = name;
    else
      assembled += (assembled.empty() ? "" : ", ") + name;
  }
  return "GPUs" + (oldest.empty() ? "" : " from " + oldest + " on") +
         (assembled.empty() ? "" : ", assembled for " + assembled);
}

int64_t ProgramFile::product(dtcc_axis_kind kind) const {
  int64_t result = 1;
  for (const dtcc_axis &axis : axes())
    result *= axis.kind == uint32_t(kind) ? axis.size : 1;
  return result;
}

uint64_t dtcc::viewBytes(const dtcc_view &view) {
  uint64_t bytes = dtcc_dtype_size(view.dtype);
  for (int64_t size : llvm::ArrayRef(view.sizes, view.rank))
    bytes = llvm::SaturatingMultiply(bytes, uint64_t(size));
  return bytes;
}

uint64_t dtcc::arenaBytes(const ProgramFile &program, const dtcc_stage &stage, bool onHost) {
  uint64_t total = 0;
  for (const dtcc_arena &arena : ProgramFile::rowsOf(stage.arenas, program.arenas()))
    if (program.isOnHost(arena) == onHost)
      total = llvm::SaturatingAdd(total, arena.bytes);
  return total;
}
