/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_ENGINE_AM_DISPATCH_H
#define FUSELINK_ENGINE_AM_DISPATCH_H

#include "../host/host.h"
#include "../load/load_view.h"
#include "../rail/rails.h"
#include "../rma/get_table.h"
#include "../ucx.h"
#include "peer_table.h"
#include "turns.h"
#include "watching.h"

#include <deque>

namespace fuselink {

/**
 * What comes in on the rails as active messages, and who gets it: the user's own
 * go to the user's handlers, fuselink's to the peer that they are from. All of it
 * is untrusted; what is malformed is dropped here.
 *
 * One thread at a time (the worker's).
 */
class AmDispatch {
public:
    /** `owner` is the interface whose handlers get the user's messages;
     *  `rx_headroom` bytes before each are the user's. What is referred to
     *  outlives the rails. */
    AmDispatch(const Host &host, uct_base_iface_t &owner, size_t rx_headroom,
               const Rails &rails, PeerTable &peers, GetTable &gets,
               LoadView &loads, UserCalls &calls, Turns &turns,
               const Watching &watching);
    AmDispatch(const AmDispatch &)            = delete;
    AmDispatch &operator=(const AmDispatch &) = delete;

    /** Receives what comes on this rail from now on. */
    ucs_status_t receive(Rail &rail);

private:
    /* What a handler is called with. */
    struct Port {
        AmDispatch *dispatch;
        Rail       *rail;
    };

    static ucs_status_t on_unknown(void *arg, void *data, size_t length,
                                   unsigned flags);
    static ucs_status_t on_user(void *arg, void *data, size_t length,
                                unsigned flags);
    static ucs_status_t on_control(void *arg, void *data, size_t length,
                                   unsigned flags);
    static ucs_status_t on_chunk(void *arg, void *data, size_t length,
                                 unsigned flags);
    static ucs_status_t on_data(void *arg, void *data, size_t length,
                                unsigned flags);
    template <typename Header>
    static void release_desc(uct_recv_desc_t *self, void *desc);

    void         deliver_held(Peer &peer);
    ucs_status_t on_user_message(Peer &peer, void *data, size_t length,
                                 unsigned flags);
    template <typename Header>
    ucs_status_t deliver(uint8_t am_id, void *data, size_t length,
                         unsigned flags);
    void note_landed(Rail &rail, uint64_t peer, uint64_t length);

    const Host       &host_;
    uct_base_iface_t &owner_;
    const size_t      rx_headroom_;
    const Rails      &rails_;
    PeerTable        &peers_;
    GetTable         &gets_;
    LoadView         &loads_;
    UserCalls        &calls_;
    const Watching   &watching_;
    std::deque<Port>  ports_; /* stay where they are */

    /* Stand in front of the user's headroom of messages that the user keeps (see
     * deliver()), by the header in front of them. Stay where they are: descriptors
     * point to them. */
    struct Release {
        uct_recv_desc_t desc; /* first: UCX calls with a pointer to it */
        Turns          *turns;
    };
    Release release_desc_[2]{};
};

} // namespace fuselink

#endif
