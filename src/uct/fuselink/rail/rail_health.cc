/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rail_health.h"

#include <algorithm>

namespace fuselink {
namespace {

/* Data that goes over a rail so long after messages broke there shows that it works:
 * until then it may be of other peers, while paths to this one are about to break. */
constexpr sched::Nanos kSure = sched::Nanos::seconds(1);

} // namespace

NicHealth RailHealth::health() const
{
    NicHealth health;
    health.state = down_ ? NicState::Down :
                   silent_ != 0 || unheard_ != 0 || lane_ == NicState::Silent ?
                           NicState::Silent :
                   broken_ != 0 || lane_ == NicState::Broken ?
                           NicState::Broken : NicState::Up;
    health.until     = until_.count();
    health.since     = static_cast<int64_t>(outages_.since.value());
    health.paths     = paths_;
    health.paths_out = broken_ + silent_;
    health.messages  = lanes_;
    health.breaks    = outages_.breaks.value();
    health.moves     = outages_.moves.value();
    health.resent    = outages_.resent();
    health.out       = outages_.out.value();
    health.longest   = outages_.longest.value();
    return health;
}

void RailHealth::changed()
{
    shown_ = outages_.resent();
    if (listener_ != nullptr) {
        listener_->on_health(index_, health());
    }
}

void RailHealth::tell(Listener *listener)
{
    listener_ = listener;
    changed();
}

void RailHealth::note(Trace::Kind kind, sched::Nanos now, uint64_t peer,
                      uint8_t remote, NicState why, sched::Nanos since)
{
    if (trace_ != nullptr) {
        Trace::Event event;
        event.start  = event.end = now.count();
        event.kind   = kind;
        event.peer   = peer;
        event.rail   = index_;
        event.remote = remote;
        event.state  = why;
        event.length = static_cast<uint64_t>((now - since).count());
        trace_->begin(event);
    }
}

bool RailHealth::say()
{
    const bool first = !said_;
    said_            = true;
    return first;
}

void RailHealth::begin_out(sched::Nanos now)
{
    if (!out()) {
        outages_.since.set(static_cast<uint64_t>(std::max(now, ended_).count()));
    }
}

/* Something is out no more: with the last of it, the episode is over. */
void RailHealth::end_out(sched::Nanos now)
{
    if (!out()) {
        if (real_) {
            outages_.out.set(outages_.out_until(now.count()));
        }
        outages_.since.set(0);
        ended_ = now;
        until_ = {};
        said_ = said_unheard_ = real_ = false;
    }
}

void RailHealth::close(sched::Nanos now)
{
    if (real_) {
        outages_.out.set(outages_.out_until(now.count()));
    }
    outages_.since.set(0);
}

void RailHealth::waited(sched::Nanos time)
{
    const auto ns = static_cast<uint64_t>(
        std::max<int64_t>(time.count(), 0));
    outages_.longest.set(std::max(outages_.longest.value(), ns));
}

/* --- the link --- */

void RailHealth::on_carrier(bool carries, sched::Nanos now)
{
    if (down_ != carries) {
        return;
    }
    note(carries ? Trace::Kind::CarrierBack : Trace::Kind::CarrierLost, now, 0,
         0, NicState::Down, now);
    if (carries) {
        down_ = false;
        lane_ = NicState::Up;
        said_ = false; /* of what fails from now on nothing was said */
        end_out(now);
    } else {
        begin_out(now);
        down_ = said_ = real_ = true;
    }
    changed();
}

/* --- messages --- */

void RailHealth::add_lane()
{
    ++lanes_;
    changed();
}

void RailHealth::remove_lane()
{
    --lanes_;
    changed();
}

void RailHealth::messages_moved(const Far &to, ucs_status_t why, bool of_all,
                                sched::Nanos since, sched::Nanos now)
{
    const NicState state = state_of(why);
    begin_out(since);
    outages_.moves.add(1);
    waited(now - since);
    real_ = true;
    if (!down_ && to.rail != index_ && !of_all) {
        lane_        = std::max(lane_, state);
        lane_since_  = now;
        lane_chunks_ = 0;
    }
    note(Trace::Kind::MessagesMoved, now, to.peer, to.rail, state, since);
    if (to.rail == index_) {
        ucs_info("fuselink: messages to peer %016lx go over rail %s again, where their "
                 "connection had failed (%s)", to.peer, to.name.c_str(),
                 ucs_status_string(why));
    } else if (of_all) {
        ucs_info("fuselink: messages to peer %016lx go over rail %s: on none had anything "
                 "come for a while", to.peer, to.name.c_str());
    } else if (say()) {
        ucs_warn("fuselink: rail %s has failed (%s): messages to peer %016lx go "
                 "over rail %s now", name_.c_str(), ucs_status_string(why),
                 to.peer, to.name.c_str());
    } else {
        ucs_info("fuselink: messages to peer %016lx go over rail %s: rail %s "
                 "has failed", to.peer, to.name.c_str(), name_.c_str());
    }
    end_out(now); /* it may be the same rail */
    changed();
}

void RailHealth::lane_over(sched::Nanos now)
{
    lane_ = NicState::Up;
    if (said_) {
        said_ = false;
        ucs_warn("fuselink: rail %s carries data again", name_.c_str());
    }
    end_out(now);
    changed();
}

void RailHealth::look_closer(sched::Nanos now)
{
    if (lane_ != NicState::Up && broken_ + silent_ == 0 && !down_ &&
        now - lane_since_ > kSure) {
        /* One more than there were, so that it is never none. */
        const uint64_t chunks = moved() + 1;
        if (lane_chunks_ == 0) {
            lane_chunks_ = chunks;
        } else if (lane_chunks_ != chunks) {
            lane_over(now);
        }
    }
    if (shown_ != outages_.resent()) {
        changed();
    }
}

/* --- peers --- */

bool RailHealth::peer_unheard(sched::Nanos since)
{
    begin_out(since);
    ++unheard_;
    real_            = true;
    const bool first = !said_ && !said_unheard_;
    said_unheard_    = true;
    changed();
    return first;
}

void RailHealth::peer_heard(sched::Nanos since, sched::Nanos now)
{
    --unheard_;
    said_unheard_ = said_unheard_ && unheard_ != 0;
    waited(now - since);
    end_out(now);
    changed();
}

/* --- paths --- */

void RailHealth::add_path()
{
    ++paths_;
    changed();
}

void RailHealth::remove_path()
{
    --paths_;
    changed();
}

void RailHealth::path_out(NicState why, sched::Nanos now)
{
    begin_out(now);
    ++count(why);
    changed();
}

void RailHealth::path_broke(const Far &far, NicState why, sched::Nanos now)
{
    note(Trace::Kind::PathBroke, now, far.peer, far.rail, why, now);
    path_out(why, now);
}

void RailHealth::path_rests(sched::Nanos until)
{
    until_ = std::max(until_, until);
    changed();
}

void RailHealth::path_drained(const Far &far, NicState why, ucs_status_t status,
                              sched::Nanos since, bool say, sched::Nanos now)
{
    outages_.breaks.add(1);
    waited(now - since);
    real_ = true;
    note(Trace::Kind::PathDrained, now, far.peer, far.rail, why, since);
    say_failed(far, status, say);
    changed();
}

/* The others in a line that nobody has to read. */
void RailHealth::say_failed(const Far &far, ucs_status_t status, bool say)
{
    const auto level = say && this->say() ? UCS_LOG_LEVEL_WARN :
                                            UCS_LOG_LEVEL_INFO;
    ucs_log(level, "fuselink: rail %s to %s of peer %016lx has failed (%s): its "
            "data goes over the other rails until it connects again",
            name_.c_str(), far.name.c_str(), far.peer,
            ucs_status_string(status));
}

void RailHealth::path_stays_out(const Far &far, ucs_status_t status)
{
    say_failed(far, status, true);
}

void RailHealth::path_replaced(const Far &far, ucs_status_t status, sched::Nanos since,
                               sched::Nanos now)
{
    outages_.breaks.add(1);
    note(Trace::Kind::PathDrained, now, far.peer, far.rail, state_of(status), since);
    ucs_info("fuselink: the connection of rail %s to %s of peer %016lx was left behind as "
             "all rails to it were silent: another one is made", name_.c_str(),
             far.name.c_str(), far.peer);
    changed();
}

void RailHealth::path_works(const Far &far, NicState why, sched::Nanos now)
{
    note(Trace::Kind::PathWorks, now, far.peer, far.rail, why, now);
    const auto level = said_ && !down_ ? UCS_LOG_LEVEL_WARN :
                                         UCS_LOG_LEVEL_INFO;
    said_ = down_;
    ucs_log(level, "fuselink: rail %s to %s of peer %016lx carries data again",
            name_.c_str(), far.name.c_str(), far.peer);
    lane_ = NicState::Up;
    path_over(why, true, now);
}

void RailHealth::path_over(NicState why, bool real, sched::Nanos now)
{
    --count(why);
    real_ = real_ || real;
    end_out(now);
    changed();
}

void RailHealth::chunks_resent(size_t bytes)
{
    outages_.chunks_resent.add(bytes);
    changed();
}

} // namespace fuselink
