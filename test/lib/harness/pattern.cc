/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "pattern.h"

#include "failure.h"

#include <algorithm>
#include <cstring>

namespace fltest {
namespace {

/* Calls fn(position in data, pattern bytes, count) for at most 8 bytes at a
 * time; stops when fn returns false. */
template <typename Fn>
void for_words(size_t length, uint64_t seed, uint64_t from, Fn &&fn)
{
    uint64_t key = mix(seed);
    for (size_t at = 0; at < length;) {
        uint64_t offset = from + at;
        uint64_t word   = mix(key ^ (offset / 8));
        size_t skip     = offset % 8;
        size_t count    = std::min(length - at, 8 - skip);
        if (!fn(at, reinterpret_cast<const unsigned char *>(&word) + skip,
                count)) {
            return;
        }
        at += count;
    }
}

} // namespace

void fill(void *data, size_t length, uint64_t seed, uint64_t from)
{
    auto *out = static_cast<unsigned char *>(data);
    for_words(length, seed, from,
              [&](size_t at, const unsigned char *bytes, size_t count) {
                  memcpy(out + at, bytes, count);
                  return true;
              });
}

ptrdiff_t mismatch(const void *data, size_t length, uint64_t seed,
                   uint64_t from)
{
    auto *in        = static_cast<const unsigned char *>(data);
    ptrdiff_t where = -1;
    for_words(length, seed, from,
              [&](size_t at, const unsigned char *bytes, size_t count) {
                  if (memcmp(in + at, bytes, count) == 0) {
                      return true;
                  }
                  size_t i = 0;
                  while (in[at + i] == bytes[i]) {
                      ++i;
                  }
                  where = static_cast<ptrdiff_t>(at + i);
                  return false;
              });
    return where;
}

void require_pattern(const void *data, size_t length, uint64_t seed,
                     const char *what, uint64_t from)
{
    ptrdiff_t at = mismatch(data, length, seed, from);
    if (at < 0) {
        return;
    }
    /* How much is wrong tells a late chunk from a stray byte. */
    size_t wrong = 0;
    for (size_t i = static_cast<size_t>(at); i < length; ++i) {
        wrong += mismatch(static_cast<const char *>(data) + i, 1, seed,
                          from + i) >= 0;
    }
    fail("%s: wrong data from byte %td of %zu, %zu bytes in all", what, at,
         length, wrong);
}

} // namespace fltest
