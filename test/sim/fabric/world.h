/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_FABRIC_WORLD_H
#define FUSELINK_TEST_SIM_FABRIC_WORLD_H

#include "../world/journal.h"
#include "../world/random.h"
#include "../world/timeline.h"
#include "nic.h"
#include "process.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace fuselink::sim {

class DatagramEp;
class SimCarrier;
class SimIface;
struct QueuePair;
struct Stream;

/** What a run has gone through; see names() for the words. */
enum class Count : unsigned {
    Messages, Puts, Gets, Fences, Flushes, Cancels, /* of the users */
    Streams, TakenOver, Crossed, EpsToEps, QueuePairs, /* connections */
    Refused, Resets, QpErrors, Silences, GaveUp, NoResource, NoMemory,
    Stops, Waits, Deaths, Leaves, EpsClosed, PeersFailed, /* ends */
    OpsFailed, BadKeys, Slept,
    PathsBroken, PathsMended, LanesFailed, LanesMoved, Unheard, Warnings, /* said by fuselink */
    NoticesHeld, NoticesSilenced, SilentAgain, BrokenAgain, BrokenOwn, BrokenNew, Lags, LagsLeft, HeldBack, PutsAgain, DatagramErrors, QuickPuts, /* at a moment */
    Kept, FromEnds, /* messages: kept by users, sent from completions, */
    MessagesWrite,  /* with which the peer's program writes, */
    Aside,          /* over a path of bulk data */
    GpuMessages, GpuPuts, GpuGets, /* from or to memory of a GPU */
    CopiesOut, CopiesIn, CopiesShort, CopiesBetween, AgentRounds, CopiesFailed, /* of GPUs */
    SlotPuts, DirectPuts, /* pieces that NICs write to slots, and to GPUs */
    NearReads, NearWrites, /* that they read from slots of other processes' GPUs, and write there */
    Unplugged, /* cables */
    LateBytes, LateReceived, /* over NICs that had no cable at the start */
    Introduced, /* NICs to hosts that asked for them after that */
    PortsDown, /* answers of RDMA NICs that say so */
    OutlivedLoss, /* operations, of a NIC; */
    OutlivedAll,  /* and of all of a node's; */
    AnsweredSoon, /* of the first, those that were to end soon */
    LostUnread, /* what had come: its reader wrote first, to a connection that was over */
    Rests, /* runs at whose end somebody is not looked at */
    StreamsEnded, EndedFrom, /* at once, by their own processes */
    Heavy, LoadAsks, LoadGrants, LoadOthers, RailsKept, /* runs with long puts; what is asked of
                                                and said by their receivers */
    Traced, Reports, /* chunks in traces; runs with a report */
    BytesResent, /* because a path broke, as rails say */
    CallsHeld, /* rounds in which a program that computed had something to be called for */
    Resting, /* connections with which nothing is under way, each time that is looked at */
    BytesDropped, /* of operations whose endpoint was closed in front of their end */
    Eager, Rendezvous, RendezvousGets, RendezvousPuts, /* messages of UCP's protocols */
    Atomics, Wildcards, Keepalives, Failovers, /* of UCP's users; the last with a
                                                  rendezvous open */
    Revoked, KeysEnded, CheckedPuts, /* by their owners; operations that end for that; puts
                                        whose owner looks at the key */
    Allowed, /* runs that end as README.md says they may */
    kCount
};

const char *name_of(Count count);

