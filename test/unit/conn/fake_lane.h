/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_UNIT_CONN_FAKE_LANE_H
#define FUSELINK_TEST_UNIT_CONN_FAKE_LANE_H

#include "conn/control_channel.h"
#include "rail/rail.h"
#include "ucx.h"

#include "../host/fake_host.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

/** An endpoint of a rail that takes what a test lets it take. */
class FakeLane : public uct_ep_t {
public:
    using Message = std::vector<uint8_t>;

    FakeLane()
    {
        iface                       = &iface_;
        iface_.ops.ep_am_short      = am_short;
        iface_.ops.ep_am_bcopy      = am_bcopy;
        iface_.ops.ep_am_zcopy      = am_zcopy;
        iface_.ops.ep_pending_add   = pending_add;
        iface_.ops.ep_pending_purge = pending_purge;
        iface_.ops.ep_flush         = flush;
        iface_.ops.ep_fence         = fence;
    }
    FakeLane(const FakeLane &)            = delete;
    FakeLane &operator=(const FakeLane &) = delete;

    /** There is room for so many messages, and who waits hears of it. */
    void give_room(size_t messages)
    {
        room = messages;
        for (size_t n = waiting.size(); n != 0 && room != 0; --n) {
            uct_pending_req_t *req = waiting.front();
            waiting.pop_front();
            if (req->func(req) != UCS_OK) {
                waiting.push_front(req);
                break;
            }
        }
    }
    /** Ends the flush that waits longest. */
    void end_flush(ucs_status_t status = UCS_OK)
    {
        uct_completion_t *comp = flushes.front();
        flushes.pop_front();
        uct_invoke_completion(comp, status);
    }

    size_t                          room   = SIZE_MAX;
    ucs_status_t                    broken = UCS_OK; /* all fails so */
    std::vector<Message>            taken;
    bool                            tells  = true; /* of room, later */
    std::deque<uct_pending_req_t *> waiting;
    ucs_status_t                    flushed = UCS_OK;
    std::deque<uct_completion_t *>  flushes;
    unsigned                        flush_calls = 0;
    unsigned                        fences      = 0;

private:
    static FakeLane &from(uct_ep_h ep) { return *static_cast<FakeLane *>(ep); }

    ucs_status_t take()
    {
        if (broken != UCS_OK) {
            return broken;
        }
        if (room == 0) {
            return UCS_ERR_NO_RESOURCE;
        }
        room -= room != SIZE_MAX;
        return UCS_OK;
    }

    static ucs_status_t am_short(uct_ep_h ep, uint8_t, uint64_t header,
                                 const void *payload, unsigned length)
    {
        ucs_status_t status = from(ep).take();
        if (status == UCS_OK) {
            Message message(sizeof(header) + length);
            memcpy(message.data(), &header, sizeof(header));
            memcpy(message.data() + sizeof(header), payload, length);
            from(ep).taken.push_back(message);
        }
        return status;
    }
    static ssize_t am_bcopy(uct_ep_h ep, uint8_t, uct_pack_callback_t pack,
                            void *arg, unsigned)
    {
        ucs_status_t status = from(ep).take();
        if (status != UCS_OK) {
            return status;
        }
        static Message buffer(1 << 20);
        const size_t   length = pack(buffer.data(), arg);
        from(ep).taken.emplace_back(buffer.data(), buffer.data() + length);
        return static_cast<ssize_t>(length);
    }
    /* Sends it for ever. */
    static ucs_status_t am_zcopy(uct_ep_h ep, uint8_t, const void *header,
                                 unsigned length, const uct_iov_t *, size_t, unsigned,
                                 uct_completion_t *)
    {
        ucs_status_t status = from(ep).take();
        if (status == UCS_OK) {
            auto *bytes = static_cast<const uint8_t *>(header);
            from(ep).taken.emplace_back(bytes, bytes + length);
        }
        return status == UCS_OK ? UCS_INPROGRESS : status;
    }
    static ucs_status_t pending_add(uct_ep_h ep, uct_pending_req_t *req,
                                    unsigned)
    {
        if (!from(ep).tells || from(ep).room != 0) {
            return UCS_ERR_BUSY;
        }
        from(ep).waiting.push_back(req);
        return UCS_OK;
    }
    static void pending_purge(uct_ep_h ep, uct_pending_purge_callback_t cb,
                              void *arg)
    {
        while (!from(ep).waiting.empty()) {
            uct_pending_req_t *req = from(ep).waiting.front();
            from(ep).waiting.pop_front();
            cb(req, arg);
        }
    }
    static ucs_status_t flush(uct_ep_h ep, unsigned, uct_completion_t *comp)
    {
        ++from(ep).flush_calls;
        if (from(ep).flushed == UCS_INPROGRESS && comp != nullptr) {
            from(ep).flushes.push_back(comp);
        }
        return from(ep).flushed;
    }
    static ucs_status_t fence(uct_ep_h ep, unsigned)
    {
        ++from(ep).fences;
        return UCS_OK;
    }

    uct_iface_t iface_{};
};

/** A rail that is named, and that nobody looks into. */
class NamedRail {
public:
    fuselink::Rail &rail()
    {
        return *reinterpret_cast<fuselink::Rail *>(bytes_);
    }

private:
    alignas(fuselink::Rail) std::byte bytes_[sizeof(fuselink::Rail)] = {};
};

/** What a ControlChannel needs besides. */
struct ChannelParts {
    FakeHost                host;
    fuselink::MessageMemory memory;
    fuselink::SeenTimer     timer{host};
};

/** The channel's lane from now on. As all lanes it begins with a hello, which it has
 *  taken when this returns, if it has room; `lane` does not keep it. */
inline void begin_lane(fuselink::ControlChannel &channel, FakeLane &lane,
                       NamedRail &rail, fuselink::LaneEp::Limits limits =
                                            {0, 8192})
{
    channel.move_to(&lane, rail.rail(), 0, limits);
    channel.clear(fuselink::ControlChannel::kConnecting);
    std::vector<uint8_t> hello(sizeof(fuselink::wire::Hello));
    hello[0] = static_cast<uint8_t>(fuselink::wire::ControlType::Hello);
    channel.send_first(hello);
    channel.look_for_room();
    if (!lane.taken.empty()) {
        lane.taken.erase(lane.taken.begin());
    }
}

/** A user's completion: how often it was told, and what. */
struct FakeCompletion {
    FakeCompletion() { fuselink::arm(comp, on_told); }

    static void on_told(uct_completion_t *comp)
    {
        ++reinterpret_cast<FakeCompletion *>(comp)->told;
    }

    uct_completion_t comp; /* first */
    unsigned         told = 0;
};

#endif
