/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_UCP_PLAN_H
#define FUSELINK_TEST_SIM_UCP_PLAN_H

#include "../harness/scenario.h"

#include <map>

namespace fuselink::sim {

/** How a message is received: by its whole tag; by any of its sender's; by anybody's. */
enum class TagClass : uint8_t { Exact = 1, OfPeer = 2, OfAny = 3 };

/** What a program does next with UCP. */
struct UcpAction {
    enum class Kind : uint8_t {
        TagSend, TagSync, TagReceive, AmSend, Put, Get, Add, FetchAdd, Swap,
        FlushEp, FlushWorker, CloseEp, Compute, Sleep,
        /* Not of scripts: what others and the end of a run lead to. */
        AmReceive, Close
    };

    unsigned number = 0; /* of those of the run; a message's two have one */
    Kind     kind   = Kind::TagSend;
    unsigned peer   = 0;
    unsigned slot   = 0;        /* which of its endpoints to that peer */
    TagClass tags   = TagClass::Exact;
    size_t   length = 0;        /* of a receive: its room */
    size_t   at = 0, to = 0;    /* in its own arena, and in the peer's */
    uint64_t seed   = 0;
    unsigned flags  = 0;        /* of a message's sender, for UCP */
    bool     waits  = false;    /* for its peer's word, even where it need not */
    Instant  time   = 0;
};

const char *name_of(UcpAction::Kind kind);

/** A message of either kind, tagged or active. */
struct UcpMessage {
    unsigned from = 0, to = 0;
    size_t   length = 0;
    size_t   at     = 0; /* where its receiver puts it: active ones */
    uint64_t seed   = 0;
    TagClass tags   = TagClass::Exact;
};

/* In front of an arena: counters, cells for swaps, then what is read, at kLibraryAt. */
inline constexpr unsigned kCounters = 4, kCells = 2;
inline constexpr size_t   kCountersAt = 0, kCellsAt = 64, kLibraryAt = 4096,
                          kLibrary = 256 << 10;

/** All of a run of programs on UCP that is decided before it begins. */
struct UcpPlan {
    Scenario    base; /* NICs, settings of fuselink, faults; its scripts are empty */
    /* Settings of UCP. */
    bool        new_engine = false; /* UCX_PROTO_ENABLE */
    std::string rendezvous_from, rendezvous_by, copy_to;
    size_t      rendezvous_least = SIZE_MAX; /* the former, if it is a number */
    bool        handles_errors = false;      /* UCP_ERR_HANDLING_MODE_PEER */
    bool        sleeps = false;              /* UCP_FEATURE_WAKEUP */
    bool        late = false;       /* endpoints are made when they are wanted */
    bool        leaves_early = false; /* one goes while others still have endpoints */
    Instant     keepalive = 0;

    std::vector<std::vector<UcpAction>> scripts; /* by process */
    std::map<unsigned, UcpMessage>      messages; /* that are sent, by number */
};

UcpPlan draw_ucp(uint64_t seed, Wires wires, const Cuts &cuts);

} // namespace fuselink::sim

#endif
