//===- RoundBF16.cpp - Conversions to bf16 for processors that have none -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/RoundBF16.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/NoFolder.h"
#include "llvm/MC/MCSubtargetInfo.h"

using namespace dtcc;

static bool convertsF32(const llvm::Instruction &instruction) {
  return llvm::isa<llvm::FPTruncInst>(instruction) && instruction.getType()->getScalarType()->isBFloatTy() &&
         instruction.getOperand(0)->getType()->getScalarType()->isFloatTy();
}

static bool convertsInteger(const llvm::Instruction &instruction) {
  return llvm::isa<llvm::SIToFPInst, llvm::UIToFPInst>(instruction) &&
         instruction.getType()->getScalarType()->isBFloatTy();
}

/// Converts an integer to f32 and that to bf16, as the code generator would. Returns the second conversion.
static llvm::Instruction *convertTwice(llvm::Instruction &conversion) {
  llvm::IRBuilder<llvm::NoFolder> b(&conversion);
  llvm::Value *wide = b.CreateCast(llvm::Instruction::CastOps(conversion.getOpcode()), conversion.getOperand(0),
                                   conversion.getType()->getWithNewType(b.getFloatTy()));
  auto *narrow = llvm::cast<llvm::Instruction>(b.CreateFPTrunc(wide, conversion.getType()));
  conversion.replaceAllUsesWith(narrow);
  conversion.eraseFromParent();
  return narrow;
}

/// Replaces a conversion by arithmetic that rounds to the nearest number, ties to even. A NaN becomes a quiet NaN.
static void expand(llvm::Instruction &conversion) {
  llvm::IRBuilder<> b(&conversion);
  llvm::Value *x = conversion.getOperand(0);
  llvm::Value *bits = b.CreateBitCast(x, x->getType()->getWithNewType(b.getInt32Ty()));
  auto number = [&](uint32_t value) { return llvm::ConstantInt::get(bits->getType(), value); };
  llvm::Value *high = b.CreateLShr(bits, number(16));
  llvm::Value *half = b.CreateAdd(number(0x7fff), b.CreateAnd(high, number(1)));
  llvm::Value *rounded = b.CreateLShr(b.CreateAdd(bits, half), number(16));
  llvm::Value *isNan = b.CreateICmpUGT(b.CreateAnd(bits, number(0x7fffffff)), number(0x7f800000));
  llvm::Value *result = b.CreateSelect(isNan, b.CreateOr(high, number(0x40)), rounded);
  llvm::Value *narrow = b.CreateTrunc(result, x->getType()->getWithNewType(b.getInt16Ty()));
  conversion.replaceAllUsesWith(b.CreateBitCast(narrow, conversion.getType()));
  conversion.eraseFromParent();
}

void dtcc::expandBF16Rounding(llvm::Module &module, const llvm::TargetMachine &target) {
  const llvm::MCSubtargetInfo &has = *target.getMCSubtargetInfo();
  if (!target.getTargetTriple().isX86() || has.checkFeatures("+avx512bf16") || has.checkFeatures("+avxneconvert"))
    return;
  for (llvm::Function &function : module) {
    llvm::SmallVector<llvm::Instruction *> conversions;
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function)))
      if (convertsInteger(instruction))
        conversions.push_back(convertTwice(instruction));
      else if (convertsF32(instruction))
        conversions.push_back(&instruction);
    for (llvm::Instruction *conversion : conversions)
      expand(*conversion);
    if (!conversions.empty() && has.checkFeatures("+avx512f"))
      function.addFnAttr("target-features", (target.getTargetFeatureString() + ",-avx512f").str());
  }
}
