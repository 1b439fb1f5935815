/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_REGISTRY_RELAY_REGISTRY_H
#define FUSELINK_REGISTRY_RELAY_REGISTRY_H

#include "../../../ucs_ext/processes.h"
#include "../../../ucs_ext/shared_segment.h"
#include "../sched/units.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fuselink {

/**
 * Where the processes of a user on a node lend each other their GPUs' links to
 * the host. Each agent has an entry with an offer: slots in its GPU's memory. Who
 * wants to use one takes it, moves data into it, or has it moved there, and posts
 * a job; the agent does it and says so.
 *
 * There is no lock. A slot is one word that says how far it is and whose, and
 * only who has it changes it; but for the agent, which clears what dead
 * processes have left, and for whoever wants the entry of a dead agent. All that
 * is read is hostile input and comes out bounded, but for keys and addresses of
 * memory, which only UCX understands. Knows nothing of GPUs.
 */
class RelayRegistry {
public:
    static constexpr uint32_t kEntries = 64;
    static constexpr uint32_t kSlots = 16; /* of an agent, at most */

    /** Who is of another PID namespace, so that his end cannot be seen, may
     *  lose his entry after so long without keep(), if there is no other. */
    static constexpr sched::Nanos kForgotten = sched::Nanos::seconds(60);

    /** What an agent offers. Plain data, for shared memory. */
    struct Offer {
        static constexpr uint32_t kMostKey = 256, kMostAddress = 64;

        uint64_t base = 0;      /* of its slots, in its own address space */
        uint32_t slot_size = 0;
        uint32_t slots = 0;
        uint32_t key_length = 0;     /* of its memory, for the copy there */
        uint32_t device_length = 0;  /* addresses for it */
        uint32_t iface_length = 0;
        uint8_t  key[kMostKey] = {};
        uint8_t  device[kMostAddress] = {};
        uint8_t  iface[kMostAddress] = {};
        uint8_t  gpu[16] = {};       /* its UUID */
        uint8_t  memory[64] = {};    /* by which CUDA maps it elsewhere, */
        uint32_t mappable = 0;       /* if that is there */
        uint32_t on_demand = 0;      /* no slot is there before demand() */
        /* Filled in by offer() and offer_of(). */
        uint64_t process = 0; /* the agent's */
        uint32_t number  = 0; /* of the offers at this entry */
    };

    /** Memory of the host that jobs of a process are about: a SharedSegment. */
    struct Host {
        uint64_t magic = 0;
        uint64_t size  = 0;
        bool operator==(const Host &) const = default;
    };

    /** A copy between a slot and the host memory of the process at an entry. */
    struct Job {
        uint64_t host_offset = 0;
        uint32_t length = 0;
        uint32_t entry = 0; /* whose; filled in by next() */
        bool     out = false; /* to the host */
        Host     host = {};   /* his memory; filled in by next() */
    };

    enum class State : uint8_t { Free, Taken, Posted, Running, Done, Failed };

    /** A slot of an offer. */
    struct SlotHandle {
        uint32_t entry;
        uint64_t process; /* the agent's */
        uint32_t number;  /* the offer's */
        uint32_t slot;
    };

    /** The registry of this user on this node, made if there is none. Those who
     *  understand each other's keys have the same `kind`. nullptr if shared
     *  memory cannot be had; `error` says why. */
    static std::shared_ptr<RelayRegistry> open(uint8_t kind, std::string &error);
    /** In memory of its own, for tests. `processes`, here and below, outlive
     *  it. */
    static std::shared_ptr<RelayRegistry>
    make_private(Processes &processes = Processes::real());

    /** The same registry, as another process of this program sees it. */
    std::shared_ptr<RelayRegistry> seen_by(Processes &processes) const;

    /** Those who may join. */
    Processes &processes() const { return processes_; }

    /* Everybody. */

    /** An entry for `me`, an agent or not; none if all are taken by the living. */
    std::optional<uint32_t> join(ProcessId me, const Host &host,
                                sched::Nanos now);
    /** Now and then, and before the entry is used: shows that this process lives.
     *  False if others took it for dead, and the entry is somebody else's. */
    [[nodiscard]] bool      keep(uint32_t entry, sched::Nanos now);
    void                    leave(uint32_t entry);
    /** Whose entry that is; none if it is nobody's. */
    std::optional<ProcessId> at(uint32_t entry) const;
    Host                     host_of(uint32_t entry) const;
    /** What they offer, if that makes sense. */
    std::optional<Offer>     offer_of(uint32_t entry) const;

    /* Who wants to use an agent; `mine` is his own entry. */

    /** Asks the agent at `entry` for the slots that it offers on demand. */
    void demand(uint32_t entry, sched::Nanos now);
    /** A free slot of what the agent at `entry` offers, if it still does. */
    std::optional<SlotHandle> take(uint32_t entry, const Offer &offer,
                                   uint32_t mine);
    void                 post(const SlotHandle &place, uint32_t mine,
                              const Job &job);
    /** NICs beside the agent's GPU have read so much from its slots, or written there. */
    void count_by_nics(uint32_t entry, bool out, uint64_t bytes)
    {
        this->entry(entry).by_nics[out].fetch_add(bytes, std::memory_order_relaxed);
    }
    /** How far it is. Failed as well if the slot is no longer ours. */
    State                look(const SlotHandle &place, uint32_t mine) const;
    /** Takes a posted job back. False if the agent has begun it. */
    bool                 revoke(const SlotHandle &place, uint32_t mine);
    /** Of any state but one that the agent is to change. */
    void                 give(const SlotHandle &place, uint32_t mine);

