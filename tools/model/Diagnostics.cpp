//===- Diagnostics.cpp - Messages of the compiler as lines for people
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "tools/model/Diagnostics.h"
#include "compiler/console/StatusLine.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;

namespace {
/// A location taken apart: the file, and the names inside it from the outermost in.
struct Place {
  std::string file, names;
};
} // namespace

static Place findPlace(Location location) {
  // Line 0: the whole file.
  if (auto file = dyn_cast<FileLineColLoc>(location); file && file.getLine() == 0)
    return {file.getFilename().str(), ""};
  if (auto file = dyn_cast<FileLineColLoc>(location))
    return {(file.getFilename().strref() + ":" + Twine(file.getLine()) + ":" + Twine(file.getColumn())).str(), ""};
  if (auto name = dyn_cast<NameLoc>(location)) {
    Place place = findPlace(name.getChildLoc());
    // The importer's innermost name is the file's.
    if (place.file.empty())
      place.file = name.getName().str();
    else
      place.names = name.getName().str() + ": " + place.names;
    return place;
  }
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return findPlace(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (Place place = findPlace(part); !place.file.empty())
        return place;
  return {};
}

static void print(const Diagnostic &diagnostic, llvm::raw_ostream &stream) {
  Place place = findPlace(diagnostic.getLocation());
  if (!place.file.empty())
    stream << place.file << ": ";
  switch (diagnostic.getSeverity()) {
  case DiagnosticSeverity::Error:
    llvm::WithColor::error(stream);
    break;
  case DiagnosticSeverity::Warning:
    llvm::WithColor::warning(stream);
    break;
  case DiagnosticSeverity::Note:
  case DiagnosticSeverity::Remark:
    llvm::WithColor::note(stream);
    break;
  }
  stream << place.names << diagnostic << '\n';
  for (const Diagnostic &note : diagnostic.getNotes())
    print(note, stream);
}

void dtcc::printDiagnostics(MLIRContext &context) {
  // A whole function in generic form tells users nothing.
  context.printOpOnDiagnostic(false);
  context.getDiagEngine().registerHandler([](Diagnostic &diagnostic) { print(diagnostic, dtcc::messageStream()); });
}

void dtcc::printDiagnostics(MLIRContext &context, std::set<std::string> &told) {
  printDiagnostics(context);
  // The handler that is registered last is asked first.
  context.getDiagEngine().registerHandler([&told](Diagnostic &diagnostic) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    print(diagnostic, stream);
    bool isKnown = !told.insert(text).second && diagnostic.getSeverity() != DiagnosticSeverity::Error;
    return success(isKnown);
  });
}
