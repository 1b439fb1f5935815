/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "path_room.h"

#include "path_set.h"

namespace fuselink {

bool PathRoom::add_hook(Path &path)
{
    path.hook.room     = this;
    path.hook.req.func = on_hook;
    path.hook.queued   = uct_ep_pending_add(path.ep, &path.hook.req, 0) ==
                         UCS_OK;
    return path.hook.queued;
}

void PathRoom::block(Path &path)
{
    path.blocked = true;
    if (path.hook.queued) {
        return;
    }
    if (path.hook.running) {
        path.hook.queued = true; /* stays where it is */
        return;
    }
    if (add_hook(path)) {
        return;
    }
    /* BUSY though it had no room: it will not tell when it has, because not
     * the path is full, but what all of its rail share. Asking again at once
     * would be a loop without end. */
    path.retry = retry_ = true;
    connection_.defer();
}

void PathRoom::await_connection(Path &path)
{
    if (add_hook(path)) {
        path.blocked = true;
    } else {
        path.connected = true;
    }
}

ucs_status_t PathRoom::on_hook(uct_pending_req_t *req)
{
    Path     &path    = *reinterpret_cast<Path::Hook *>(req)->path;
    PathRoom &room    = *path.hook.room;
    path.hook.queued  = false;
    path.hook.running = true;
    path.blocked      = false;
    path.connected    = true;
    if (room.sender_.send_waiting(path)) {
        room.pump_.pump();
    }
    path.hook.running = false;
    return path.hook.queued ? UCS_ERR_NO_RESOURCE : UCS_OK;
}

void PathRoom::retry(PathSet &paths)
{
    retry_ = false;
    for (auto &path : paths) {
        if (path->retry) {
            path->retry = path->blocked = false;
            sender_.send_waiting(*path);
        }
    }
    pump_.pump();
}

} // namespace fuselink
