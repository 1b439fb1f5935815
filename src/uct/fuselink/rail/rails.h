/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_RAILS_H
#define FUSELINK_RAIL_RAILS_H

#include "../config/device_list.h"
#include "../host/host.h"
#include "../ucx.h"
#include "../wire/address.h"
#include "candidates.h"
#include "lanes.h"
#include "left_out.h"
#include "poller.h"
#include "rail.h"
#include "routes.h"
#include "wires.h"

#include <functional>
#include <memory>
#include <vector>

namespace fuselink {

/**
 * The rails of one interface: which of the candidates are opened, how peers are
 * told of them, and whether they reach a peer at all.
 *
 * Belongs to the worker's thread.
 */
class Rails {
public:
    using List = std::vector<std::unique_ptr<Rail>>;

    struct Settings {
        size_t     rx_headroom = 0;     /* bytes before a message */
        DeviceList standby;             /* rest while others reach a peer */
        bool       standby_none = true;
    };

    /** The rails' interfaces are polled by `poller`, and `lanes` hear of what
     *  fails there; both outlive this. */
    Rails(Host &host, Poller &poller, Lanes &lanes);
    Rails(const Rails &)            = delete;
    Rails &operator=(const Rails &) = delete;

    /** Opens a rail for each candidate that works; `prepare` is called for each
     *  before it is polled, and may refuse it. Fails with one line if there is
     *  none. */
    ucs_status_t
    open(const Settings &settings, const std::vector<RailCandidate> &candidates,
         uct_worker_h worker, const uct_iface_params_t *params,
         const std::function<ucs_status_t(Rail &)> &prepare);

    /** One that has come later: the last of the list from now on, if it can be a rail.
     *  nullptr: it is none, now or (is_settled()) for good. From progress. */
    Rail *add(const RailCandidate &candidate);
    /** It is a rail, or was left out for good. */
    bool  is_settled(const std::string &device) const;

    const List            &list() const { return rails_; }
    /** The rails as peers are told of them, with this interface's identity. */
    const wire::RailTable &table() const { return table_; }
    uint64_t               uuid() const { return table_.uuid; }
    /** What is known of those between these rails and those of peers. */
    Wires                 &wires() { return wires_; }
    const Wires           &wires() const { return wires_; }
    /** Those whose NIC has no link, a bit each. */
    uint16_t               without_link() const;
    /** Candidates that are no rails. */
    const LeftOuts        &left_out() const { return left_out_; }

    /** Something has waited for a while on a port of an RDMA device, here or at a peer:
     *  ports are to be asked whether they have a link. */
    void suspect_ports() { suspected_ = true; }
    /** It is time to ask them: that was so, or one has none. */
    bool take_ports_due(sched::Nanos now);

    /** The longest message that every rail's control lane takes, bytes. */
    size_t max_message() const;
    /** The longest put that goes as a message, bytes. */
    size_t max_put_bcopy() const;

    /** How the kernel gets to a rail of the interface `peer`. Some ten system calls, unless
     *  that was asked just now. */
    Rail::Route route_to(const wire::RailRecord &remote, uint64_t peer) const;
    /** A link of this host has changed. */
    void forget_routes() { routes_.forget(); }

    /** True if some rail can carry messages to a peer with this address. */
    bool reaches(const wire::RailTable &address) const;

    /** Says, at the first peer that has more or fewer rails than this process,
     *  that it has: most likely a NIC is down. Not if the user named our rails. */
    void compare(const wire::RailTable &theirs);

private:
    /* UCT's error handler of all rails. */
    static ucs_status_t on_error(void *arg, uct_ep_h ep, ucs_status_t status);
    bool is_reset(uct_ep_h ep) const;
    bool adds_little(const Rail &rail) const;
    bool may_lock(const RailCandidate &candidate, size_t rails);
    void name_unlocked(size_t rails) const;
    void leave_out(const RailCandidate &candidate, const std::string &why,
                   bool for_good = true);
    bool has_address_of(const Rail &rail) const;
    std::unique_ptr<Rail> open_one(const RailCandidate &candidate, size_t message);
    std::vector<RailCandidate> candidates_in_use() const;
    Rail *enlist(std::unique_ptr<Rail> rail);
    void warn_apart(const wire::RailTable &address) const;

    Host            &host_;
    Poller          &poller_;
    Lanes           &lanes_;
    Settings         settings_;
    uct_iface_params_t user_{}; /* of fuselink's own open */
    UctIfaceParams   lower_;
    std::function<ucs_status_t(Rail &)> prepare_;
    List             rails_;
    Wires            wires_;
    mutable Routes   routes_; /* remembers */
    wire::RailTable  table_;
    LeftOuts         left_out_;
    std::string      unlocked_; /* left out for lack of locked memory */
    mutable bool     said_apart_ = false;
    bool             said_uneven_ = false; /* or is not to be said */
    bool             suspected_   = false; /* ports */
    sched::Nanos     ask_ports_at_, port_pause_;
};

} // namespace fuselink

#endif
