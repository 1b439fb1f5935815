/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_DOMAIN_H
#define FUSELINK_TEST_DOMAIN_H

#include "worker.h"

#include <string>

namespace fltest {

/** A memory domain of a UCT component. */
class Domain {
public:
    /** `name` of the component's domains; empty: that which is called as it is. */
    explicit Domain(const std::string &component = "fuselink",
                    const std::string &name = "");
    /** The one that has fuselink's device. */
    static Domain of_device(const std::string &device)
    {
        return Domain("fuselink", device == "rails" ? "fuselink" : "fuselink_node");
    }
    ~Domain();
    Domain(const Domain &)            = delete;
    Domain &operator=(const Domain &) = delete;

    uct_md_h             handle() const { return md_; }
    uct_component_h      component() const { return component_; }
    const uct_md_attr_t &attr() const { return attr_; }

    /** Names of the devices of transport `tl`. */
    std::vector<std::string> devices(const std::string &tl) const;

    /** The status of opening the domain, which is closed again. */
    static ucs_status_t try_open(const std::string &component = "fuselink");

private:
    static uct_component_h find(const std::string &name);
    static ucs_status_t open(uct_component_h component, const std::string &name,
                             uct_md_h *md);

    uct_component_h component_;
    uct_md_h        md_;
    uct_md_attr_t   attr_;
};

/** Registered memory of this process. */
class Memory {
public:
    Memory(const Domain &domain, size_t size);
    ~Memory();
    Memory(const Memory &)            = delete;
    Memory &operator=(const Memory &) = delete;

    char     *at(size_t offset) const { return data_ + offset; }
    char     *data() const { return data_; }
    size_t    size() const { return size_; }
    uct_mem_h handle() const { return memh_; }

    uct_iov_t iov(size_t offset, size_t length) const
    {
        return {data_ + offset, length, memh_, 0, 1};
    }

    /** What another process needs to reach it. */
    Bytes describe() const;
    /** The same by a key that revoke() ends. */
    Bytes describe_revocable() const;

    /** Ends the registration; the memory stays. */
    void deregister();
    void revoke();

private:
    const Domain &domain_;
    size_t        size_;
    char         *data_;
    uct_mem_h     memh_ = nullptr;
};

/** Memory of another process, from Memory::describe(). */
class Remote {
public:
    Remote(const Domain &domain, const Bytes &description);
    ~Remote();
    Remote(const Remote &)            = delete;
    Remote &operator=(const Remote &) = delete;

    uint64_t   at(size_t offset) const { return base_ + offset; }
    size_t     size() const { return size_; }
    uct_rkey_t key() const { return key_.rkey; }
    /** The packed key as it was sent. */
    const Bytes &packed_key() const { return packed_; }

private:
    const Domain    &domain_;
    uint64_t         base_ = 0;
    uint64_t         size_ = 0;
    Bytes            packed_;
    uct_rkey_bundle_t key_;
};

} // namespace fltest

#endif
