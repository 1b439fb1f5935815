/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_PATH_WIREUP_H
#define FUSELINK_TRANSFER_PATH_WIREUP_H

#include "../conn/connection.h"
#include "../conn/endpoints.h"
#include "../host/host.h"
#include "../ucx.h"
#include "../wire/messages.h"
#include "inbound_endpoints.h"
#include "path_recovery.h"
#include "path_room.h"
#include "path_set.h"
#include "pump.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fuselink {

/**
 * Connects paths when they are wanted first, each in its rail's way: to the peer's
 * interface, endpoint to endpoint, or as queue pairs. Those that do not connect are
 * left out for a while: the others go on.
 *
 * One thread at a time (the worker's).
 */
class PathWireup {
public:
    /** All outlive this.
     *  @param connect_ep streams are connected endpoint to endpoint */
    PathWireup(Connection &connection, Endpoints &endpoints, PathSet &paths,
               PathRecovery &recovery, PathRoom &room, const Rails &rails,
               Host &host, Pump &pump, bool connect_ep)
        : connection_(connection), endpoints_(endpoints), paths_(paths),
          recovery_(recovery), room_(room), host_(host), pump_(pump),
          connect_ep_(connect_ep),
          inbound_(connection, endpoints, rails, paths.table(),
                   connect_ep)
    {
    }
    PathWireup(const PathWireup &)            = delete;
    PathWireup &operator=(const PathWireup &) = delete;

    /** The path is wanted: begins to connect it unless that was done. True if it
     *  may carry data now. */
    bool connect(Path &path);

    /** Wireup of a path, ours or the peer's; both are untrusted. */
    void on_rail_address(const wire::RailAddr       &message,
                         const std::vector<uint8_t> &address);

    /** An endpoint is broken. False if it is of no path. */
    bool on_path_error(uct_ep_h ep, ucs_status_t status);

    /** Looks at queue pairs that connect. Not from a rail's callback; nor
     *  remove_left_out() and close(). */
    void advance();

    /** Some path is left out that remove_left_out() has not removed, or said. */
    bool leaves_out() const { return out_; }
    /** Has such paths rest, with a warning for each. */
    void remove_left_out();

    /** Our ends of the peer's paths. */
    InboundEndpoints &inbound() { return inbound_; }

    /** Destroys all endpoints; may end chunks. */
    void close();

private:
    /* A path that did not connect, of which the user has not heard. */
    struct LeftOut {
        Rail        *rail;
        std::string  remote;
        sched::Nanos say_at; /* unless the peer has gone by then */
    };

    bool ask(Path &path);
    void take_reply(const wire::RailAddr       &message,
                    const std::vector<uint8_t> &address);
    void leave_out(Path &path);
    void not_connected(Path &path, ucs_status_t status);

    Connection          &connection_;
    Endpoints           &endpoints_;
    PathSet             &paths_;
    PathRecovery        &recovery_;
    PathRoom            &room_;
    Host                &host_;
    Pump                &pump_;
    const bool           connect_ep_;
    InboundEndpoints     inbound_;
    std::vector<LeftOut> unsaid_;
    bool                 out_ = false; /* some path is, or such a one is here */
};

} // namespace fuselink

#endif
