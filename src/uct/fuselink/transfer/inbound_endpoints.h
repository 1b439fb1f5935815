/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_INBOUND_ENDPOINTS_H
#define FUSELINK_TRANSFER_INBOUND_ENDPOINTS_H

#include "../conn/connection.h"
#include "../conn/endpoints.h"
#include "../rail/rails.h"
#include "../ucx.h"
#include "../wire/messages.h"

#include <cstdint>
#include <vector>

namespace fuselink {

class Host;

/**
 * Our ends of the peer's paths that it connects endpoint to endpoint on rails of
 * streams (UCX_FUSELINK_CONNECT): nothing is sent on them. At most one for each pair
 * of rails: who offers another has none of the old one any more, which did not connect and
 * of whose end nobody has told. Queue pairs are none of these: both sides send on one.
 *
 * One thread at a time (the worker's).
 */
class InboundEndpoints {
public:
    /** All outlive this. `theirs`: the peer's rails.
     *  @param connect_ep this process connects so, too */
    InboundEndpoints(Connection &connection, Endpoints &endpoints,
                     const Rails &rails, const wire::RailTable &theirs,
                     bool connect_ep)
        : connection_(connection), endpoints_(endpoints), rails_(rails),
          theirs_(theirs), connect_ep_(connect_ep)
    {
    }
    ~InboundEndpoints() { close(); }
    InboundEndpoints(const InboundEndpoints &)            = delete;
    InboundEndpoints &operator=(const InboundEndpoints &) = delete;

    /** The peer offers an endpoint: connects one to it, and answers, at once or in
     *  advance(). Both arguments are untrusted. */
    void on_offer(const wire::RailAddr &message,
                  const std::vector<uint8_t> &address);
    /** From progress. */
    void advance();

    bool has(uct_ep_h ep) const;
    /** Destroys the one of our rail `own` for the peer's `remote`, if there is
     *  one. Not from a rail's callback; nor close(). */
    void drop(uint8_t own, uint8_t remote);
    void close();

private:
    struct Inbound {
        uint8_t  rail; /* ours */
        uint8_t  from; /* the peer's */
        uct_ep_h ep;
    };

    struct Offer {
        wire::RailAddr       message;
        std::vector<uint8_t> address;
    };
    using Inbounds = std::vector<Inbound>;

    const Rail *rail_for(const wire::RailAddr    &message,
                         const wire::RailRecord *&remote) const;
    Inbounds::iterator find(uint8_t own, uint8_t remote);
    void accept(const Rail &rail, const wire::RailRecord &remote,
                const wire::RailAddr &message, const std::vector<uint8_t> &address);

    Connection            &connection_;
    Endpoints             &endpoints_;
    const Rails           &rails_;
    const wire::RailTable &theirs_;
    const bool             connect_ep_;
    Inbounds               inbound_;
    std::vector<Offer>     again_; /* in place of one of those; one for each pair */
};

} // namespace fuselink

#endif
