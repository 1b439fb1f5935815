/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_LINK_H
#define FUSELINK_PEER_LINK_H

#include "../ucx.h"
#include "../wire/address.h"
#include "../wire/messages.h"

#include <vector>

namespace fuselink {

class Peer;
class Rail;

/**
 * A connection of one of our rails with one of a peer's, of the kind that
 * both sides make by name: a pair of queue pairs. Both directions use it.
 *
 * Each side sends what its endpoint is called and connects to what it is
 * told. A side sends data only when it knows that the other has connected:
 * from the answer to its own question, or from a word when it was the one
 * asked. Both may ask at once.
 *
 *     ask    ->                     create, connect
 *            <- answer              (may not send yet)
 *     connect, may send
 *     ready  ->                     may send
 *
 * Whoever has no queue pair left refuses.
 *
 * One thread at a time (the worker's).
 */
class Link {
public:
    using Use = wire::LinkUse;

    Link(Rail &rail, const wire::RailRecord &remote, Use use);
    ~Link();
    Link(const Link &)            = delete;
    Link &operator=(const Link &) = delete;

    Rail                   &rail() const { return rail_; }
    const wire::RailRecord &remote() const { return remote_; }
    uct_ep_h                ep() const { return ep_; }
    bool                    ready() const { return state_ == State::Ready; }
    bool                    refused() const { return state_ == State::Refused; }

    /** Begins, unless that was done. */
    void ask(Peer &peer);

    /** True if the message is about this link. */
    bool meant(const wire::RailAddr &message) const;
    /** `address` is untrusted. Fails if the rail does. */
    ucs_status_t on_message(Peer &peer, const wire::RailAddr &message,
                            const std::vector<uint8_t> &address);

private:
    enum class State : uint8_t {
        Idle,
        Asked,    /* our question is on its way */
        Answered, /* we are connected; the peer may not be yet */
        Ready,
        Refused,
    };

    ucs_status_t create(Peer &peer, std::vector<uint8_t> &address);
    ucs_status_t connect(const std::vector<uint8_t> &address);
    void         say(Peer &peer, wire::LinkStep step,
                     const std::vector<uint8_t> &address = {});
    void         refuse(Peer &peer);
    void         drop();

    Rail            &rail_;
    wire::RailRecord remote_;
    const Use        use_;
    State            state_     = State::Idle;
    bool             connected_ = false;
    uct_ep_h         ep_        = nullptr;
};

} // namespace fuselink

#endif
