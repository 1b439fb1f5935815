/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "lane_search.h"

#include <algorithm>

namespace fuselink {
namespace {

/* The pauses become longer, up to this: UCX prints a line for each candidate that
 * refuses. */
constexpr sched::Nanos kLongestPause = sched::Nanos::seconds(1);

} // namespace

/* What refuses now may be back soon, and what does not answer may yet. */
bool LaneSearch::go_on(bool first)
{
    const sched::Nanos now = host_.now();
    if (!begun()) {
        begin(now);
    }
    look(now);
    /* Streams tell whether anybody is there. Datagrams are waited for at first, which
     * another round would begin anew. */
    const bool streams = first && all_streams();
    const bool silent  = is_silent();
    if (silent || rounds_.refused == sched::Nanos()) {
        rounds_.refused = silent ? sched::Nanos() : now;
    }
    const sched::Nanos since = streams && !silent ? rounds_.refused : rounds_.since;
    const sched::Nanos limit = !first ? kSilent : streams ? patience() : kRefused;
    if (rounds_.again == sched::Nanos()) {
        rounds_.again = std::min(now + rounds_.pause, since + patience());
        rounds_.pause = std::min(rounds_.pause * 2, kLongestPause);
    } else if (now >= rounds_.again) {
        if (is_hopeless(now - since, first)) {
            return false;
        }
        if (now - since < limit) {
            begin_round();
        }
    }
    return true;
}

/* A kernel that is not answered asks ever more rarely, the last time after 15 s and then
 * after 31, and a NIC may be back in between: so those begin anew. */
void LaneSearch::begin_round()
{
    rounds_.again  = sched::Nanos();
    rounds_.silent = false;
    fallbacks_.close_if([this](const FallbackEps::Fallback &each) {
        StreamState state;
        return host_.now() - each.since > ConnectTimer::kKernel &&
               host_.streams().look(each.ep, state) &&
               state.phase == StreamState::Phase::Connecting;
    });
    CandidateOrder &order = candidates_.order();
    order.restart(candidates_.size());
    for (size_t i = 0; i < candidates_.size(); ++i) {
        if (fallbacks_.has(i)) {
            order.note_tried(i);
        }
    }
}

void LaneSearch::on_peer_back(uint16_t back) const
{
    for (size_t i = 0; i < candidates_.size(); ++i) {
        const Candidates::Candidate &one = candidates_.at(i);
        if (one.remote.index < wire::kMaxRails && (back >> one.remote.index & 1) != 0) {
            one.rail->introduction.begin(host_.now());
        }
    }
}

/* A host that is not found ends a connection as one does that refuses it. */
void LaneSearch::on_broken(uct_ep_h ep)
{
    StreamState state;
    rounds_.silent = rounds_.silent || (host_.streams().look(ep, state) &&
                                        state.unreachable());
}

bool LaneSearch::all_streams() const
{
    for (size_t i = 0; i < candidates_.size(); ++i) {
        if (!candidates_.at(i).rail->traits().stream) {
            return false;
        }
    }
    return true;
}

/* Somebody may answer yet. Without a link nobody refuses. */
bool LaneSearch::is_silent() const
{
    bool silent = rounds_.silent || !fallbacks_.empty();
    for (size_t i = 0; i < candidates_.size(); ++i) {
        silent = silent || !has_link(candidates_.at(i));
    }
    return silent;
}

/* Where a kernel has answered, the program there may just not look yet. Datagrams tell
 * nothing of that, so at first they are waited for. */
bool LaneSearch::is_hopeless(sched::Nanos time, bool first) const
{
    bool waits = false;
    fallbacks_.for_each_silent([&](const FallbackEps::Fallback &silent) {
        StreamState state;
        if (host_.streams().look(silent.ep, state)) {
            waits |= state.phase == StreamState::Phase::Established;
        } else {
            waits |= first;
        }
    });
    return !waits && time >= patience();
}

} // namespace fuselink
