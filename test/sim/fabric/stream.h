/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_FABRIC_STREAM_H
#define FUSELINK_TEST_SIM_FABRIC_STREAM_H

#include "channel.h"
#include "process.h"
#include "room_probes.h"

#include <deque>
#include <memory>
#include <vector>

namespace fuselink::sim {

class StreamIface;
class StreamEp;

/** What UCX's TCP writes to a socket: one message, put or acknowledgement. */
struct StreamRecord {
    enum class Type : uint8_t { Connect, Accept, Message, Put, PutAck };

    Type                 type;
    uint8_t              am_id = 0;
    uint32_t             sn = 0;      /* of puts */
    uint64_t             address = 0; /* Put: where to */
    size_t               length = 0;  /* bytes that follow */
    std::vector<uint8_t> bytes;       /* Message: those that came */
    StreamUse           *use = nullptr; /* Put: of who sends it */
};

/**
 * A TCP connection as the kernels of both ends have it: two buffers each, and what
 * happens when one end goes. Which interface and endpoint of UCX's TCP has an end
 * is noted there; accepted ends have no endpoint at first.
 */
struct Stream : std::enable_shared_from_this<Stream> {
    struct Segment {
        std::shared_ptr<StreamRecord> record;
        size_t                        offset = 0;
        std::vector<uint8_t>          data;

        size_t size() const { return data.size() + (offset == 0 ? 16 : 0); }
    };

    struct End {
        Process     *process = nullptr;
        Nic         *nic     = nullptr;
        StreamIface *iface   = nullptr; /* null: closed */
        StreamEp    *ep      = nullptr; /* null: nobody's */
        uint32_t     iface_id = 0;      /* whatever became of it */

        std::shared_ptr<Channel> out;
        std::deque<Segment>      to_send, received;
        size_t to_send_bytes = 0, received_bytes = 0, on_wire = 0;
        bool   closed  = false; /* by its process: the end of data follows */
        bool   end_sent = false;
        bool   eof     = false; /* the other side has closed */
        bool   error   = false; /* reset, or no answer */
        bool   handled = false; /* of the last two UCX has heard */
        bool   greeted = false; /* UCX's own handshake was here */
        bool   in_ready = false; /* of the interface's list */
        unsigned puts_open = 0; /* sent, not acknowledged */
        bool   ended   = false; /* at once, by its own process */

        /* Arrived, and the way back is silent: bytes, since when, and how often they
         * were sent again. */
        size_t   unheard = 0;
        Instant  unheard_since = 0;
        unsigned unheard_tries = 0;

        bool     late = false; /* what has arrived waits to be acknowledged */

        /* What the kernel counts, for those who ask. */
        uint64_t acked = 0, came = 0;       /* bytes since the beginning */
        uint64_t resent = 0;
        Instant  acked_at = 0, sent_at = 0, came_at = 0;
        Instant  busy_since = 0;            /* bytes are under way */
        uint64_t busy_acked = 0;            /* of those, acknowledged */
        RoomProbes probes;                  /* of the other's window */
    };

    explicit Stream(World &world) : world(world) {}

    /** Nobody listens where it was to go. */
    void refuse_to_connect()
    {
        refused = true;
        fail(0);
    }

    /** Bytes that the kernel takes now at this end. */
    size_t room(unsigned side) const;
    /** Hands a piece of a record to the kernel, with room for it or not. */
    void   write(unsigned side, std::shared_ptr<StreamRecord> record,
                 size_t offset, const uint8_t *data, size_t length);
    /** UCX reads: the oldest that has come. Only if there is any. */
    Segment read(unsigned side);
    /** Something that process `from` has sent is still to be read by process `to`. */
    bool brings(unsigned from, unsigned to) const;

    /** The process closes its end. */
    void close(unsigned side);
    /** The connection breaks, as both kernels see it: at once at `side`, after
     *  what is under way at the other. */
    void reset(unsigned side);
    /** The process ends it at once: what its kernel has, either way, is gone, and
     *  what comes finds nobody. A reset is sent if its NIC has a link, as it says. */
    void end(unsigned side, bool has_link);
    /** What was put from this side is acknowledged. */
    void acknowledged(unsigned side);
    /** The same after so many more bytes from this side. */
    void reset_after(unsigned side, size_t bytes);

    void    lose_notice(unsigned side);
    void    lose_notice_later(unsigned side);
    void    put_begins(unsigned side);
    void    fall_silent(unsigned side, Instant time);
    void    arrived(unsigned side, size_t bytes);
    bool    may_wait(unsigned side) const;
    void    acknowledge(unsigned side);
    void    hear(unsigned side);
    void    ask_again(unsigned side, Instant pause, bool probes = false);
    void    forget_wire(unsigned side);
    void    transmit(unsigned side);
    void    refuse(unsigned side);
    void    fail(unsigned side);
    bool    ready(unsigned side) const;
    void    notify(unsigned side);

    World &world;
    End    ends[2]; /* who connected, who accepted */
    uint16_t port = 0;       /* who connected has it at this one */
    uint32_t target = 0;     /* the endpoint that it is for; 0: any */
    bool   given_up = false; /* one side lost a crossing */
    bool   answered = false; /* by the other kernel */
    bool   refused  = false; /* the same */
    bool   has_messages = false; /* not bulk data alone */
    bool   is_again = false;     /* there was one like it, which was ended */
    bool   holds[2] = {false, false}; /* a notice, until a put is acknowledged */
    Instant hold_for[2] = {0, 0}; /* when it breaks: what that side has sent */
    size_t reset_in[2] = {SIZE_MAX, SIZE_MAX};
};

} // namespace fuselink::sim

#endif
