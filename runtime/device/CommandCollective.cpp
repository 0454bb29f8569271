//===- CommandCollective.cpp - Commands that communicate ------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/CommandCollective.h"

#include "runtime/abi/Collectives.h"
#include "runtime/collective/Communicator.h"
#include "runtime/image/RowCommand.h"

namespace dtcc::rt {

static int64_t bytesOf(const dtcc_view &view) { return elementCount(view) * dtcc_dtype_size(view.dtype); }

int64_t messageBytes(const Image &image, const dtcc_command &command) {
  return bytesOf(image.views()[image.operands(command)[0]]);
}

void reserveMessages(const Image &image, const dtcc_command &command, Communicator &group) {
  if (command.kind == DTCC_COLLECTIVE && collectiveInfo(command.op).traffic == Traffic::ToNext)
    group.reserveShifts();
  if (command.kind != DTCC_SEND)
    return;
  auto attributes = image.attributes(command);
  for (int64_t room = attributes[1]; room > 0; --room)
    group.reserveSend(attributes[0], messageBytes(image, command));
}

static void exchangeRows(const Image &image, const dtcc_command &command, Communicator &group, void *const *buffers) {
  const RowExchange exchange = rowExchangeOf(command, image);
  const RowOperands places(exchange.combines, exchange.isBounded(), /*isForGpus=*/false);
  const void *in = buffers[places.rows], *ids = buffers[places.picks];
  auto *lists = static_cast<int64_t *>(buffers[places.lists()]);
  if (exchange.combines)
    combineRows(group, exchange, in, ids, buffers[places.out], buffers[places.returned()], lists);
  else
    dispatchRows(group, exchange, in, ids, buffers[places.out], lists);
}

static void runCollective(const Image &image, const dtcc_command &command, Communicator &group, void *const *buffers) {
  auto kind = static_cast<CollectiveKind>(command.op);
  if (infoOf(kind).in == Extent::None)
    return group.barrier();
  auto operands = image.operands(command);
  const dtcc_view &in = image.views()[operands[0]], &out = image.views()[operands[1]];
  auto type = static_cast<dtcc_dtype>(in.dtype);
  auto reduction = static_cast<dtcc_reduction>(command.reduction);
  void *from = buffers[0], *to = buffers[1];
  switch (kind) {
  case CollectiveKind::AllReduce:
    return group.allReduce(from, to, elementCount(in), type, reduction);
  case CollectiveKind::AllGather:
    return group.allGather(from, to, elementCount(in), type);
  case CollectiveKind::ReduceScatter:
    return group.reduceScatter(from, to, elementCount(out), type, reduction);
  case CollectiveKind::AllToAll:
    return group.allToAll(from, to, elementCount(in) / group.size(), type);
  case CollectiveKind::Broadcast:
    return group.broadcast(from, to, elementCount(in), type);
  case CollectiveKind::Shift:
    return group.shift(from, to, bytesOf(in));
  case CollectiveKind::DispatchRows:
  case CollectiveKind::CombineRows:
    return exchangeRows(image, command, group, buffers);
  case CollectiveKind::Barrier:
    break;
  }
}

void runCommunication(const Image &image, const dtcc_command &command, Communicator &group, void *const *buffers) {
  if (command.kind == DTCC_COLLECTIVE)
    return runCollective(image, command, group, buffers);
  int64_t bytes = messageBytes(image, command), peer = image.attributes(command)[0];
  if (command.kind == DTCC_SEND)
    group.send(buffers[0], bytes, peer);
  else
    group.receive(buffers[0], bytes, peer);
}

} // namespace dtcc::rt
