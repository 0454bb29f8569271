//===- OutputFiles.cpp - What appears whole or not at all -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/console/OutputFiles.h"
#include "compiler/console/StatusLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/WithColor.h"
#include <csignal>
#include <fcntl.h>
#include <mutex>
#include <optional>
#include <set>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

using namespace mlir;
using namespace dtcc;
namespace fs = llvm::sys::fs;

namespace {
/// Folders and child processes that must not outlive the process. exit() destroys them, also
/// when LLVM ends the process after an error that it cannot report otherwise.
struct Remains {
  std::mutex lock;
  std::set<std::string> folders;
  pid_t child = 0;

  void removeAll() {
    // Kill the whole session of the child, because compiler drivers start programs of their own.
    if (child > 0)
      kill(-child, SIGKILL);
    for (const std::string &folder : folders)
      fs::remove_directories(folder);
    folders.clear();
  }
  ~Remains() { removeAll(); }
};
} // namespace

static Remains &remains() {
  static Remains all;
  return all;
}

static constexpr StringRef kMark = ".tmp-";

/// Takes the lock of a folder. Returns its descriptor, or -1 if another process has it.
static int lockFolder(const std::string &path) {
  int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) != 0) {
    close(folder);
    return -1;
  }
  return folder;
}

OutputFiles::OutputFiles(StringRef target, StringRef tool) : path(target), tool(tool) {
  if (path == "-")
    return;
  // The linker takes a path that begins with a dash for an option.
  if (path[0] == '-')
    path = "./" + path;
}

/// Removes the folders that earlier processes with this target left when they were killed. Whoever has one holds a lock
/// on it, which the system gives back at any end; a process number says nothing, because containers count their own.
void OutputFiles::removeLeftovers() const {
  StringRef parent = llvm::sys::path::parent_path(path);
  std::string prefix = (llvm::sys::path::filename(path) + kMark).str();
  std::error_code code;
  for (fs::directory_iterator entry(parent.empty() ? "." : parent, code), end; !code && entry != end;
       entry.increment(code)) {
    StringRef name = llvm::sys::path::filename(entry->path());
    if (!name.consume_front(prefix) || name.empty() || name.find_first_not_of("0123456789-") != StringRef::npos)
      continue;
    if (int folder = lockFolder(entry->path()); folder >= 0) {
      fs::remove_directories(entry->path());
      close(folder);
    }
  }
}

OutputFiles::~OutputFiles() {
  std::lock_guard<std::mutex> guard(remains().lock);
  if (remains().folders.erase(scratch))
    fs::remove_directories(scratch);
  if (lock >= 0)
    close(lock);
}

LogicalResult OutputFiles::cannotWrite(StringRef file, const Twine &why) const {
  llvm::WithColor::error(messageStream(), tool) << "cannot write " << file << ": " << why << '\n';
  return failure();
}

LogicalResult OutputFiles::open(ArrayRef<StringRef> inputs, ArrayRef<StringRef> suffixes) {
  if (path == "-")
    return success();
  SmallVector<std::string> targets{path};
  for (StringRef suffix : suffixes)
    targets.push_back(path + suffix.str());
  for (const std::string &target : targets) {
    if (fs::is_directory(target))
      return cannotWrite(target, "it is a folder");
    if (fs::exists(target) && !fs::is_regular_file(target))
      return cannotWrite(target, "it must be a regular file");
    for (StringRef input : inputs)
      if (!input.empty() && fs::equivalent(target, input))
        return cannotWrite(target, "it is read by this compilation; choose another name with -o");
  }
  std::lock_guard<std::mutex> guard(remains().lock);
  removeLeftovers();
  // Another process of this number, in another container, may be at work on the same target.
  std::error_code code;
  std::string stem = path + kMark.str() + std::to_string(llvm::sys::Process::getProcessId());
  for (int number = 0; number < 100 && lock < 0; ++number) {
    scratch = number == 0 ? stem : stem + "-" + std::to_string(number);
    code = fs::create_directory(scratch, /*IgnoreExisting=*/false);
    if (code && code != std::errc::file_exists)
      break;
    // Before it was locked, another process may have taken it for a leftover.
    if (!code && (lock = lockFolder(scratch)) >= 0 && !fs::exists(scratch)) {
      close(lock);
      lock = -1;
    }
  }
  if (lock < 0)
    return cannotWrite(path, code ? code.message() : "cannot lock a folder beside it");
  remains().folders.insert(scratch);
  return success();
}

