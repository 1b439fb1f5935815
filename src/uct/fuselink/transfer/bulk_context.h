/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_BULK_CONTEXT_H
#define FUSELINK_TRANSFER_BULK_CONTEXT_H

#include "../host/host.h"
#include "../load/load_view.h"
#include "../memory/region.h"
#include "../memory/region_table.h"
#include "../rail/poller.h"
#include "../rail/rails.h"
#include "../relay/gpu_copies.h"
#include "../sched/policy.h"
#include "../sched/rotation.h"
#include "../watch/trace.h"
#include "plan_manager.h"
#include "room_queue.h"

namespace fuselink {

/** The user's settings for bulk data. */
struct BulkSettings {
    const sched::Policy *policy = nullptr;
    sched::Limits        limits;
    bool                 fixed_weights = false; /* show the policy reported
                                                   speeds, not measured ones */
    bool                 connect_ep = false; /* streams endpoint to endpoint */
};

/** What of an interface its senders of bulk data use. All outlive them. Only the
 *  constructor of BulkSender sees it: each part gets the few that it needs. */
struct BulkContext {
    Host                &host;
    Poller              &poller;
    const Rails         &rails;
    NicMemory           &nics;
    RegionTable         &regions;
    GpuCopies           &copies;
    LoadView            &loads;
    RoomQueue           &room;
    PlanManager         &plans;
    sched::Rotation     &rotation;
    Trace               *trace; /* null unless the user asked for one */
    const BulkSettings  &settings;
};

} // namespace fuselink

#endif
