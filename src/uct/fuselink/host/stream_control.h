/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_HOST_STREAM_CONTROL_H
#define FUSELINK_HOST_STREAM_CONTROL_H

#include "../sched/units.h"
#include "socket_address.h"

#include <cstdint>

/* UCT's objects: what they are is only for those that implement this. */
struct uct_ep;
struct uct_iface;

namespace fuselink {

/**
 * What this end's kernel knows of a connection. Its clock for the times since
 * something happened has ticks of 1 to 10 ms.
 *
 * What tells a receiver that does not read from a wire that carries nothing: the
 * former's kernel still acknowledges. Its window is shut, so that nothing is in
 * flight, and it answers each probe: `probes` is 0 again, `since_ack` short,
 * `backoff` grows all the same. On a dead wire bytes stay in flight, and
 * `retransmits`, or `probes` where the window was shut before, grow together with
 * `since_ack`.
 */
struct StreamState {
    enum class Phase : uint8_t {
        Connecting,  /* the other kernel has not answered */
        Established,
        Closed       /* by either side, reset, or given up */
    };

    Phase phase = Phase::Closed;

    /* What this end has sent: bytes that the other kernel has not acknowledged, and
     * what of them it has never been sent, because the windows or the program here
     * did not let it. The rest is in flight. */
    sched::Bytes unacked, unsent;
    uint32_t     segments = 0; /* in flight */
    /** Bytes acknowledged since the beginning: grows while anything goes. */
    uint64_t     acked = 0;
    /** Bytes that have come since the beginning. */
    uint64_t     received = 0;
    /** Bytes that were sent once more, since the beginning, and packets of them of which
     *  the other kernel said that they were there. */
    uint64_t     resent = 0;
    uint32_t     in_vain = 0;
    /** Packets that have come since the beginning, with data or without. */
    uint32_t     packets = 0;

    /** Time-outs in a row without an acknowledgement. Each doubles the time to
     *  the next, and so does each probe of a shut window, answered or not: the
     *  latter's and former's power of two is `backoff`. */
    unsigned retransmits = 0, backoff = 0;
    /** Probes of a shut window that are not answered yet. */
    unsigned probes = 0;
    /** Bytes that the other side had room for when it last spoke; kUnknown:
     *  this kernel does not say (before Linux 5.4). */
    uint32_t window = kUnknown;
    static constexpr uint32_t kUnknown = UINT32_MAX;
    /** Bytes of a segment. */
    uint32_t mss = 0;

    /** The kernel's instants are true to so much. */
    sched::Nanos tick = sched::Nanos::millis(10);
    /* Ago. `since_sent` counts data alone, and what is sent again too. */
    sched::Nanos since_ack, since_sent, since_received;

    /* Zero: not measured yet. */
    sched::Nanos rtt, rtt_deviation, least_rtt, timeout;
    /** Bytes a second, lately, as the kernel saw them acknowledged. `starved`:
     *  it then had less to send than it could have. */
    double delivery = 0;
    bool   starved  = false;

    sched::Bytes in_flight() const { return unacked - unsent; }
    /** The other kernel has refused the connection: nobody listens there. All that has
     *  come is its reset. Whoever is not reached says nothing, or others do (ICMP). */
    bool refused() const { return phase == Phase::Closed && packets == 1; }
    /** It has ended without a word of the other kernel's. */
    bool unreachable() const { return phase == Phase::Closed && packets == 0; }
    /** The other kernel has said something. */
    bool answered() const { return phase != Phase::Connecting && !unreachable(); }
    /** The receiver has no room for the next segment that waits here. */
    bool window_shut() const
    {
        return segments == 0 && !unsent.is_zero() &&
               (window == kUnknown ? backoff != 0 :
                                     window < mss && window < unsent.count());
    }
};

/**
 * The connections below the endpoints of a transport of byte streams (UCX's tcp),
 * past the transport: what their kernel knows of them, and their end at once.
 *
 * For an end that is exact, each side ends its own: who sends by end(), who
 * receives by end_from(), when the other has told it over another rail from where
 * the connection came. After the latter nothing of the connection is written into
 * this process's memory, however much was under way.
 *
 * A descriptor stays the transport's: nothing here closes one. By the thread that
 * progresses the interface, and not from inside its callbacks, but for look(), which
 * may be asked of an endpoint whose error is just told: UCX's tcp has closed its socket
 * if the other side has ended the connection in order, and else has it still.
 */
class StreamControl {
public:
    /** What the kernel knows. Two system calls, about a microsecond. False, and
     *  nothing changed, if the endpoint is not of such a transport or has no
     *  socket. */
    virtual bool look(uct_ep *ep, StreamState &state) = 0;