/** How the simulated kernels and NICs behave in one run. */
struct Profile {
    bool     ip = true;   /* stream NICs */
    bool     rdma = false;
    bool     queue_pairs = true; /* else datagrams only */
    size_t   stream_message = 8192;  /* longest message, bytes */
    size_t   send_buffer = 64 << 10;
    size_t   receive_buffer = 64 << 10;
    size_t   segment = 4096;     /* of bulk data on a wire */
    bool     resolves = false; /* hosts that are not found are unreachable, after 3 s */
    bool     down = false; /* NICs without a cable are set so: they refuse at once */
    Instant  patience = 4 * kSecond; /* of connections, in silence, */
    Instant  nic_patience = kSecond; /* and of those that a NIC keeps */
    Instant  send_again = 200 * kMillisecond;
    Instant  tail_probe = 0; /* the last of several is sent again so soon, once, and is no
                                time-out (Linux, tcp_send_loss_probe()); 0: it is not */
    unsigned most_doubles = 3;  /* of that, from loss to loss */
    Instant  late_answer = 0; /* what comes alone, or is not read, may be acknowledged so
                                 much later */
    Instant  keepalive  = 20 * kSecond; /* an end is known without a word by then */
    unsigned short_put = 64, short_message = 64; /* bytes */
    size_t   datagram = 1024;
    size_t   rdma_message = 8192;
    unsigned work_queue = 16;    /* operations of a queue pair */
    unsigned storm = 0;          /* percent of calls that find no room */
    bool     quick_puts = false; /* some of RDMA NICs end in the call */
    bool     deaf_events = false; /* arming forgets what is there */
    bool     reaches_gpus = false; /* RDMA NICs read and write their memory */
};

/**
 * Everything that is not a program: time, NICs, kernels, processes. One thread; all
 * that is simulated runs in it, by turns.
 */
class World {
public:
    World(uint64_t seed, const Profile &profile);
    ~World();

    Timeline      &time() { return time_; }
    Journal       &journal() { return journal_; }
    const Profile &profile() const { return profile_; }
    uint64_t       seed() const { return seed_; }
    /** Of the network, not of the programs. */
    Random        &chance() { return chance_; }

    /** A program has done something that takes so long. */
    void spend(Instant least, Instant most)
    {
        time_.pass(static_cast<Instant>(
            costs_.between(static_cast<uint64_t>(least),
                           static_cast<uint64_t>(most))));
    }

    void count(Count what, uint64_t n = 1)
    {
        counts_[static_cast<size_t>(what)] += n;
    }
    const std::array<uint64_t, static_cast<size_t>(Count::kCount)> &counts() const { return counts_; }

    /* --- what there is --- */

    unsigned add_node(unsigned nics);
    Process &add_process(unsigned node, size_t arena, size_t gpu);

    std::vector<Nic>                      &nics(unsigned node) { return nodes_[node]; }
    /** No NIC of the node carries both ways now. */
    bool is_cut_off(unsigned node) const
    {
        return std::none_of(nodes_[node].begin(), nodes_[node].end(),
                            [](const Nic &nic) { return nic.sends() && nic.hears() && nic.seeks == 0; });
    }
    size_t                                 nodes() const { return nodes_.size(); }
    std::vector<std::unique_ptr<Process>> &processes() { return processes_; }

    /** The process is no more; its kernel closes what it had. */
    void      kill(Process &process);

    uint32_t  add_iface(SimIface &iface);
    void      remove_iface(uint32_t id)
    {
        ifaces_.erase(id);
        removed_[id] = time_.now();
    }
    SimIface *find_iface(uint32_t id) const;
    /** A message of this interface's, of process `from`, has come to the process. */
    void      note_heard(uint32_t iface, unsigned from, unsigned process)
    {
        heard_[{iface, process}] = {from, time_.now()};
    }
    /** The process loses what `from` has sent it, perhaps its last word. */
    void      note_missed(unsigned from, unsigned process)
    {
        std::erase_if(heard_, [&](const auto &heard) {
            return heard.first.second == process && heard.second.from == from;
        });
    }
    /** One has. Not while the process goes by what it has just read, or has not looked
     *  since the interface is gone, with more of it to be read yet. */
    bool      has_heard(uint32_t iface, unsigned process) const;

    uint32_t   add_queue_pair(std::shared_ptr<QueuePair> pair); /* its number */
    void       remove_queue_pair(uint32_t number) { pairs_.erase(number); }
    std::shared_ptr<QueuePair> find_queue_pair(uint32_t number) const;

