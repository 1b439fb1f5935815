/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "cancellation.h"

#include <vector>

namespace fuselink {
namespace {

/* What is on its way arrives within this time, or goes another one, or the peer has
 * failed: longer than a NIC tries and its connection is torn down. */
constexpr sched::Nanos kCancelTime = sched::Nanos::seconds(3);
/* UCP ends keys within some rounds of progress after its endpoints are flushed. */
constexpr sched::Nanos kPause = sched::Nanos::millis(20);

} // namespace

ucs_status_t Cancellation::begin(PeerUser &user, uct_completion_t *comp)
{
    pause();
    const bool serves = bulk_.confirming() != 0;
    if ((user.open != 0 || serves) && !user.cancelling) {
        user.cancelling   = true; /* before its completions are called */
        user.cancel_until = host_.now() + kCancelTime;
        bulk_.cancel(user);
        gets_.cancel(user);
        conn_.defer();
    }
    order_.end_flushes(&user, UCS_ERR_CANCELED);
    if (!pending_.has(user)) {
        return UCS_OK; /* a completion destroyed the endpoint */
    }
    if (user.open == 0 && !(user.cancelling && serves)) {
        return UCS_OK;
    }
    if (comp != nullptr) {
        user.cancels.push_back(comp);
    }
    return UCS_INPROGRESS;
}

void Cancellation::pause()
{
    paused_       = true;
    paused_until_ = host_.now() + kPause;
    target_.pause();
    conn_.defer();
}

/* For what is still open. A slow peer may take what it reads for longer: that is nobody's
 * fault, and it is told that the memory has gone. */
bool Cancellation::waits(const PeerUser &user)
{
    const bool late = host_.now() > user.cancel_until;
    if (user.open != 0 && late && !conn_.failed()) {
        ucs_debug("fuselink: peer %016lx does not let go of what was "
                  "cancelled", conn_.uuid());
        conn_.fail(UCS_ERR_ENDPOINT_TIMEOUT);
    }
    return user.open != 0 || (bulk_.confirming() != 0 && !late);
}

void Cancellation::check(bool last)
{
    bool                           some  = false;
    const std::vector<PeerUser *> &users = pending_.users();
    for (size_t i = 0; i < users.size(); ++i) {
        PeerUser *user = users[i];
        if (!user->cancelling) {
            continue;
        }
        if (!last && waits(*user)) {
            some = true;
            conn_.defer();
            continue;
        }
        user->cancelling = false;
        std::vector<uct_completion_t *> cancels;
        cancels.swap(user->cancels);
        for (uct_completion_t *comp : cancels) {
            conn_.complete(comp, UCS_OK);
        }
        paused_until_ = host_.now() + kPause;
        i    = SIZE_MAX; /* endpoints may have gone: start over */
        some = false;
    }
    if (ucs_likely(!paused_)) {
        return;
    }
    if (!last && (some || host_.now() < paused_until_)) {
        conn_.defer();
        return;
    }
    paused_ = false;
    target_.resume();
}

} // namespace fuselink
