/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Peer: a user gives its operations up, all (flush with cancel) or together
 * with its endpoint. Those of the peer's other users go on. */

#include "peer.h"

#include "../engine/engine.h"

#include <algorithm>

namespace fuselink {
namespace {

/* What is on its way arrives within this time, or the peer has failed. */
constexpr sched::Nanos kCancelTime = sched::Nanos::seconds(1);

} // namespace

void Peer::user_op_ended(PeerUser *user)
{
    if (user != nullptr && --user->open == 0 && user->cancelling) {
        defer();
    }
}

ucs_status_t Peer::cancel(PeerUser &user, uct_completion_t *comp)
{
    if (user.open != 0 && !user.cancelling) {
        user.cancelling   = true; /* before its completions are called */
        user.cancel_until = engine_.now() + kCancelTime;
        bulk_.cancel(user);
        cancel_gets(user);
        defer();
    }
    end_flushes(&user, UCS_ERR_CANCELED);
    if (std::find(users_.begin(), users_.end(), &user) == users_.end()) {
        return UCS_OK; /* a completion destroyed the endpoint */
    }
    if (user.open == 0) {
        return UCS_OK;
    }
    if (comp != nullptr) {
        user.cancels.push_back(comp);
    }
    return UCS_INPROGRESS;
}

/* A get by messages can end here and now. The bytes of another go straight to
 * the user's memory: its owner has to stop first. */
void Peer::cancel_gets(PeerUser &user)
{
    engine_.gets().for_each(this, [&](Get &get) {
        if (get.user != &user) {
            return;
        }
        if (get.by_message) {
            end_get(get, UCS_ERR_CANCELED);
            return;
        }
        wire::GetCancel message{};
        message.header.type =
            static_cast<uint8_t>(wire::ControlType::GetCancel);
        message.op = {get.slot, get.generation};
        send_control(&message, sizeof(message));
    });
}

void Peer::check_cancels()
{
    for (size_t i = 0; i < users_.size(); ++i) {
        PeerUser *user = users_[i];
        if (!user->cancelling) {
            continue;
        }
        if (user->open != 0) {
            if (!failed() && engine_.now() > user->cancel_until) {
                ucs_debug("fuselink: peer %016lx does not let go of what was "
                          "cancelled", uuid());
                fail(UCS_ERR_ENDPOINT_TIMEOUT);
            }
            defer();
            continue;
        }
        user->cancelling = false;
        std::vector<uct_completion_t *> cancels;
        cancels.swap(user->cancels);
        for (uct_completion_t *comp : cancels) {
            uct_invoke_completion(comp, UCS_OK);
        }
        i = SIZE_MAX; /* endpoints may have gone: start over */
    }
}

void Peer::detach(PeerUser &user)
{
    for (FlushOp *op : flushes_) {
        if (op->owner == &user) {
            op->owner = nullptr;
            op->user  = nullptr;
        }
    }
    sends_.for_each([&](SendOp &op) {
        if (op.user == &user) {
            op.user      = nullptr;
            op.user_comp = nullptr;
        }
    });
    bulk_.forget(user);
    engine_.gets().for_each(this, [&](Get &get) {
        if (get.user == &user) {
            get.comp = nullptr;
        }
    });
    cancel_gets(user);
    engine_.gets().for_each(this, [&](Get &get) {
        if (get.user == &user) {
            get.user = nullptr;
        }
    });
    users_.erase(std::find(users_.begin(), users_.end(), &user));
    note_queued();
    if (failed()) {
        defer(); /* it may have been the last */
    }
}

} // namespace fuselink