    /** Connections that exist, in the order in which they were made. */
    std::vector<std::shared_ptr<Stream>> &streams() { return streams_; }
    const std::map<uint32_t, std::shared_ptr<QueuePair>> &queue_pairs() const { return pairs_; }

    /** Its cable is pulled, or plugged in again: who listens is told. */
    void plug(Nic &nic, bool plugged);
    /** The hosts of its network hear where it is, if it carries. */
    void introduce(const Nic &nic);
    /** Who listens. */
    std::vector<SimCarrier *> &carriers() { return carriers_; }

    /** Those that there are. */
    std::vector<DatagramEp *> &datagrams() { return datagrams_; }

    /** The first NIC fell silent; 0: none has. */
    Instant lost_at = 0;
    /** The last that did spoke again. */
    Instant back_at = 0;

    /** So many queue pairs that are connected from now on break with the first write. */
    unsigned breaks_new = 0;
    /** So many bulk connections that are made in place of one that broke break, too,
     *  after so many bytes. */
    unsigned breaks_again = 0;
    size_t   again_after  = 0;
    /** A queue pair did, last. */
    Instant  broke_at     = 0;

    /** So many notices of bulk connections from now on one is held back, until what
     *  it tells of is acknowledged, and then its connection breaks. */
    unsigned notice_to_hold = 0;
    /** Not 0: instead its NIC falls silent, for so long. */
    Instant  silence_of_notice = 0;
    /** Not 0: when a connection of bulk data has a put its NIC falls silent for so long;
     *  and once more when one has that is in place of one that its process has ended. */
    Instant  silence_of_put = 0, silence_again = 0;
    /** This one. */
    bool holds_notice()
    {
        return notice_to_hold != 0 && --notice_to_hold == 0;
    }

    /** Something has happened for which a lane of messages may fail. */
    bool lanes_may_fail = false;
    /** Something has happened after which operations may never end, as yet: which
     *  row of README.md's "What may be". Null: nothing. */
    const char *may_hang = nullptr;
    /** Nobody has run for longer than connections bear. */
    bool stalled = false;
    /** Nothing happens of which fuselink could warn. */
    bool is_fair = false;
    /** No program goes before it has done all, or fails. */
    bool ends_well = false;

    /** Who reads along: what has come for the handler of that number, before it
     *  is called. */
    std::function<void(Process &at, uint8_t id, const uint8_t *data, size_t length)>
        on_message;

    /** Called when fuselink says that data or messages go on over other NICs. */
    std::function<void()> on_failover;
    /** Called for warnings that are not fuselink's. */
    std::function<void(const std::string &line)> on_foreign_warning;

    /** The process whose memory domains are being opened. */
    Process *opening = nullptr;
    /** The process whose program runs just now. */
    unsigned running = 0;

    /** A call on a transport that is to find no room, though there is. */
    bool storms(Process &process)
    {
        if (profile_.storm == 0 || !process.chance().percent(profile_.storm)) {
            return false;
        }
        count(Count::NoResource);
        return true;
    }

    /** That of this thread. */
    static World *current;

private:
    void seek(Nic &nic);

    const uint64_t  seed_;
    const Profile   profile_;
    Timeline        time_;
    Journal         journal_{time_};
    Random          chance_, costs_;
    std::array<uint64_t, static_cast<size_t>(Count::kCount)> counts_{};
    std::vector<std::vector<Nic>>          nodes_;
    std::vector<std::unique_ptr<Process>>  processes_;
    std::map<uint32_t, SimIface *> ifaces_;
    std::map<uint32_t, Instant>    removed_;
    struct Heard {
        unsigned from; /* process */
        Instant  at;
    };
    std::map<std::pair<uint32_t, unsigned>, Heard> heard_;
    std::map<uint32_t, std::shared_ptr<QueuePair>> pairs_;
    std::vector<std::shared_ptr<Stream>>           streams_;
    std::vector<DatagramEp *>                      datagrams_;
    std::vector<SimCarrier *>                      carriers_;
    uint32_t last_iface_ = 0, last_pair_ = 0;
};

} // namespace fuselink::sim

#endif
