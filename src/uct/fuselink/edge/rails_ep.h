/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_RAILS_EP_H
#define FUSELINK_EDGE_RAILS_EP_H

#include "../engine/turns.h"
#include "../peer/peer.h"
#include "../ucx.h"
#include "met_by_socket.h"

namespace fuselink {

/** An endpoint of the `rails` device: a user's handle on a Peer. */
class RailsEp : public uct_base_ep_t {
public:
    /* Fills in the endpoint operations. */
    static void set_ops(uct_iface_ops_t &ops);

private:
    RailsEp() = default;

    /* A call of the program's, on an endpoint. */
    class Call {
    public:
        explicit Call(uct_ep_h ep) : ep_(from(ep)), turn_(*ep_.turns_) {}
        Peer     *operator->() const { return ep_.peer_; }
        PeerUser &user() const { return ep_.user_; }

    private:
        RailsEp         &ep_;
        const Turns::Own turn_;
    };

    static RailsEp &from(uct_ep_h ep)
    {
        return *static_cast<RailsEp *>(reinterpret_cast<uct_base_ep_t *>(ep));
    }
    static ucs_status_t create(const uct_ep_params_t *params, uct_ep_h *ep);
    static void         destroy(uct_ep_h ep);
    static ucs_status_t flush(uct_ep_h ep, unsigned flags, uct_completion_t *comp);

    Peer        *peer_  = nullptr;
    Turns       *turns_ = nullptr;
    MetBySocket *met_   = nullptr; /* if it counts there */
    PeerUser     user_;
};

} // namespace fuselink

#endif
