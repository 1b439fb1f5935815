/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_SCENARIO_H
#define FUSELINK_TEST_SIM_HARNESS_SCENARIO_H

#include "../fabric/world.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace fuselink::sim {

/** Which NICs there are. */
enum class Wires : uint8_t { Tcp, Rc, Ud, Mixed };

const char *name_of(Wires wires);
bool        parse(const std::string &text, Wires &wires);

/** What a program does next. */
struct Action {
    enum class Kind : uint8_t {
        AmShort, AmBcopy, AmZcopy, PutShort, PutBcopy, PutZcopy, PutOver,
        GetBcopy, GetZcopy, GetBack, Fence, FenceIface, Flush, FlushIface,
        Cancel, CloseEp, Compute, Sleep, Leave, Revoke,
        Wait /* until all has ended, and a while; it looks all the time */
    };

    unsigned number = 0; /* of those of the run, faults too */
    Kind     kind   = Kind::AmShort;
    unsigned peer   = 0;
    unsigned slot   = 0; /* which of its endpoints to that peer */
    size_t   length = 0;
    uint64_t seed   = 0;
    uint8_t  am_id  = 1;
    bool     queue  = false;      /* waits in the endpoint's queue for room */
    bool     own_region = false;  /* registers the memory for this alone */
    bool     from_gpu = false;    /* its own memory is a GPU's, if there is one */
    bool     to_gpu = false;      /* and so is the peer's */
    bool     goes_on = false;     /* sends a message when it is told of its end */
    bool     writes = false;      /* a message that has the peer's program write its
                                     bytes to memory there, as atomics of UCP's do */
    bool     copied = false;      /* PutOver by put_bcopy, if they are few enough */
    bool     revocable = false;   /* a put or get by the key that the peer may end */
    Instant  time   = 0;
};

const char *name_of(Action::Kind kind);

inline bool is_operation(Action::Kind kind)
{
    return kind <= Action::Kind::GetBack || kind == Action::Kind::Flush ||
           kind == Action::Kind::Cancel;
}

inline bool is_message(Action::Kind kind)
{
    return kind <= Action::Kind::AmZcopy;
}

inline bool is_flush(Action::Kind kind)
{
    return kind == Action::Kind::Flush || kind == Action::Kind::Cancel;
}

/* What is short, or copied at once, is in memory of the host. */
inline bool may_be_on_gpu(Action::Kind kind)
{
    using Kind = Action::Kind;
    return kind == Kind::AmZcopy || kind == Kind::PutZcopy || kind == Kind::PutOver ||
           kind == Kind::GetZcopy || kind == Kind::GetBack;
}

inline bool is_put(Action::Kind kind)
{
    return kind >= Action::Kind::PutShort && kind <= Action::Kind::PutOver;
}

inline bool is_get(Action::Kind kind)
{
    return kind >= Action::Kind::GetBcopy && kind <= Action::Kind::GetBack;
}

/** What happens to programs, by itself. */
struct Fault {
    enum class Kind : uint8_t {
        Mute, Deaf, Silent, Slow, Jitter, /* a NIC, for a while */
        BreakBulk, BreakAny,   /* a connection, after so many bytes */
        Stop, Kill,            /* a process; the first for a while */
        NoRegistration, FewSockets, FewQueuePairs,
        SlowCopies, NoCopy,    /* of a GPU; the first for a while */
        /* Bulk connections, at a moment: what was put is acknowledged, what tells of
         * it is not sent; what was sent comes late, behind what is sent again; a path
         * of datagrams. */
        BreakNotice, BreakHeld, BreakDatagrams,
        Unplug,                /* a NIC's cable, for a while */
        SilentNotice,          /* as BreakNotice, but the NIC falls silent */
        BreakLane,             /* a queue pair for messages, with puts or gets on it */
        SilentAgain,           /* a NIC, when it has a put, and once more when the
                                  connection that was ended for it is made anew */
        LagPair,               /* a process's queue pair for bulk data: its NIC gets
                                  through late, while others on the same wire work */
        Late,                  /* a NIC has no cable at the start, until then */
        BreakOwn               /* a process's queue pairs for bulk data, one after the
                                  other, so many in all: its NIC says so. If there is a
                                  time, the next one breaks with its first write, too */
    };

