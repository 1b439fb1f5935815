/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_BUFFER_H
#define FUSELINK_TEST_BUFFER_H

#include "harness/failure.h"
#include "harness/pattern.h"

#include <ucp/api/ucp.h>
#include <vector>

namespace fltest {

/** Fails unless `call` returns UCS_OK. */
#define REQUIRE_OK(call)                             \
    do {                                             \
        ucs_status_t status_ = (call);               \
        REQUIRE(status_ == UCS_OK, "%s: %s", #call,  \
                ucs_status_string(status_));         \
    } while (0)

/** Memory that is sent from or received to, in one piece or scattered. Around
 *  each piece are bytes that must stay as they are. */
class Buffer {
public:
    /** With `pieces` > 1 it is a list of so many, of random sizes, empty ones
     *  among them. */
    explicit Buffer(size_t size, unsigned pieces = 1);
    Buffer(const Buffer &)            = delete;
    Buffer &operator=(const Buffer &) = delete;

    size_t size() const { return size_; }

    /** What UCP wants to know: pointer, count and type. */
    void          *pointer() const;
    size_t         count() const;
    ucp_datatype_t datatype() const;

    /** The data of a buffer of one piece. */
    char *data() const { return static_cast<char *>(list_.at(0).buffer); }

    /** A copy of the data in one piece. */
    std::vector<char> flat() const;

    /** Writes the pattern `seed` beginning at its byte `from`, see fill(). */
    void write(uint64_t seed, uint64_t from = 0);
    /** Fails unless the first `length` bytes are the pattern's and nothing
     *  else was touched since the buffer was made. */
    void require(uint64_t seed, size_t length, const char *what) const;
    void require(uint64_t seed, const char *what) const
    {
        require(seed, size_, what);
    }
    /** Fails if a byte beside the data was touched. */
    void require_bounds(const char *what) const;
    /** Fails if any byte was touched. */
    void require_untouched(const char *what) const { require(0, 0, what); }

private:
    /* Fails unless [from, to) is as it was. */
    void require_guard(const unsigned char *from, const unsigned char *to,
                       const char *what) const;

    static constexpr size_t        kGuard     = 24;
    static constexpr unsigned char kUntouched = 0xee;

    size_t                        size_;
    std::vector<unsigned char>    storage_;
    mutable std::vector<ucp_dt_iov_t> list_; /* UCP has no const lists */
};

} // namespace fltest

#endif
