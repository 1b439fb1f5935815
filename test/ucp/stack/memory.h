/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_MEMORY_H
#define FUSELINK_TEST_MEMORY_H

#include "worker.h"

namespace fltest {

/** Memory of this process that others may use. */
class Memory {
public:
    Memory(const Context &context, size_t size);
    ~Memory();
    Memory(const Memory &)            = delete;
    Memory &operator=(const Memory &) = delete;

    char  *at(size_t offset) const { return data_ + offset; }
    char  *data() const { return data_; }
    size_t size() const { return size_; }

    /** The packed remote key. */
    Bytes packed_key() const;
    /** What another process needs to reach it: address, size and key. */
    Bytes describe() const;

private:
    const Context &context_;
    size_t         size_;
    char          *data_;
    ucp_mem_h      memh_;
};

/** Memory of another process, from Memory::describe(), as an endpoint to it
 *  sees it. */
class Remote {
public:
    Remote(ucp_ep_h ep, const Bytes &description);
    ~Remote();
    Remote(const Remote &)            = delete;
    Remote &operator=(const Remote &) = delete;

    uint64_t   at(size_t offset) const { return base_ + offset; }
    size_t     size() const { return size_; }
    ucp_rkey_h key() const { return key_; }

private:
    uint64_t   base_ = 0;
    uint64_t   size_ = 0;
    ucp_rkey_h key_;
};

} // namespace fltest

#endif
