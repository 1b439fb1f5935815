/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_UCT_IFACE_H
#define FUSELINK_TEST_SIM_UCT_IFACE_H

#include "../fabric/bell.h"
#include "../fabric/world.h"
#include "ucx.h"

#include <string>
#include <vector>

namespace fuselink::sim {

class SimEp;
class StreamEp;
class StreamIface;

/** An interface of a simulated transport, of one process. */
class SimIface : public uct_base_iface_t {
public:
    virtual ~SimIface();

    static SimIface &from(uct_iface_h iface)
    {
        return *static_cast<SimIface *>(
            reinterpret_cast<uct_base_iface_t *>(iface));
    }

    Process &process() const { return process_; }
    World   &world() const { return process_.world(); }
    uint32_t id() const { return id_; }

    ucs_status_t init(uct_md_h md, uct_worker_h worker,
                      const uct_iface_params_t *params,
                      const uct_iface_config_t *config);

    virtual unsigned progress() = 0;
    virtual void     describe(uct_iface_attr_t &attr) const = 0;
    virtual size_t   write_device_address(uint8_t *out) const = 0;
    virtual bool     reaches(const uint8_t *device) const = 0;
    virtual ucs_status_t create_ep(const uct_ep_params_t *params,
                                   uct_ep_h *ep) = 0;
    virtual ucs_status_t arm() = 0;
    /** A call finds no room now, though there is. */
    virtual bool         storms() { return world().storms(process_); }
    /** Connections of a process that is gone are the kernel's to end. */
    virtual void     die() = 0;
    /** Itself, if it is for streams. */
    virtual StreamIface *as_stream() { return nullptr; }

    /** The iface address: its number. */
    static uint32_t number_in(const uct_iface_addr_t *address);

    void fail_ep(SimEp &ep, ucs_status_t status);

    /** A request of its queue found no room: it is tried with every look. */
    void     look_again_at(SimEp &ep);
    unsigned look_again();
    void     forget(SimEp &ep) { std::erase(again_, &ep); }

    /** The descriptor of events. */
    Bell &bell() { return bell_; }

protected:
    explicit SimIface(Process &process) : process_(process) {}

    /** A message for the user, who may keep it. */
    void deliver(uint8_t id, const std::vector<uint8_t> &bytes, bool may_keep);

private:
    Process &process_;
    uint32_t id_       = 0;
    bool     ready_    = false;
    Bell     bell_;
    size_t   headroom_ = 0;
    uct_recv_desc_t release_{};
    std::vector<SimEp *> again_;
};

/** One on a NIC. */
class NicIface : public SimIface {
public:
    Nic &nic() const { return nic_; }

protected:
    NicIface(Process &process, Nic &nic) : SimIface(process), nic_(nic) {}

private:
    Nic &nic_;
};

/** An endpoint of one. Those operations that a transport lacks are refused. */
class SimEp : public uct_base_ep_t {
public:
    virtual ~SimEp();

    static SimEp &from(uct_ep_h ep)
    {
        return *static_cast<SimEp *>(reinterpret_cast<uct_base_ep_t *>(ep));
    }
    uct_ep_h  handle() { return &super; }
    SimIface &owner() const { return owner_; }
    World    &world() const { return owner_.world(); }

    ucs_status_t init();

    virtual ucs_status_t am_short(uint8_t id, uint64_t header, const void *data,
                                  unsigned length);
    virtual ssize_t am_bcopy(uint8_t id, uct_pack_callback_t pack, void *arg);
    virtual ucs_status_t am_zcopy(uint8_t id, const void *header,
                                  unsigned header_length, const uct_iov_t *iov,
                                  size_t count, uct_completion_t *comp);
    virtual ucs_status_t put_short(const void *data, unsigned length,
                                   uint64_t remote, uct_rkey_t rkey);
    virtual ssize_t put_bcopy(uct_pack_callback_t pack, void *arg,
                              uint64_t remote, uct_rkey_t rkey);
    virtual ucs_status_t put_zcopy(const uct_iov_t *iov, size_t count,
                                   uint64_t remote, uct_rkey_t rkey,
                                   uct_completion_t *comp);
    virtual ucs_status_t get_bcopy(uct_unpack_callback_t unpack, void *arg,
                                   size_t length, uint64_t remote,
                                   uct_rkey_t rkey, uct_completion_t *comp);
    virtual ucs_status_t get_short(void *to, unsigned length, uint64_t remote,
                                   uct_rkey_t rkey);
    virtual ucs_status_t get_zcopy(const uct_iov_t *iov, size_t count,
                                   uint64_t remote, uct_rkey_t rkey,
                                   uct_completion_t *comp);
    virtual ucs_status_t flush(unsigned flags, uct_completion_t *comp) = 0;
    virtual ucs_status_t check() = 0;
    /** UCS_OK: an operation would be taken now. */
    virtual ucs_status_t room() const = 0;
    virtual ucs_status_t address(uint8_t *out) const;
    virtual ucs_status_t connect_to(const uint8_t *address);
    /** Itself, if it is one of a stream. */
    virtual StreamEp    *as_stream() { return nullptr; }

    ucs_status_t pending_add(uct_pending_req_t *req);
    void         pending_purge(uct_pending_purge_callback_t cb, void *arg);
    /** Lets those who wait for room try again. How many did. */
    unsigned     dispatch();

    /** The connection has failed, and the user has heard of it. */
    bool failed = false;

protected:
    explicit SimEp(SimIface &owner) : owner_(owner) {}

private:
    SimIface        &owner_;
    bool             ready_ = false;
    ucs_queue_head_t pending_;
};

/** The bytes of an iov that describes one buffer. */
inline size_t length_of(const uct_iov_t *iov, size_t count)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; ++i) {
        sum += iov[i].length * iov[i].count;
    }
    return sum;
}

/** A message of UCT's as bytes. */
std::vector<uint8_t> pack_short(uint64_t header, const void *data,
                                unsigned length);
std::vector<uint8_t> pack_bcopy(uct_pack_callback_t pack, void *arg,
                                size_t most);
std::vector<uint8_t> pack_zcopy(const void *header, unsigned header_length,
                                const uct_iov_t *iov, size_t count);

} // namespace fuselink::sim

#endif
