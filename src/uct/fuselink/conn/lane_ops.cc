/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "lane_ops.h"

namespace fuselink {

LaneOp &LaneOps::begin()
{
    LaneOp &op = ops_.take();
    op.live    = true;
    ++open_;
    arm(op.comp, on_end);
    op.ops       = this;
    op.user      = nullptr;
    op.user_comp = nullptr;
    op.epoch     = order_.begin_op();
    return op;
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
    end(op);
    order_.end_op(epoch);
}

void LaneOps::end(LaneOp &op)
{
    op.live = false;
    ops_.give_back(op);
    --open_;
}

void LaneOps::on_end(uct_completion_t *comp)
{
    auto             &op     = *reinterpret_cast<LaneOp *>(comp);
    LaneOps          &ops    = *op.ops;
    PeerUser         *user   = op.user;
    uct_completion_t *told   = op.user_comp;
    ucs_status_t      status = comp->status;
    const auto        epoch  = op.epoch;
    ops.end(op);
    end_user_op(user, ops.conn_);
    if (told != nullptr) {
        uct_invoke_completion(told, status);
    }
    ops.order_.end_op(epoch);
}

void LaneOps::forget(const PeerUser &user)
{
    ops_.for_each([&](LaneOp &op) {
        if (op.live && op.user == &user) {
            op.user      = nullptr;
            op.user_comp = nullptr;
        }
    });
}

void LaneOps::end_all(ucs_status_t status)
{
    ops_.for_each([&](LaneOp &op) {
        if (op.live) {
            op.comp.status = status;
            on_end(&op.comp);
        }
    });
}

} // namespace fuselink
