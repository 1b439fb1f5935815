/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_WIRES_H
#define FUSELINK_RAIL_WIRES_H

#include "../../../ucs_ext/board_wires.h"
#include "../sched/slack.h"
#include "../sched/units.h"
#include "../sched/wire_evidence.h"
#include "../ucx.h"
#include "../wire/address.h"
#include "rail.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace fuselink {

/** What lies between one of our NICs and one of another host. */
struct Wire {
    sched::WireEvidence evidence;
    bool                changed = false; /* and nobody has been told */
    BoardWires::Place   place   = 0;     /* on the board */
    sched::Nanos        sent_at;         /* by a connection that waits for an answer, at
                                            the latest that is known */
    sched::Nanos        shared;          /* others know of what was heard by then */

    /** Of queue pairs. One that waits for long may have bad luck: another one of the same
     *  wire is asked before the wire is given up, whoever its peer is. */
    struct Doubt {
        const void  *whose = nullptr; /* the pair's that waits, */
        sched::Nanos since;           /* and so long */
        sched::Nanos asked_at;        /* another pair is known to wait, too; 0: none */
        bool         open     = false; /* and nobody has been told */
        bool         answered = false; /* one that was asked has, and it was not noted */
    };
    Doubt doubt;
};

/**
 * The wires of one interface. There is one for each of our NICs and each NIC of other
 * hosts, however many processes use that. What one interface finds out all those of the
 * node hear of, over the load board.
 *
 * One thread at a time (the worker's).
 */
class Wires {
public:
    Wires() = default;
    Wires(const Wires &)            = delete;
    Wires &operator=(const Wires &) = delete;

    /** What others of the node know counts, and they hear of ours. Before the first
     *  wire. See BoardWires. */
    void share(std::shared_ptr<Board> board, uint64_t network)
    {
        if (board != nullptr) {
            news_.emplace(std::move(board), network);
        }
    }

    /** The one between the two, which may connect; it stays. Looks in a table, so its
     *  users keep it. */
    Wire &between(const Rail &own, const wire::RailRecord &remote)
    {
        const auto [it, is_new] = wires_.try_emplace(key_of(own, remote));
        if (is_new && news_) {
            it->second.place = news_->place(own.control().device(),
                                            it->first.second);
        }
        return it->second;
    }
    /** It is known, and was found silent. `remote` may be what somebody says. */
    bool silent(const Rail &own, const wire::RailRecord &remote) const
    {
        auto it = wires_.find(key_of(own, remote));
        return it != wires_.end() && it->second.evidence.silent();
    }

    /** See WireEvidence. */
    void heard(Wire &wire, sched::Nanos at, sched::Nanos now)
    {
        if (ucs_unlikely(wire.evidence.heard(at))) {
            slack_.note_back(wire.evidence.was_silent_since(), at);
            note(wire);
        }
        if (news_ && at >= wire.shared + kShare) {
            wire.shared = at;
            news_->heard(wire.place, at.count(), now.count());
        }
    }
    void proved_silent(Wire &wire, sched::Nanos now)
    {
        wire.doubt.answered = false;
        if (wire.evidence.proved_silent(now)) {
            note(wire);
            if (news_) {
                news_->proved_silent(wire.place, now.count());
            }
        }
    }
    /** Something waits there: nobody of the node may have heard anything for a while. */
    void note_gap(Wire &wire, sched::Nanos now)
    {
        if (now - heard_at(wire, now) >= kGap) {
            wire.evidence.note_gap(now);
        }
    }
    /** So many packets left there after a kernel's time-outs, the last at `at`, and all
     *  after what was heard if that did. */
    void retried(Wire &wire, unsigned packets, sched::Nanos at, sched::Nanos now)
    {
        wire.evidence.retried(packets, at, heard_at(wire, now));
    }
    /** So many of this process did since anybody of the node has heard anything. */
    unsigned retries(const Wire &wire, sched::Nanos now) const
    {
        return wire.evidence.retries(heard_at(wire, now));
    }
    /** So many packets were acknowledged there, and so many lost, since `since`. */
    void passed(Wire &wire, uint64_t packets, uint64_t lost, sched::Nanos since,
                sched::Nanos now)
    {
        wire.evidence.passed(packets, lost, since, now);
        if (lost != 0 && news_ && wire.evidence.drops(now)) {
            news_->drops(wire.place, now.count());
        }
    }
    /** This process has lost some there, not long ago. */
    bool loses(const Wire &wire, sched::Nanos now) const
    {
        return wire.evidence.loses(now);
    }
    /** By what any process of the node has lost, it drops packets all the time. */
    bool drops(const Wire &wire, sched::Nanos now) const
    {
        return wire.evidence.drops(now) ||
               (news_ && now - sched::Nanos(news_->dropped_at(wire.place,
                                                              now.count())) < kDrops);
    }
    /** A queue pair of it, which `whose` stands for, waits since `since`: others are to be
     *  asked. */
    void doubt(Wire &wire, const void *whose, sched::Nanos since)
    {
        wire.doubt.whose = whose;
        wire.doubt.since = since;
        if (!wire.doubt.open) {
            wire.doubt.open     = true;
            wire.doubt.answered = false; /* long ago, perhaps */
            doubtful_.push_back(&wire);
        }
    }
    /** Another one waits, or is asked. */
    void note_other(Wire &wire, sched::Nanos now) const
    {
        if (wire.doubt.asked_at < std::max(wire.doubt.since, heard_at(wire, now))) {
            wire.doubt.asked_at = now;
        }
    }
    /** Since when another one has had to answer and has not, while one waits since
     *  `since`; 0: there is none. */
    sched::Nanos other_waits(const Wire &wire, sched::Nanos since, sched::Nanos now) const
    {
        const sched::Nanos asked_at = wire.doubt.asked_at;
        return asked_at >= since && asked_at > heard_at(wire, now) ? asked_at :
                                                                     sched::Nanos();
    }
    /** What others have answered. */
    void note_answers(Wire &wire, sched::Nanos now)
    {
        if (ucs_unlikely(wire.doubt.answered)) {
            wire.doubt.answered = false;
            heard(wire, now, now);
        }
    }
    /** One that is in doubt since not long ago; null if that was all. */
    Wire *take_doubtful()
    {
        if (ucs_likely(doubtful_.empty())) {
            return nullptr;
        }
        Wire *wire = doubtful_.back();
        doubtful_.pop_back();
        wire->doubt.open = false;
        return wire;
    }
    /** When anybody of the node has heard of the other end; 0: never. */
    sched::Nanos heard_at(const Wire &wire, sched::Nanos now) const
    {
        const auto others = news_ ? news_->heard_at(wire.place, now.count()) : 0;
        return std::max(wire.evidence.heard_at(), sched::Nanos(others));
    }
    /** The other end says so. That is believed, unless something came lately. */
    bool may_be_silent(const Wire &wire, sched::Nanos now,
                       sched::Nanos lately = kLately) const
    {
        return now - heard_at(wire, now) >= lately;
    }
    /** Another of the node has proved the wire silent, and nobody has heard of the other
     *  end since; or it was silent, and somebody has. */
    void look_at_others(Wire &wire, sched::Nanos now)
    {
        if (!news_) {
            return;
        }
        if (ucs_unlikely(wire.evidence.silent())) {
            heard(wire, sched::Nanos(news_->heard_at(wire.place, now.count())), now);
            return;
        }
        const sched::Nanos at(news_->silent_at(wire.place, now.count()));
        if (ucs_unlikely(now - at < kNews) && at > heard_at(wire, now)) {
            proved_silent(wire, now);
        }
    }

