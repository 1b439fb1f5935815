/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_RAIL_NEWS_H
#define FUSELINK_PEER_RAIL_NEWS_H

#include "../conn/connection.h"
#include "../rail/rails.h"
#include "../transfer/bulk.h"
#include "../wireup/wireup.h"

#include <cstddef>

namespace fuselink {

/**
 * Rails that one of two peers gets while they are connected: a NIC that had no link at the
 * start, or was not there. The peer is told, and both have paths for bulk data over it, and
 * may take it for messages when they look for a lane. And which NICs have no link.
 *
 * What the peer says is untrusted. One thread at a time (the worker's).
 */
class RailNews {
public:
    RailNews(Connection &conn, const Rails &rails, Wireup &wireup, BulkSender &bulk)
        : conn_(conn), rails_(rails), wireup_(wireup), bulk_(bulk),
          told_(rails.list().size())
    {
    }
    RailNews(const RailNews &)            = delete;
    RailNews &operator=(const RailNews &) = delete;

    /** Rails of ours are new. From progress. */
    void on_own();
    /** The peer's hello has come, after which there are paths for all rails: it is told of
     *  those that our hello may not have had, and which have no link. */
    void on_hello();
    /** Rails of ours have lost their link, or got one, as PeerTable::on_carrier() has it. */
    void tell_links(uint16_t down, uint16_t back);
    /** A wire::Rails. */
    void on_message(const void *data, size_t length);
    /** What could not be done where that came. From progress. */
    void run_deferred();

private:
    void tell();

    Connection  &conn_;
    const Rails &rails_;
    Wireup      &wireup_;
    BulkSender  &bulk_;
    size_t       told_; /* the peer knows so many of our rails at least */
    bool         heard_ = false; /* something that is to be gone on with */
    bool         met_   = false; /* a hello has come, */
    bool         greet_ = false; /* the first, just now */
};

} // namespace fuselink

#endif
