/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HOSTILE_ATTACKER_H
#define FUSELINK_TEST_SIM_HOSTILE_ATTACKER_H

#include "../fabric/world.h"
#include "../harness/sim_worker.h"
#include "bytes.h"
#include "victim.h"
#include "ucx.h"
#include "wire/address.h"
#include "wire/messages.h"

#include <deque>
#include <vector>

namespace fuselink::sim {

/**
 * A peer that speaks fuselink's protocol as it likes. It reaches its victim as any
 * process of the network can, by a bare interface of a rail's transport. What it
 * says is a message as it would be well-formed there and then, by what it has
 * heard, with as many words changed as the script says.
 */
class Attacker {
public:
    Attacker(Process &process, const Victim &victim);
    ~Attacker();
    Attacker(const Attacker &)            = delete;
    Attacker &operator=(const Attacker &) = delete;

    bool open();
    /** Itself as a peer with one rail. */
    wire::RailTable table() const;

    /** One thing that it says or does, by the script. */
    void act(Bytes &script);
    void say_hello();
    void progress(unsigned times);
    void close();

private:
    struct Region { /* that it has the key of */
        uint64_t base = 0, key = 0;
        uint32_t id = 0;
    };
    using Message = std::vector<uint8_t>;
    template <typename T> static Message bytes_of(const T &head)
    {
        auto *at = reinterpret_cast<const uint8_t *>(&head);
        return Message(at, at + sizeof(head));
    }

    bool                connect();
    void                hear(const void *data, size_t length);
    void                send(uint8_t id, const Message &message);
    wire::ControlHeader header(wire::ControlType type, Bytes &script) const;
    Message             control(wire::ControlType type, Bytes &script) const;
    Region              region(Bytes &script) const;
    Message             part(Bytes &script);
    wire::MessageNumber seen() const;
    Message             newest(wire::ControlType type) const;
    void                change(Message &message, Bytes &script) const;
    template <typename T>
    T last(wire::ControlType type, size_t back = 0) const;

    static ucs_status_t on_control(void *arg, void *data, size_t length,
                                   unsigned flags);

    Process             &process_;
    World               &world_;
    const wire::RailTable victim_;
    Region               regions_[2]; /* of the host, of a GPU */
    SimWorker            worker_;
    uct_md_h             md_     = nullptr;
    uct_iface_h          iface_  = nullptr;
    uct_ep_h             ep_     = nullptr;
    wire::RailRecord     rail_;
    uint64_t             uuid_;
    uint32_t             session_ = 1;
    uint32_t             chunk_   = 0;
    wire::MessageNumber  number_  = 0; /* of the next message */
    uint8_t              lane_    = 0;
    bool                 listens_ = true;
    uint8_t              last_id_ = 0;
    Message              last_sent_;
    std::deque<Message>  heard_; /* control messages, the last is the newest */
};

} // namespace fuselink::sim

#endif
