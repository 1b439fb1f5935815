/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_FABRIC_ROOM_PROBES_H
#define FUSELINK_TEST_SIM_FABRIC_ROOM_PROBES_H

#include "../world/timeline.h"

namespace fuselink::sim {

/**
 * What a kernel does while the other has no room for its bytes: it asks with pauses
 * that double, and counts what is not answered (Linux: tcp_probe_timer). The other
 * kernel takes each question for a segment out of its place, and answers such at most
 * once in half a second (tcp_oow_rate_limited, net.ipv4.tcp_invalid_ratelimit): not
 * the second of two questions that are 0.4 s apart, whatever its program does.
 */
class RoomProbes {
public:
    static constexpr Instant kRest = 500 * kMillisecond;

    /** Nothing is asked for any more. */
    void stop() { asks_ = false; }
    bool asks() const { return asks_; }

    /** The window is shut since `now`; the first question is `pause` later. What the
     *  other kernel answered before, out of its place as well, was `rested` ago. */
    void start(Instant now, Instant pause, Instant rested)
    {
        *this     = {};
        asks_     = true;
        next_     = now + pause;
        pause_    = pause;
        answers_  = now - rested;
    }

    /** What happened until `now`, if the wire carried all the time, or nothing of
     *  it. An answer takes `both` to come. */
    void pass(Instant now, Instant both, bool carries)
    {
        for (; next_ <= now; pause_ *= 2, next_ += pause_) {
            hear(next_, carries);
            ++unanswered_;
            if (carries && next_ - answers_ >= kRest) {
                answers_ = next_;
                comes_   = next_ + both;
            }
        }
        hear(now, carries);
    }

    unsigned unanswered() const { return unanswered_; }
    /** When the last answer came; 0: none has. */
    Instant heard_at() const { return heard_at_; }

private:
    void hear(Instant now, bool carries)
    {
        if (comes_ != 0 && comes_ <= now && carries) {
            heard_at_   = comes_;
            comes_      = 0;
            unanswered_ = 0;
        }
    }

    bool     asks_ = false;
    Instant  next_ = 0, pause_ = 0;
    Instant  answers_ = 0, comes_ = 0, heard_at_ = 0;
    unsigned unanswered_ = 0;
};

} // namespace fuselink::sim

#endif
