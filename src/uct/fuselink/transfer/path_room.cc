/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "path_room.h"

#include "path_set.h"

namespace fuselink {

bool PathRoom::add_hook(Path &path)
{
    Path::Hook &hook = path.room.hook;
    hook.room        = this;
    hook.req.func    = on_hook;
    hook.queued      = uct_ep_pending_add(path.ep, &hook.req, 0) == UCS_OK;
    return hook.queued;
}

void PathRoom::block(Path &path)
{
    path.room.blocked = true;
    if (path.room.hook.queued) {
        return;
    }
    if (path.room.hook.running) {
        path.room.hook.queued = true; /* stays where it is */
        return;
    }
    if (add_hook(path)) {
        return;
    }
    /* BUSY though it had no room: it will not tell when it has, because not
     * the path is full, but what all of its rail share. Asking again at once
     * would be a loop without end. */
    path.room.retry = retry_ = true;
    connection_.defer();
}

void PathRoom::await_connection(Path &path)
{
    if (add_hook(path)) {
        path.room.blocked = true;
    } else {
        path.room.connected = true;
    }
}

/* A stream takes nobody onto its queue who need not wait. */
bool PathRoom::is_through(Path &path)
{
    if (path.room.hook.queued || path.room.hook.running) {
        return false;
    }
    path.room.blocked = path.room.blocked || add_hook(path);
    return !path.room.hook.queued;
}

ucs_status_t PathRoom::on_hook(uct_pending_req_t *req)
{
    auto     &hook = *reinterpret_cast<Path::Hook *>(req);
    Path     &path = *hook.path;
    PathRoom &self = *hook.room;
    hook.queued         = false;
    hook.running        = true;
    path.room.blocked   = false;
    path.room.connected = true;
    if (self.sender_.send_waiting(path)) {
        self.pump_.pump();
    }
    hook.running = false;
    return hook.queued ? UCS_ERR_NO_RESOURCE : UCS_OK;
}

void PathRoom::retry(PathSet &paths)
{
    retry_ = false;
    for (auto &path : paths) {
        if (path->room.retry) {
            path->room.retry = path->room.blocked = false;
            sender_.send_waiting(*path);
        }
    }
    pump_.pump();
}

} // namespace fuselink
