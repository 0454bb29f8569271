//===- HostsWatch.h - The watch of a process in a run --------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank that is a process knows the ranks of its host by the memory that they share (ProcessTable.h), and asks the
// others over a link. Whether a launcher or MPI has connected the processes makes no difference to that.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_NETWORK_HOSTSWATCH_H
#define DTCC_RUNTIME_COLLECTIVE_NETWORK_HOSTSWATCH_H

#include "runtime/collective/Communicator.h"
#include "runtime/collective/ProcessTable.h"
#include "runtime/collective/network/Host.h"
#include "runtime/collective/network/Link.h"

#include <vector>

namespace dtcc::rt {

class HostsWatch : public Watch {
public:
  HostsWatch(const std::atomic<uint32_t> &aborted, const Launch &launch)
      : Watch(aborted, launch.hangSeconds, launch.interrupted) {}

  /// Where a rank runs, for messages.
  struct Place {
    HostName host;
    int64_t pid;
  };
  int64_t rank = 0;              /* of this process */
  std::vector<Place> places;     /* by rank; empty: all ranks are in the table */
  ProcessTable *table = nullptr; /* of the ranks that share memory with this one; null: none does */
  Link *link = nullptr;          /* to the others; null: there are none, or the link is not open */

  /// Facts about the ranks of this host.
  virtual std::map<int64_t, Note> near() { return table ? table->notes() : std::map<int64_t, Note>(); }

protected:
  std::string lost() override;
  std::string nameOf(int64_t other) override;
  void tell(const Wait *wait) override;
  std::optional<Note> noteOf(int64_t other) override;
  std::map<int64_t, Note> notes() override;

private:
  bool sharesMemory(int64_t other) const;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_NETWORK_HOSTSWATCH_H
