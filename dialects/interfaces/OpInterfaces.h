//===- OpInterfaces.h - What passes know of an op
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//

#ifndef DTCC_DIALECTS_INTERFACES_OPINTERFACES_H
#define DTCC_DIALECTS_INTERFACES_OPINTERFACES_H

#include "dialects/interfaces/Communication.h"
#include "dialects/interfaces/Factors.h"
#include "dialects/interfaces/HostTensor.h"
#include "dialects/interfaces/StateAccess.h"
#include "dialects/interfaces/TableEnums.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "dialects/interfaces/OpInterfaces.h.inc"

#endif // DTCC_DIALECTS_INTERFACES_OPINTERFACES_H