    unsigned number  = 0;
    Kind     kind    = Kind::Mute;
    Instant  when    = 0;
    Instant  time    = 0;
    unsigned process = 0; /* or its node's */
    unsigned nic     = 0;
    uint64_t amount  = 0;
};

const char *name_of(Fault::Kind kind);

/** All of a run that is decided before it begins. */
struct Scenario {
    uint64_t    seed = 0;
    Wires       wires = Wires::Tcp;
    Profile     profile;
    unsigned    nodes = 2, processes = 2, nics = 2;
    std::vector<double>  rates;  /* by NIC, of all nodes */
    std::vector<Instant> delays;
    unsigned    slots = 1;       /* endpoints to each peer */
    size_t      arena = 0, library = 0; /* bytes; what gets read is in front */
    /* GPUs, by process: copies per second, bytes; 0: it has none. The same arena and
     * library are in its memory. */
    std::vector<double>  copy_rates;
    std::vector<Instant> copy_delays;
    /* Settings of fuselink. */
    std::string policy, min_chunk, chunk_time, inline_get;
    std::string gpu_chunk, relay_memory;
    std::string gpu_direct = "n";
    std::vector<uint32_t> gpu_near; /* by process: NICs that are near its GPU, a bit for each */
    bool        relays = false; /* over other processes' GPUs */
    bool        connect_ep = false; /* paths over TCP, endpoint to endpoint */
    bool        board = true;
    unsigned    jobs = 1; /* that share the nodes: their NICs have owners, to the others */
    std::string spread = "auto"; /* messages, over several NICs */
    bool        to_one = false; /* the others have to do with process 0 alone */
    bool        keeps = false; /* messages, to release them later */
    bool        keeps_failed = false; /* endpoints, until it ends */
    bool        fair = false; /* nothing happens of which one could warn */
    bool        leaves_in_order = false; /* at the end, one after the other */
    /* Before all is calm, as from a job whose last messages have just arrived: what the
     * library itself tells its peers then may meet one that has gone. */
    bool        leaves_at_once = false;
    bool        breaks_again = false; /* the only path, when it is back */
    bool        loses_nic = false; /* one of several, and no other fault */
    bool        loses_all = false; /* NICs of a node, which are silent for a while */
    Instant     answers_from = 0; /* one program only answers the other, and soon; 0: not so */
    bool        crowded = false; /* processes have no processor for much of the time */
    bool        lags = false; /* queue pairs do, and nothing else happens */
    bool        none_reaches = false; /* of a node's NICs, for a while */
    bool        rests = false; /* at the end one is not looked at until others flush */
    bool        heavy = false;   /* some puts are so long that receivers are asked */
    bool        revocable = false; /* there are keys that may end, and a library for them
                                      behind the other one */
    bool        traces = false, reports = false; /* for people */
    bool        deputies = false; /* data moves while a program computes */

    std::vector<std::vector<Action>> scripts; /* by process */
    std::vector<Fault>               faults;

    unsigned node_of(unsigned process) const { return process % nodes; }
    unsigned job_of(unsigned process) const { return process / nodes % jobs; }
    /** Some NICs are left to others of the node while those use them. */
    bool     has_owners() const { return board && (jobs > 1 || policy == "idle"); }
};

/** What to leave out of what a seed gives, by number. */
struct Cuts {
    std::set<unsigned> left_out;
    unsigned           nics = 0; /* of each node; 0: as drawn */
    bool               deputies = false; /* each program has one */
};

Scenario draw(uint64_t seed, Wires wires, const Cuts &cuts);

} // namespace fuselink::sim

#endif