    /** What silence has to last longer than usual, as wires of this process have come back
     *  at once. */
    sched::Nanos slack(sched::Nanos now) const { return slack_.at(now); }

    /** A connection over that rail of ours is watched from now on. */
    void note_new(uint8_t rail, sched::Nanos now) { newest_[rail] = now; }
    /** Some of its connections are so new that queues may fill which no other has met, either:
     *  who is older may have said nothing since. */
    bool is_new(uint8_t rail, sched::Nanos now) const
    {
        return newest_[rail] != sched::Nanos() && now - newest_[rail] < kNew;
    }

    /** One that is silent since not long ago, or is not any more; null if that was
     *  all. */
    Wire *take_changed()
    {
        if (ucs_likely(changed_.empty())) {
            return nullptr;
        }
        Wire *wire = changed_.back();
        changed_.pop_back();
        wire->changed = false;
        return wire;
    }

    /** Something has come then, over a stream. */
    static constexpr sched::Nanos kLately = sched::Nanos::millis(17);
    static constexpr sched::Nanos kNew    = sched::Nanos::millis(500);

private:
    /* Not each acknowledgement is told, */
    static constexpr sched::Nanos kShare = sched::Nanos::millis(1);
    /* and what was told long ago is no news. */
    static constexpr sched::Nanos kNews  = sched::Nanos::millis(500);

    /* What is lost in a silence of so long says nothing of other times. Behind a short
     * queue all of a wire may wait for their kernels' first time-out, of 200 ms and some. */
    static constexpr sched::Nanos kGap = sched::Nanos::millis(300);

    /* As long as a process itself remembers what it lost, about. */
    static constexpr sched::Nanos kDrops = sched::Nanos::seconds(1);

    /* Our rail, and the address of the other NIC. */
    using Key = std::pair<uint8_t, std::vector<uint8_t>>;

    static Key key_of(const Rail &own, const wire::RailRecord &remote)
    {
        if (remote.net.family == 0) {
            return {own.index(), remote.device_address};
        }
        return {own.index(),
                {remote.net.bytes.begin(), remote.net.bytes.end()}};
    }
    void note(Wire &wire)
    {
        if (!wire.changed) {
            wire.changed = true;
            changed_.push_back(&wire);
        }
    }

    std::map<Key, Wire> wires_;
    std::array<sched::Nanos, wire::kMaxRails> newest_{}; /* of each rail; 0: none */
    std::vector<Wire *> changed_, doubtful_;
    sched::Slack        slack_;
    std::optional<BoardWires> news_; /* without a board there are none */
};

} // namespace fuselink

#endif
