//===- Secret.cpp - Knowing the token of a run ---------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/network/Secret.h"

#include "runtime/core/Error.h"

#include <dlfcn.h>
#include <sys/random.h>

namespace dtcc::rt {
namespace {

struct Crypto {
  using Hash = const void *(*)();
  using Hmac = unsigned char *(*)(const void *, const void *, int, const unsigned char *, size_t, unsigned char *,
                                  unsigned int *);
  Hash sha256 = nullptr;
  Hmac hmac = nullptr;
};

Crypto open() {
  for (const char *name : {"libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.so"}) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      continue;
    Crypto crypto{reinterpret_cast<Crypto::Hash>(dlsym(library, "EVP_sha256")),
                  reinterpret_cast<Crypto::Hmac>(dlsym(library, "HMAC"))};
    if (crypto.sha256 && crypto.hmac)
      return crypto;
  }
  fail("ranks on several hosts prove to each other that they belong together by OpenSSL's libcrypto.so.3, which this "
       "host lacks: install it (Debian: libssl3)");
}

const Crypto &crypto() {
  static const Crypto opened = open();
  return opened;
}

} // namespace

void openSigning() { crypto(); }

Digest randomDigest() {
  Digest digest;
  if (getrandom(digest.data(), digest.size(), 0) != static_cast<ssize_t>(digest.size()))
    fail("the system gives no random numbers");
  return digest;
}

Digest sign(const std::string &token, std::string_view text) {
  Digest digest;
  unsigned int length = 0;
  if (!crypto().hmac(crypto().sha256(), token.data(), static_cast<int>(token.size()),
                     reinterpret_cast<const unsigned char *>(text.data()), text.size(), digest.data(), &length) ||
      length != digest.size())
    fail("libcrypto cannot sign");
  return digest;
}

bool isEqual(const Digest &a, const Digest &b) {
  unsigned char differs = 0;
  for (size_t i = 0; i < a.size(); ++i)
    differs |= static_cast<unsigned char>(a[i] ^ b[i]);
  return differs == 0;
}

std::string textOf(const Digest &digest) {
  std::string text;
  for (unsigned char byte : digest)
    for (int half : {byte >> 4, byte & 15})
      text += "0123456789abcdef"[half];
  return text;
}

} // namespace dtcc::rt
