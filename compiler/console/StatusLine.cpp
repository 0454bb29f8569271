//===- StatusLine.cpp - What a tool is doing, on one line of a terminal
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/console/StatusLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace dtcc;

namespace {

class Terminal {
public:
  Terminal() {
    llvm::StringRef terminal = getenv("TERM") ? getenv("TERM") : "";
    isThere = llvm::sys::Process::StandardErrIsDisplayed() && !terminal.empty() && terminal != "dumb";
  }
  void show(llvm::StringRef text) {
    if (!isThere)
      return;
    // LLVM knows the columns that the environment names alone.
    winsize size = {};
    size_t columns = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : kColumns;
    shown = true;
    write(("\r\033[K" + text.take_front(columns)).str());
  }
  void clear() {
    if (shown.exchange(false))
      write("\r\033[K");
  }

private:
  static constexpr size_t kColumns = 79;
  /// Writes without a buffer, as standard error does.
  static void write(llvm::StringRef text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

  bool isThere = false;
  /// Threads of a search tell what is wrong.
  std::atomic<bool> shown = false;
};

/// Standard error. Names in messages come from models, and a byte that controls the terminal would reach it: it is
/// written as `\x1b`.
class Printable final : public llvm::raw_ostream {
public:
  Printable() { SetUnbuffered(); }
  raw_ostream &changeColor(Colors color, bool bold, bool background) override {
    llvm::errs().changeColor(color, bold, background);
    return *this;
  }
  raw_ostream &resetColor() override {
    llvm::errs().resetColor();
    return *this;
  }
  bool is_displayed() const override { return llvm::errs().is_displayed(); }
  bool has_colors() const override { return llvm::errs().has_colors(); }

private:
  void write_impl(const char *text, size_t size) override {
    for (char c : llvm::StringRef(text, size))
      if ((c >= 0 && c < ' ' && c != '\n' && c != '\t') || c == 0x7f)
        llvm::errs() << llvm::format("\\x%02x", c);
      else
        llvm::errs() << c;
  }
  uint64_t current_pos() const override { return llvm::errs().tell(); }
};

} // namespace

static Terminal &statusLine() {
  static Terminal terminal;
  return terminal;
}

static std::string &name() {
  static std::string name = "dtcc";
  return name;
}

void dtcc::setToolName(llvm::StringRef to) { name() = to.str(); }

llvm::StringRef dtcc::toolName() { return name(); }

Status::Status(const llvm::Twine &what) { statusLine().show((toolName() + ": " + what + " ..").str()); }

Status::~Status() { clearStatus(); }

void dtcc::clearStatus() { statusLine().clear(); }

llvm::raw_ostream &dtcc::messageStream() {
  clearStatus();
  static Printable stream;
  return stream;
}