    /* An agent, at its own entry. */

    void offer(uint32_t entry, Offer offer);
    /** Its owner needs the GPU's link until then: others leave it alone. */
    void need(uint32_t entry, sched::Nanos until)
    {
        this->entry(entry).needed.store(until.count(),
                                      std::memory_order_relaxed);
    }
    sched::Nanos needed(uint32_t entry) const
    {
        return sched::Nanos(
            this->entry(entry).needed.load(std::memory_order_relaxed));
    }
    /** When somebody last wanted its slots; 0: nobody has. Any value. */
    sched::Nanos demanded(uint32_t entry) const
    {
        return sched::Nanos(
            this->entry(entry).demanded.load(std::memory_order_relaxed));
    }
    /** Offers nothing more; what was begun may end. */
    void withdraw(uint32_t entry);
    /** The oldest job that is posted, which is running then; of who still
     *  has the entry with which he posted it. `job` is bounded by nothing but its types. */
    bool next(uint32_t entry, uint32_t &slot, Job &job);
    void done(uint32_t entry, uint32_t slot, bool well);
    /** Frees slots of processes that are gone, but for those that run. True if
     *  all are free: behind withdraw() nobody uses the agent's memory then. */
    bool sweep(uint32_t entry);
    /** Returns when notify() was called after `heard`, or after so long. The new
     *  value for `heard`. */
    uint32_t wait(uint32_t entry, uint32_t heard, sched::Nanos most);
    void     notify(uint32_t entry);

    /** It has copied so much for others, out of its GPU or into it. */
    void count(uint32_t entry, bool out, uint64_t bytes)
    {
        auto &sum = this->entry(entry).copied[out]; /* which nobody else writes to */
        sum.store(sum.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
    }

    /* Who only looks. */

    /** Slots of an agent that one process has, by what they wait for. */
    struct Use {
        ProcessId who;
        unsigned  hopping = 0; /* for a copy between the GPUs, or he has just begun */
        unsigned  waiting = 0; /* for the agent */
        unsigned  copied  = 0; /* for the link to the host */
    };
    struct Lender {
        Offer            offer;  /* its agent's */
        bool             needed; /* its owner needs the link himself */
        uint64_t         out, in; /* bytes copied for others, of any value; */
        uint64_t         nics_out, nics_in; /* that NICs moved for them */
        std::vector<Use> uses;
    };

    /** The registries of this `kind` that this process may read: of its user, or of all. */
    static std::vector<std::shared_ptr<const RelayRegistry>> watch(uint8_t kind);
    /** Whose it is. */
    uid_t owner() const { return owner_; }
    /** What is lent at that entry, and to whom; none if nothing is. */
    std::optional<Lender> lender(uint32_t entry, sched::Nanos now) const;

    /** Raw, for the fuzzer: `size` bytes of nonsense from whoever. */
    void overwrite(size_t offset, const void *bytes, size_t size);

private:
    /* An Offer, word by word: it may be read while it is written. */
    using Words = std::atomic<uint64_t>[sizeof(Offer) / 8];
    static_assert(sizeof(Words) == sizeof(Offer));

    struct Slot {
        std::atomic<uint64_t> word; /* state, and who has taken it */
        std::atomic<uint64_t> order;
        std::atomic<uint64_t> host_offset;
        std::atomic<uint32_t> length;
        std::atomic<uint32_t> out;
    };
    struct Entry {
        std::atomic<uint64_t> process; /* 0: empty */
        std::atomic<uint32_t> offers;  /* so far, times 2; 0, odd: none now */
        std::atomic<uint32_t> notices;
        std::atomic<uint64_t> posted;
        std::atomic<int64_t>  needed, demanded, stamp;
        std::atomic<uint64_t> host_magic, host_size;
        std::atomic<uint64_t> copied[2]; /* for others: in, out; */
        std::atomic<uint64_t> by_nics[2]; /* the same, as they count it */
        Words                 offer;
        Slot                  slots[kSlots];
    };
    struct Segment {
        SharedSegment::Header header;
        Entry                 entries[kEntries];
    };

    explicit RelayRegistry(Processes &processes) : processes_(processes) {}

    Entry       &entry(uint32_t index) { return segment_->entries[index]; }
    const Entry &entry(uint32_t index) const { return segment_->entries[index]; }
    static void clear(Entry &entry);
    uint64_t    word_of(State state, uint32_t taker) const;
    bool        is_gone(uint64_t who) const;
    bool        is_free_for(uint32_t entry, uint64_t who,
                            sched::Nanos now) const;
    bool        is_taker(uint64_t who, uint64_t word) const;
    bool        taker_is_gone(uint64_t word) const;

    Processes                     &processes_;
    std::shared_ptr<SharedSegment> shared_;
    std::shared_ptr<Segment>       own_;
    Segment                       *segment_ = nullptr; /* read only, for who only looks */
    uid_t                          owner_ = 0;
};

} // namespace fuselink

#endif
