/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "lane_ops.h"

namespace fuselink {

LaneOp &LaneOps::begin(const LaneGet &get)
{
    LaneOp &op = ops_.take();
    op.live    = true;
    op.lost = op.forgotten = false;
    ++open_;
    arm(op.comp, on_end);
    op.ops       = this;
    op.user      = nullptr;
    op.user_comp = nullptr;
    op.lane      = channel_.lane();
    op.epoch     = order_.begin_op();
    op.get       = get;
    return op;
}

void LaneOps::unpack(void *arg, const void *data, size_t length)
{
    auto &op = *static_cast<LaneOp *>(arg);
    if (!op.forgotten) {
        op.ops->conn_.unpack(op.get.unpack, op.get.buffer, data, length);
    }
}

void LaneOps::settle(LaneOp &op, ucs_status_t status, PeerUser &user,
                     uct_completion_t *comp)
{
    if (status == UCS_INPROGRESS) {
        op.user      = &user;
        op.user_comp = comp;
        ++user.open;
        return;
    }
    const auto epoch = op.epoch;
    release(op);
    order_.end_op(epoch);
}

void LaneOps::release(LaneOp &op)
{
    lost_  -= op.lost;
    op.live = op.lost = false;
    ops_.give_back(op);
    --open_;
}

void LaneOps::on_end(uct_completion_t *comp)
{
    auto         &op     = *reinterpret_cast<LaneOp *>(comp);
    LaneOps      &ops    = *op.ops;
    ucs_status_t  status = comp->status;
    if (ucs_likely(status == UCS_OK) || ops.conn_.failed()) {
        ops.end(op, status);
        return;
    }
    op.lost = true;
    ++ops.lost_;
    if (op.lane == ops.channel_.lane()) {
        ops.channel_.outcome(status); /* it may say so a little later itself */
    }
    ops.conn_.defer();
}

void LaneOps::end(LaneOp &op, ucs_status_t status)
{
    PeerUser         *user  = op.user;
    uct_completion_t *told  = op.user_comp;
    const auto        epoch = op.epoch;
    release(op);
    end_user_op(user, conn_);
    if (told != nullptr) {
        conn_.complete(told, status);
    }
    order_.end_op(epoch);
}

bool LaneOps::take_lost(LaneOp &taken)
{
    LaneOp *lost = nullptr;
    ops_.for_each([&](LaneOp &op) {
        if (op.lost) {
            lost = &op;
        }
    });
    if (lost != nullptr) {
        taken = *lost;
        release(*lost);
    }
    return lost != nullptr;
}

void LaneOps::end_lost(ucs_status_t status)
{
    ops_.for_each([&](LaneOp &op) {
        if (op.lost) {
            end(op, status);
        }
    });
}

void LaneOps::forget(const PeerUser &user)
{
    ops_.for_each([&](LaneOp &op) {
        if (op.live && op.user == &user) {
            op.user      = nullptr;
            op.user_comp = nullptr;
            op.forgotten = true;
        }
    });
}

void LaneOps::end_all(ucs_status_t status)
{
    ops_.for_each([&](LaneOp &op) {
        if (op.live) {
            end(op, status);
        }
    });
}

} // namespace fuselink
