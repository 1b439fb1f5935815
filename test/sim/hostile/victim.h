/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HOSTILE_VICTIM_H
#define FUSELINK_TEST_SIM_HOSTILE_VICTIM_H

#include "../fabric/world.h"
#include "../harness/bare_rails.h"
#include "bytes.h"
#include "ucx.h"
#include "wire/address.h"

#include <deque>
#include <string>
#include <vector>

namespace fuselink::sim {

/**
 * A process with fuselink's own interface, whose peer is hostile: it does what a
 * program does, and looks after what must hold whatever the peer sends. Its arena
 * has four parts: one that the peer has a key for, one that is registered and
 * whose key nobody has, one that is not registered at all, and what it sends from
 * and reads to. So has the memory of its GPU, but for the second and third.
 */
class Victim {
public:
    static constexpr size_t kPart  = 64 << 10; /* bytes */
    static constexpr size_t kArena = 8 * kPart;
    static constexpr size_t kGpu   = 4 * kPart;

    Victim(Process &process, NodeMemory &node);
    ~Victim();
    Victim(const Victim &)            = delete;
    Victim &operator=(const Victim &) = delete;

    /** @param gpu_direct NICs read and write memory of the GPU, if they can */
    bool open(bool gpu_direct);
    /** What anybody may know of it. */
    wire::RailTable      table() const;
    struct Known {
        uint64_t             base;
        std::vector<uint8_t> key;
    };
    Known known() const;
    Known known_on_gpu() const;

    /** An endpoint to a peer with this table, if there is none. Puts and gets go
     *  to memory there, of kArena bytes. */
    void connect(const wire::RailTable &peer, uint64_t memory);
    /** One thing that a program does, by the script. */
    void act(Bytes &script);
    void progress(unsigned times);
    /** Memory that the peer has no key for, or was told wrongly of, is as it was;
     *  no operation has ended twice. */
    void check();
    /** Ends everything: endpoints, the interface, registrations. */
    void close();

private:
    struct Op {
        uct_completion_t comp; /* first */
        Victim          *victim;
        bool             open = false;
    };

    Op          &begin();
    void         settle(Op &op, ucs_status_t status);
    void         violate(const std::string &what);
    static void  on_end(uct_completion_t *comp);
    void         operate(unsigned kind, size_t length, Bytes &script);

    Process            &process_;
    World              &world_;
    BareRails           rails_;
    uct_mem_h            known_ = nullptr, secret_ = nullptr;
    uct_mem_h            on_gpu_ = nullptr;
    uct_ep_h             ep_    = nullptr;
    std::vector<uint8_t> key_, gpu_key_;
    std::vector<uint8_t> peer_address_;
    uct_rkey_bundle_t    peer_key_{}, peer_gpu_key_{};
    uint64_t             peer_memory_ = 0;
    std::deque<Op>       ops_; /* stay where they are */
    uint8_t             *own_; /* what it sends, and gets come to */
    uct_mem_h            own_memh_ = nullptr;
};

} // namespace fuselink::sim

#endif