    /** How many bytes its kernel may take to send, about, from now on; the greatest
     *  number: as many as it likes. A connection that the user has set that for
     *  (UCX_TCP_SNDBUF) stays as it is. Two system calls at most. */
    virtual void bound(uct_ep *ep, sched::Bytes bytes) = 0;

    /** Where the connection begins and ends, as this side sees it: what the other
     *  side needs for end_from() is `here`. Also when it has broken, unless the
     *  endpoint has failed; not after end(). Two system calls. */
    virtual bool addresses(uct_ep *ep, SocketAddress &here,
                           SocketAddress &there) = 0;

    /**
     * Ends the endpoint's connection at once. Nothing that the kernel still has to
     * send goes out, nothing that has come is read any more, and the other kernel
     * gets a reset, if it can be reached. What was on the wire may still arrive
     * there.
     *
     * Without a link of its NIC (`has_link`) no reset is sent, if the kernel can be had
     * to (Linux 5.7, or CAP_NET_RAW): it would ask for the next host's hardware address
     * in vain, and whoever connects when the link is back would wait until it asks again,
     * for up to a second.
     *
     * The endpoint fails at the next call on it, or the next progress of its
     * interface, through the ordinary error handler. It may be destroyed before;
     * then no handler is called, and what it had under way is completed as
     * cancelled. That is also the only safe way to destroy an endpoint whose wire is
     * dead: where a connection has both directions, UCX 1.13 sends a last word in
     * uct_ep_destroy(), and tries until the kernel has room for it. Where it has
     * only one, the kernel would go on to send what it has, for minutes.
     *
     * False if there is nothing to end: no socket, or an endpoint that the transport
     * has not connected yet. The latter has sent nothing but the transport's first
     * word: just destroy it.
     */
    virtual bool end(uct_ep *ep, bool has_link) = 0;

    /**
     * Ends connections that `iface` has accepted and that begin at `far`, which
     * the other side has as `here`. UCX keeps such connections to itself; if an
     * endpoint has taken one over, that endpoint fails as after end(). One look at
     * /proc and a system call or two for each connection of the interface.
     *
     * Returns how many there were, 1 at most unless addresses are translated on the
     * way. A reset is sent as by end(). From then on none of its bytes can be written to memory: what the kernel
     * had received is gone, and later segments find no connection.
     *
     * - What UCX had already read: it copies puts to where they belong, and hands
     *   out whole messages, in the very call that reads them, whatever MAX_POLL
     *   says. Between two calls it keeps at most the beginning of a message, or
     *   what is left to come of a put (address and length), neither of which can
     *   go on without a further read. One exception: a connection from endpoint to
     *   endpoint. What came with its first word (at most a receive buffer, 8 kB) is
     *   moved to the endpoint and handed out by the worker's next progress. That
     *   endpoint is the caller's; destroying it drops what was moved.
     * - 0: it is not there (any more), or not accepted yet. The latter cannot hurt.
     *   Who connects to an interface sends nothing but its first word until UCX here
     *   has accepted and answered. Who connects to an endpoint may send more, but
     *   UCX drops that connection unread if the endpoint is gone when it accepts.
     *
     * Who takes `far` out of a message makes sure that its address is one of that
     * peer: nothing else here would keep one peer from ending another's.
     */
    virtual unsigned end_from(uct_iface *iface, const SocketAddress &far,
                              bool has_link) = 0;

    /**
     * Throws away what the connection's kernel has received and nobody has read,
     * up to some megabytes. A kernel that closes a connection with such bytes
     * resets it at once, and what this side said last is lost if it is still on its
     * way, or if the other side writes before it reads.
     *
     * Its interface must make no progress any more, even where the endpoint is
     * destroyed: UCX keeps the socket of a connection that has both directions, and
     * would take what comes later for what it had begun to read.
     * False if there is no socket.
     */
    virtual bool discard(uct_ep *ep) = 0;

protected:
    ~StreamControl() = default;
};

} // namespace fuselink

#endif
