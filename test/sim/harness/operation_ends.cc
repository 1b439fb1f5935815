/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Program: how its operations end, when, and what they have left. */

#include "program.h"

namespace fuselink::sim {
namespace {

using Kind = Action::Kind;

/* Where of several NICs one falls silent no kernel is waited for, but for one that does
 * not answer whoever connects for bulk data: he is given one and a half seconds. */
constexpr Instant kLossBound = 3 * kSecond;
/* Where one program puts, and the other one answers, and kernels wait for a second before they
 * send again: 200 ms for what has rested, 40 for a kernel that waits, 30 as a wire was back at
 * once before, and what is there to be sent. */
constexpr Instant kAnswerBound = 350 * kMillisecond;

/* When all were silent and speak again, the same: whatever their kernels wait for. */
constexpr Instant kBackBound = 3 * kSecond;

} // namespace

void Program::violate(const Operation &op, const std::string &what) const
{
    world_.journal().violate(std::string(name_of(op.action.kind)) + " " +
                             std::to_string(op.action.number) + " of process " +
                             std::to_string(process_.index()) + " to " +
                             std::to_string(op.endpoint->peer) + ", " +
                             std::to_string(op.length) + " bytes, " + what);
}

/* Who was in touch with the peer before the loss does not wait for a kernel. */
void Program::check_time(const Operation &op)
{
    Remote       &remote = remotes_.at(op.endpoint->peer);
    const Instant now    = world_.time().now();
    if (remote.reached == 0 && op.status == UCS_OK && op.length != 0 &&
        (is_get(op.action.kind) || may_be_on_gpu(op.action.kind)) &&
        !is_message(op.action.kind)) {
        remote.reached = now; /* it has answered */
    }
    if ((!scenario_.loses_nic && !scenario_.loses_all) || world_.lost_at == 0 ||
        remote.reached == 0 || remote.reached >= world_.lost_at ||
        ledger_.excused(process_.index(), op.endpoint->peer)) {
        return;
    }
    if (scenario_.loses_all) {
        check_time_of_return(op);
        return;
    }
    world_.count(Count::OutlivedLoss);
    const bool    soon  = scenario_.answers_from != 0 && now > scenario_.answers_from;
    world_.count(Count::AnsweredSoon, soon);
    const Instant since = soon ? std::max(op.begun, scenario_.answers_from) : op.begun;
    if (now - since > (soon ? kAnswerBound : kLossBound)) {
        violate(op, "takes " + std::to_string((now - since) / kMillisecond) +
                        " ms, though another NIC carries");
    }
}

/* The kernels of a host that was silent for long try again as much later. */
void Program::check_time_of_return(const Operation &op)
{
    const Instant back = world_.back_at, now = world_.time().now();
    if (back == 0 || op.begun >= back) {
        return;
    }
    world_.count(Count::OutlivedAll);
    if (now - back > kBackBound) {
        violate(op, "takes " + std::to_string((now - back) / kMillisecond) +
                        " ms more when all NICs are back");
    }
}

void Program::end(Operation &op, ucs_status_t status)
{
    if (!process_.alive) {
        return; /* it was killed in the middle of a call */
    }
    world_.journal().note("ends", process_.index(), op.action.number,
                          static_cast<uint64_t>(-status));
    if (op.state == Operation::State::Ended) {
        violate(op, "ends twice");
        return;
    }
    if (op.state == Operation::State::Dropped) {
        violate(op, "ends though its endpoint is destroyed");
        return;
    }
    op.state  = Operation::State::Ended;
    op.status = status;
    remotes_.at(op.endpoint->peer).ended = world_.time().now();
    check_time(op);
    if (status == UCS_OK) {
        if (is_put(op.action.kind) && op.action.kind != Kind::PutShort &&
            op.action.kind != Kind::PutBcopy) {
            check_put(op);
        } else if (is_get(op.action.kind)) {
            check_get(op);
        } else if (op.action.kind == Kind::Flush) {
            for (const Operation *other : op.open_before) {
                if (other->state == Operation::State::Open) {
                    violate(*other, "is open behind a flush");
                }
            }
            for (const auto &landing : op.covers) {
                /* What was seen to be there is looked at again at the end of the run. */
                if (landing->known || landing->flushed || landing->failed ||
                    landing->replaced) {
                    continue;
                }
                landing->flushed = true;
                if (differs(landing->process->arena() + landing->at,
                            landing->length, landing->seed) !=
                        landing->length) {
                    violate(op, "ends before a put of " +
                                    std::to_string(landing->length) +
                                    " bytes is there");
                }
            }
        }
    } else {
        world_.count(Count::OpsFailed);
        if (op.landing) {
            op.landing->failed = true;
        }
        const bool ended = op.action.revocable &&
                           remotes_.at(op.endpoint->peer).program->revoked_;
        world_.count(Count::KeysEnded, ended);
        if (!ledger_.excused(process_.index(), op.endpoint->peer) &&
            !op.endpoint->cancelled && !gone() && !ended) {
            violate(op, std::string("fails: ") + ucs_status_string(status));
        }
    }
    give_back(op, status == UCS_OK);
    if (op.action.kind == Kind::Cancel && op.endpoint->ep != nullptr) {
        for (const auto &other : operations_) {
            if (other->endpoint == op.endpoint && other.get() != &op &&
                other->state == Operation::State::Open) {
                violate(*other, "is open behind a cancel");
            }
        }
        op.endpoint->failed = true; /* it is closed soon */
    }
}

void Program::check_put(Operation &op)
{
    Landing &landing = *op.landing;
    if (landing.replaced || landing.failed) {
        return;
    }
    const size_t at = differs(landing.process->arena() + landing.at,
                              landing.length, landing.seed);
    if (at != landing.length) {
        violate(op, "ends before byte " + std::to_string(at) + " is there");
    }
    landing.known = true;
}

void Program::check_get(Operation &op)
{
    if (op.reads) {
        /* What replaces it behind another fence comes too late for the get. */
        const bool kept = !op.reads->replaced ||
                          op.reads->replaced_at > op.read_at;
        if (kept && !op.reads->failed &&
            differs(op.local, op.length, op.reads->seed) != op.length) {
            violate(op, "does not bring what was put in front of a fence");
        }
        return;
    }
    const Program &peer = *remotes_.at(op.endpoint->peer).program;
    const size_t   at   = differs(op.local, op.length,
                                  library_seed(peer.process_) + op.target);
    if (at != op.length) {
        violate(op, "ends before byte " + std::to_string(at) + " is there");
    }
}

/* The user has his memory back, and uses it for something else. */
void Program::give_back(Operation &op, bool well)
{
    if (op.memh != nullptr) {
        uct_md_mem_dereg(md_, op.memh);
        op.memh = nullptr;
    }
    if (op.landing && well && op.landing->known) {
        Landing &landing = *op.landing;
        landing.process->close(landing.process->arena() + landing.at,
                               landing.length);
    }
    if (op.local == nullptr) {
        return;
    }
    if (is_get(op.action.kind)) {
        process_.close(op.local, op.length);
    }
    fill(op.local, op.length, kGarbage);
    ledger_.keep(process_, static_cast<size_t>(op.local - process_.arena()),
                 op.length, kGarbage);
}

} // namespace fuselink::sim
