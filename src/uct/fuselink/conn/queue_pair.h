/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_QUEUE_PAIR_H
#define FUSELINK_CONN_QUEUE_PAIR_H

#include "../ucx.h"
#include "../wire/address.h"
#include "../wire/messages.h"
#include "connection.h"
#include "endpoints.h"

#include <vector>

namespace fuselink {

/**
 * One of our rails connected to one of a peer's endpoint to endpoint, which both
 * sides do: a pair of queue pairs. Both directions use it.
 *
 * Each side sends what its endpoint is called and connects to what it is
 * told. A side sends data only when it knows that the other has connected:
 * from the answer to its own question, or from a message when it was the one
 * asked. Both may ask at once.
 *
 *     ask    ->                     create, connect
 *            <- answer              (may not send yet)
 *     connect, may send
 *     ready  ->                     may send
 *
 * Whoever has no queue pair left refuses. Whoever cannot make one now, as its NIC has no link,
 * says so, and the pair has failed: it may be made again as one that breaks.
 *
 * All that goes over other connections, and says nothing of whether this one
 * can move data. So each side then probes it: it writes no bytes to the other
 * and waits for the acknowledgement, before it counts on the pair.
 *
 * One thread at a time (the worker's).
 */
class QueuePair {
public:
    using Use = wire::LinkUse;

    /** @param turn of several for the same use one after the other: which
     *  The other arguments outlive this. */
    QueuePair(Connection &connection, Endpoints &endpoints, Rail &rail,
              const wire::RailRecord &remote, Use use, uint8_t turn = 0);
    ~QueuePair();
    QueuePair(const QueuePair &)            = delete;
    QueuePair &operator=(const QueuePair &) = delete;

    Rail                   &rail() const { return rail_; }
    const wire::RailRecord &remote() const { return remote_; }
    uct_ep_h                ep() const { return ep_; }
    bool                    ready() const { return state_ == State::Ready; }
    bool                    refused() const { return state_ == State::Refused; }
    /** It does not move data. */
    bool                    failed() const { return state_ == State::Failed; }
    /** Its first write is on its way: only the other NIC is waited for. */
    bool tried() const { return state_ == State::Probing; }
    bool settled() const { return ready() || refused() || failed(); }

    /** Begins, unless that was done. */
    void ask();

    /** The connection is over, and may be made again; if this side or the other
     *  has refused it, it stays so. */
    void reset();

    /** True if the message is about this pair. */
    bool meant(const wire::RailAddr &message) const;
    /** Answers a question for a pair that this side does not have, or will not
     *  ask for: no. */
    static void decline(Connection &connection, const wire::RailAddr &question)
    {
        answer(connection, question, wire::LinkStep::Refuse);
    }
    /** The same, for one that it may have later. */
    static void postpone(Connection &connection, const wire::RailAddr &question)
    {
        answer(connection, question, wire::LinkStep::Later);
    }
    /** `address` is untrusted. Fails if the rail does. */
    ucs_status_t on_message(const wire::RailAddr &message,
                            const std::vector<uint8_t> &address);

    /** The rail reports that the endpoint is broken. False if that is more
     *  than the end of this pair: data went over it. */
    bool on_error();
    /** It has broken before anything went over it. */
    void give_up() { state_ = State::Failed; }

    /** Does what could not be done at once. To be called from progress after
     *  Connection::defer(), by which a change of state is told as well. */
    void advance();

private:
    enum class State : uint8_t {
        Idle,
        Asked,    /* our question is on its way */
        Answered, /* we are connected; the peer may not be yet */
        Unprobed, /* the peer has connected, too */
        Probing,  /* the write is on its way */
        Ready,
        Refused,
        Failed,
    };

    ucs_status_t create(std::vector<uint8_t> &address);
    ucs_status_t connect(const std::vector<uint8_t> &address);
    void         say(wire::LinkStep step,
                     const std::vector<uint8_t> &address = {});
    static void  answer(Connection &connection, const wire::RailAddr &question,
                        wire::LinkStep step);
    static void  send(Connection &connection, wire::LinkStep step,
                      wire::RailAddr message,
                      const std::vector<uint8_t> &address);
    void         refuse();
    void         drop();
    void         probe();
    void         settle(State state);

    static void on_probe(uct_completion_t *comp);

    uct_completion_t probe_{}; /* first: UCX gives back a pointer to it */
    Connection      &connection_;
    Endpoints       &endpoints_;
    Rail            &rail_;
    wire::RailRecord remote_;
    const Use        use_;
    const uint8_t    turn_;
    State            state_     = State::Idle;
    bool             connected_ = false;
    bool             again_     = false; /* it was reset */
    uct_ep_h         ep_        = nullptr;
};

} // namespace fuselink

#endif
