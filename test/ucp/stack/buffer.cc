/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "buffer.h"

#include <algorithm>

namespace fltest {

Buffer::Buffer(size_t size, unsigned pieces)
    : size_(size), storage_(size + (pieces + 1) * kGuard, kUntouched),
      list_(pieces)
{
    std::vector<size_t> cuts{0, size};
    Random random(size * 31 + pieces);
    for (unsigned i = 1; i < pieces; ++i) {
        cuts.push_back(random.below(size + 1));
    }
    std::sort(cuts.begin(), cuts.end());
    unsigned char *at = storage_.data() + kGuard;
    for (unsigned i = 0; i < pieces; ++i) {
        list_[i] = {at, cuts[i + 1] - cuts[i]};
        at += list_[i].length + kGuard;
    }
}

void *Buffer::pointer() const
{
    return list_.size() == 1 ? list_[0].buffer : list_.data();
}

size_t Buffer::count() const
{
    return list_.size() == 1 ? size_ : list_.size();
}

ucp_datatype_t Buffer::datatype() const
{
    return list_.size() == 1 ? ucp_dt_make_contig(1) :
                               ucp_datatype_t{UCP_DATATYPE_IOV};
}

std::vector<char> Buffer::flat() const
{
    std::vector<char> data;
    for (const ucp_dt_iov_t &piece : list_) {
        auto *start = static_cast<const char *>(piece.buffer);
        data.insert(data.end(), start, start + piece.length);
    }
    return data;
}

void Buffer::write(uint64_t seed, uint64_t from)
{
    for (const ucp_dt_iov_t &piece : list_) {
        fill(piece.buffer, piece.length, seed, from);
        from += piece.length;
    }
}

void Buffer::require_guard(const unsigned char *from, const unsigned char *to,
                           const char *what) const
{
    bool good = std::all_of(from, to, [](unsigned char byte) {
        return byte == kUntouched;
    });
    REQUIRE(good, "%s: bytes were written beside the data, which has room for "
            "%zu", what, size_);
}

void Buffer::require(uint64_t seed, size_t length, const char *what) const
{
    const unsigned char *untouched = storage_.data();
    size_t from                    = 0;
    for (const ucp_dt_iov_t &piece : list_) {
        auto *start = static_cast<const unsigned char *>(piece.buffer);
        size_t part = std::min(piece.length, length - from);
        require_guard(untouched, start, what);
        require_pattern(start, part, seed, what, from);
        from      += part;
        untouched  = start + part;
    }
    require_guard(untouched, storage_.data() + storage_.size(), what);
}

void Buffer::require_bounds(const char *what) const
{
    const unsigned char *untouched = storage_.data();
    for (const ucp_dt_iov_t &piece : list_) {
        auto *start = static_cast<const unsigned char *>(piece.buffer);
        require_guard(untouched, start, what);
        untouched = start + piece.length;
    }
    require_guard(untouched, storage_.data() + storage_.size(), what);
}

} // namespace fltest
