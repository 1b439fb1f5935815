/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_RAIL_H
#define FUSELINK_RAIL_RAIL_H

#include "../host/carrier.h"
#include "../host/network.h"
#include "../sched/nic.h"
#include "../watch/traffic.h"
#include "../wire/address.h"
#include "candidates.h"
#include "introduction.h"
#include "rail_health.h"
#include "uct_objects.h"
#include "traits.h"

#include <memory>

namespace fuselink {

class Poller;

/** One NIC port in use. Belongs to one interface, see Rails. */
class Rail {
public:
    /** Opens the rail's interface(s) on the worker in `params`. `network` tells
     *  its place and address. */
    static ucs_status_t open(const RailCandidate &candidate, uint8_t index,
                             Network &network, const UctIfaceParams &params,
                             std::unique_ptr<Rail> &rail);

    /** Has the rail polled from now on, until it is destroyed: only a rail
     *  that is going to be used. */
    ucs_status_t watch(Poller &poller);

    uint8_t           index() const { return index_; }
    const RailTraits &traits() const { return *traits_; }
    std::string       name() const { return control_->name(); }

    /** Whose address peers get, and on which they say hello. */
    UctIface &hello() const { return hello_ ? *hello_ : *control_; }
    /** Receives everything but hellos; sends messages. */
    UctIface &control() const { return *control_; }
    /** Sends bulk data. The same interface unless the rail is a stream. */
    UctIface &bulk() const { return bulk_ ? *bulk_ : *control_; }

    unsigned poll_index() const { return poll_control_; }
    unsigned poll_bulk_index() const { return poll_bulk_; }
    unsigned poll_hello_index() const { return poll_hello_; }

    /** Endpoints are queue pairs that both sides connect by name. */
    bool by_ep() const { return hello_ != nullptr; }
    /** The slot of its memory domain in NicMemory, if it needs keys. */
    unsigned memory() const { return memory_; }
    /** Bulk data goes by messages: the rail has no put that would do. */
    bool by_messages() const { return !traits_->put_completes_remotely; }
    /** The NIC reads the peer's memory itself. */
    bool reads() const { return traits_->needs_keys; }

    /** Reported speed times weight, bytes per second. */
    double speed() const { return speed_; }
    /** Not known to be on another socket than this process. */
    bool   near() const { return near_; }
    /** A NIC on another socket reads memory through the link between the two: a
     *  microsecond more for the first bytes, as good as nothing for a chunk. So
     *  it decides only where the rails are equal otherwise. */
    sched::Nanos far_overhead() const { return sched::Nanos(near_ ? 0 : 1000); }
    /** After so long its NIC sends again what was not acknowledged. 0: no NIC does, or
     *  it is the only one or the user has said how it tries: then it alone tells when
     *  it gives up. */
    sched::Nanos retry_time() const { return retry_time_; }
    /** Whether its interface has a link, and its address. One that was taken away and
     *  is back has another number. */
    bool   look_at(const Carrier &carrier);
    /** Hosts that look for this rail are told where it is (net::introduce()), when it is
     *  time for that. From progress, now and then. */
    void   introduce(Network &network, sched::Nanos now);
    /** It is a port of an RDMA device, of which nobody tells: look_at() asks. */
    bool   is_port() const { return !traits_->stream; }

    /** The rail as peers are told of it. */
    wire::RailRecord record() const;

    /** How the kernel gets to a rail of a peer; the same for all of our
     *  rails: Rails::route_to(). */
    struct Route {
        int  ifindex = 0;      /* 0: unknown, or no IP address is involved */
        bool loopback = false; /* does not leave this network namespace */
        bool astray = false;   /* but should: the address is also ours */
    };
    /** Is the peer's rail of our transport, with an address that this rail
     *  can be given? */
    bool speaks_with(const wire::RailRecord &remote) const;

    /** Can bulk data go from here to the peer's rail? `route` is
     *  Rails::route_to() of it. */
    bool reaches(const wire::RailRecord &remote, const Route &route) const;

    unsigned qps = 0; /* endpoints by_ep() that exist */
    bool     standby = false; /* rests while others reach the peer */
    bool     said_silent = false; /* that some peer has not answered here */
    bool     carrier = true; /* not known to have none */

    /** As the scheduler sees it: the bulk data of this process on it, and what
     *  others have there. LoadView keeps it up to date. */
    sched::Nic       nic{sched::Rate(), false};
    Traffic          traffic;
    RailHealth       health;
    Introduction     introduction;

    /** What only LoadView and the receiver's view need. */
    struct Load {
        int          number = -1; /* on the load board; -1: not there */
        sched::Bytes inbound;     /* on its way to other processes, */
        uint32_t     inbound_sharers = 0; /* which are so many */
        /* Whose it is, by what comes in to others. */
        sched::PathView::Standing inbound_standing = sched::PathView::Standing::Free;
    };
    Load load;

private:
    Rail() = default;

    bool         suitable() const;

    uint8_t                     index_  = 0;
    const RailTraits           *traits_ = nullptr;
    std::unique_ptr<UctIface> control_;
    std::unique_ptr<UctIface> bulk_;  /* if not control_ */
    std::unique_ptr<UctIface> hello_; /* if not control_ */
    unsigned                    memory_ = RailCandidate::kNoMemory;
    unsigned                    poll_control_ = 0;
    unsigned                    poll_bulk_    = 0;
    unsigned                    poll_hello_   = 0;
    double                      speed_   = 0;
    bool                        near_    = true;
    sched::Nanos                retry_time_;
    int                         ifindex_ = 0;
    wire::NetAddress            net_;
};

} // namespace fuselink

#endif