LogicalResult OutputFiles::commit(ArrayRef<std::pair<StringRef, std::string>> parts) {
  // The lock lets an interrupt come before or after the renames, never between two of them.
  std::lock_guard<std::mutex> guard(remains().lock);
  auto former = [&](size_t i) { return part("former." + std::to_string(i)); };
  for (auto [i, row] : llvm::enumerate(parts)) {
    const auto &[name, place] = row;
    std::error_code code;
    // The former file keeps its place until the new one replaces it. The link allows to restore the former file.
    if (fs::is_directory(place))
      code = std::make_error_code(std::errc::is_a_directory);
    else if (fs::exists(place))
      code = fs::create_hard_link(place, former(i));
    // Not every file system has links.
    if (code && code != std::errc::is_a_directory)
      code = parts.size() == 1 ? std::error_code() : fs::rename(place, former(i));
    if (!code)
      code = fs::rename(part(name), place);
    if (!code)
      continue;
    for (size_t undone = i + 1; undone-- > 0;)
      if (fs::exists(former(undone)))
        (void)fs::rename(former(undone), parts[undone].second);
      else if (undone < i)
        (void)fs::remove(parts[undone].second);
    return cannotWrite(place, code.message());
  }
  return success();
}

LogicalResult OutputFiles::writeText(llvm::function_ref<void(raw_ostream &)> print) {
  auto check = [&](llvm::raw_fd_ostream &stream, StringRef name) -> LogicalResult {
    stream.flush();
    std::error_code code = stream.error();
    stream.clear_error();
    return code ? cannotWrite(name, code.message()) : success();
  };
  if (path == "-") {
    clearStatus();
    print(llvm::outs());
    return check(llvm::outs(), "to standard output");
  }
  {
    std::error_code code;
    llvm::raw_fd_ostream stream(part("text"), code);
    if (code)
      return cannotWrite(path, code.message());
    print(stream);
    if (failed(check(stream, path)))
      return failure();
  }
  return commit({{"text", path}});
}

void dtcc::endOnInterrupt(int status) {
  remains();
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  // Blocked here and in every later thread: only the one below sees them, outside of any handler.
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals, status] {
    int signal;
    if (sigwait(&signals, &signal) != 0)
      return;
    remains().lock.lock();
    remains().removeAll();
    clearStatus();
    _exit(status);
  }).detach();
}

int dtcc::runProgram(ArrayRef<StringRef> command, StringRef log, StringRef folder) {
  std::string temporary = ("TMPDIR=" + folder).str();
  SmallVector<StringRef> environment{temporary};
  for (char **entry = environ; *entry; ++entry)
    if (!StringRef(*entry).starts_with("TMPDIR="))
      environment.push_back(*entry);
  llvm::sys::ProcessInfo process;
  {
    std::lock_guard<std::mutex> guard(remains().lock);
    // A session of its own can be killed as a whole.
    process = llvm::sys::ExecuteNoWait(command[0], command, ArrayRef<StringRef>(environment), {std::nullopt, log, log},
                                       0, nullptr, nullptr, nullptr, /*DetachProcess=*/true);
    remains().child = process.Pid;
  }
  if (process.Pid == llvm::sys::ProcessInfo::InvalidPid)
    return -1;
  process = llvm::sys::Wait(process, std::nullopt);
  std::lock_guard<std::mutex> guard(remains().lock);
  remains().child = 0;
  return process.ReturnCode;
}
