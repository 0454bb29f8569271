//===- ExternalData.cpp - Weights beside the model
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// External data is mapped read-only and never leaves the model's folder: no absolute
// path, no "..", no symbolic link on the way (each component is opened without
// following one). `externalRoot` names one more folder into which links may lead, for
// caches that are made of links.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/file/Model.h"
#include "mlir/IR/Diagnostics.h"
#include "onnx/onnx-ml.pb.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

struct Model::Mapping {
  const char *data = nullptr;
  size_t size = 0;
  bool exists = false;
  ~Mapping() {
    if (data)
      munmap(const_cast<char *>(data), size);
  }
};

/// Opens folder/location without following a link. Returns -1 with errno, like open.
static int openBeneath(const std::string &folder, ArrayRef<StringRef> components) {
  int at = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (auto [i, component] : llvm::enumerate(components)) {
    if (at < 0)
      return -1;
    bool last = i + 1 == components.size();
    // Nonblocking: a fifo must not hold us.
    int next =
        openat(at, component.str().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (last ? 0 : O_DIRECTORY));
    int error = errno;
    close(at);
    errno = error;
    at = next;
  }
  return at;
}

/// Follows links, but only to a file below `root`.
static int openLinked(const std::string &file, const std::string &root) {
  SmallString<256> realFile, realRoot;
  if (llvm::sys::fs::real_path(file, realFile) || llvm::sys::fs::real_path(root, realRoot)) {
    errno = ENOENT;
    return -1;
  }
  realRoot += '/';
  if (!realFile.starts_with(realRoot)) {
    errno = ELOOP;
    return -1;
  }
  SmallVector<StringRef> components;
  StringRef(realFile).drop_front(realRoot.size()).split(components, '/', -1, /*KeepEmpty=*/false);
  return openBeneath(std::string(realRoot), components);
}

FailureOr<std::shared_ptr<Model::Mapping>> Model::map(StringRef location, Location loc) {
  auto [entry, isNew] = mappings.try_emplace(location);
  if (!isNew)
    return entry->second;
  SmallVector<StringRef> components;
  location.split(components, '/', -1, /*KeepEmpty=*/false);
  if (location.empty() || location.front() == '/' || llvm::is_contained(components, "..") || location.contains('\0') ||
      components.empty()) {
    mappings.erase(entry);
    return emitError(loc) << "external data must be a path inside the model's folder, got: '" << location << "'";
  }
  auto mapping = std::make_shared<Mapping>();
  int file = openBeneath(folder, components);
  if (file < 0 && errno == ELOOP && !externalRoot.empty())
    file = openLinked(folder + "/" + location.str(), externalRoot);
  if (file < 0 && errno == ENOENT && !externalRoot.empty())
    file = openLinked(externalRoot + "/" + location.str(), externalRoot);
  if (file < 0 && errno != ENOENT) {
    bool linked = errno == ELOOP || errno == ENOTDIR;
    auto diagnostic = emitError(loc) << "cannot open external data '" << location << "': "
                                     << (linked ? "a symbolic link is on its path; name the folder it leads to with "
                                                  "--external-root"
                                                : llvm::sys::StrError(errno));
    mappings.erase(entry);
    return diagnostic;
  }
  if (file >= 0) {
    struct stat status;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
      close(file);
      mappings.erase(entry);
      return emitError(loc) << "external data '" << location << "' is not a regular file";
    }
    for (const std::string &output : outputs)
      if (struct stat other;
          stat(output.c_str(), &other) == 0 && other.st_dev == status.st_dev && other.st_ino == status.st_ino) {
        close(file);
        mappings.erase(entry);
        return emitError(loc) << "external data '" << location << "' would be written over by the output '" << output
                              << "': choose another name with -o";
      }
    mapping->exists = true;
    mapping->size = status.st_size;
    if (mapping->size > 0) {
      void *data = mmap(nullptr, mapping->size, PROT_READ, MAP_PRIVATE, file, 0);
      if (data == MAP_FAILED) {
        close(file);
        mappings.erase(entry);
        return emitError(loc) << "cannot map external data '" << location << "'";
      }
      mapping->data = static_cast<const char *>(data);
    }
    close(file);
  }
  entry->second = mapping;
  return mapping;
}

LogicalResult Model::decodeExternal(const ::onnx::TensorProto &tensor, StoredTensor &result, int64_t size,
                                    Location loc) {
  StringRef location;
  int64_t offset = 0, length = size;
  for (const auto &entry : tensor.external_data()) {
    StringRef key = entry.key(), text = entry.value();
    if (key == "location") {
      location = text;
    } else if (key == "offset" || key == "length") {
      int64_t &number = key == "offset" ? offset : length;
      if (text.getAsInteger(10, number) || number < 0)
        return emitError(loc) << "tensor '" << result.name << "': the " << key
                              << " of external data must be a number of bytes, got: '" << text << "'";
    } else if (key != "checksum" && key != "basepath") {
      emitWarning(loc) << "tensor '" << result.name << "': unknown external data entry '" << key << "' is ignored";
    }
  }
  if (length != size)
    return emitError(loc) << "tensor '" << result.name << "' must have " << size
                          << " bytes of external data for its shape, got: " << length;
  FailureOr<std::shared_ptr<Mapping>> mapping = map(location, loc);
  if (failed(mapping))
    return failure();
  if (!(*mapping)->exists) {
    if (dataOptional)
      return success();
    return emitError(loc) << "external data '" << location
                          << "' does not exist; a model without weight data needs --weights=FOLDER or --init=random";
  }
  int64_t end;
  if (llvm::AddOverflow(offset, size, end) || uint64_t(end) > (*mapping)->size)
    return emitError(loc) << "tensor '" << result.name << "' must lie inside its external data of " << (*mapping)->size
                          << " bytes, got: " << size << " bytes at offset " << offset;
  result.bytes = ArrayRef((*mapping)->data + offset, size);
  result.owner = *mapping;
  result.hasData = true;
  return success();
}
