/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* The poller on interfaces that are like a soft-RoCE NIC's: one that is armed
 * says what comes from then on, and nothing of what has come before. */

#include "cases.h"

#include "../stack/worker.h"

#include <rail/poller.h>

#include <functional>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace fltest {
namespace {

using fuselink::Poller;

class DeafNic {
public:
    explicit DeafNic(bool has_fd)
        : has_fd_(has_fd), fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))
    {
        REQUIRE(fd_ >= 0, "eventfd: %m");
        iface_.base.ops.iface_progress     = progress;
        iface_.base.ops.iface_event_fd_get = get_fd;
        iface_.base.ops.iface_event_arm    = arm;
        iface_.nic                         = this;
    }
    ~DeafNic() { close(fd_); }

    void add_to(Poller &poller)
    {
        unsigned index;
        poller_ = &poller;
        REQUIRE_OK(poller.add(&iface_.base,
                              has_fd_ ? uint64_t{UCT_IFACE_FLAG_EVENT_FD} : 0,
                              "deaf", true, index));
    }

    void arrive()
    {
        ++waiting_;
        if (!armed_) {
            return;
        }
        armed_ = false;
        if (!has_fd_) { /* a thread of UCX's tells */
            Poller::on_async_event(poller_, 0);
            return;
        }
        uint64_t one = 1;
        REQUIRE(write(fd_, &one, sizeof(one)) == sizeof(one), "eventfd: %m");
    }

    /** Something to happen just before the next arming. */
    void before_arming(std::function<void()> what) { what_ = std::move(what); }

    unsigned waiting() const { return waiting_; }

private:
    struct Handle {
        uct_iface_t base; /* first: UCX gives back a pointer to it */
        DeafNic    *nic;
    };

    static DeafNic &from(uct_iface_h iface)
    {
        return *reinterpret_cast<Handle *>(iface)->nic;
    }
    static unsigned progress(uct_iface_h iface)
    {
        DeafNic &nic = from(iface);
        unsigned n   = nic.waiting_;
        nic.waiting_ = 0;
        return n;
    }
    static ucs_status_t get_fd(uct_iface_h iface, int *fd)
    {
        *fd = from(iface).fd_;
        return UCS_OK;
    }
    static ucs_status_t arm(uct_iface_h iface, unsigned)
    {
        DeafNic &nic = from(iface);
        if (auto what = std::exchange(nic.what_, nullptr)) {
            what();
        }
        uint64_t seen;
        if (read(nic.fd_, &seen, sizeof(seen)) > 0) {
            return UCS_ERR_BUSY;
        }
        nic.armed_ = true;
        return UCS_OK;
    }

    Handle                iface_{};
    bool                  has_fd_;
    int                   fd_;
    Poller               *poller_  = nullptr;
    unsigned              waiting_ = 0;
    bool                  armed_   = false;
    std::function<void()> what_;
};

bool wakes(const Poller &poller)
{
    pollfd entry{poller.event_fd(), POLLIN, 0};
    return ::poll(&entry, 1, 0) == 1;
}

/* Sleeps as UCP does: only when a look has found nothing. */
void sleep(Poller &poller)
{
    for (unsigned turn = 0; turn < 20; ++turn) {
        if (poller.progress() == 0 &&
            poller.arm(UCT_EVENT_RECV) == UCS_OK) {
            return;
        }
    }
    fail("never lies down");
}

/* Of two NICs one has something at a certain moment of lying down: it is seen
 * before, or wakes. */
void comes_while_arming(Session &)
{
    for (bool has_fd : {false, true}) {
        for (unsigned moment = 0; moment < 4; ++moment) {
            Poller poller(fuselink::host_of_new_md());
            DeafNic first(has_fd), second(has_fd);
            first.add_to(poller);
            second.add_to(poller);
            DeafNic &armed = moment < 2 ? first : second;
            DeafNic &gets  = moment % 2 == 0 ? first : second;
            armed.before_arming([&gets] { gets.arrive(); });
            sleep(poller);
            REQUIRE(gets.waiting() == 0 || wakes(poller),
                    "asleep with something there: fd %d, moment %u", has_fd,
                    moment);
            while (poller.progress() != 0) {
            }
            sleep(poller);
            REQUIRE(!wakes(poller), "nothing there, and awake");
            second.arrive();
            REQUIRE(wakes(poller), "something there, and asleep");
        }
    }
}

/* What comes between any two calls while it lies down is not slept over. */
void comes_between(Session &)
{
    for (bool has_fd : {false, true}) {
        for (unsigned when = 0; when < 8; ++when) {
            Poller poller(fuselink::host_of_new_md());
            DeafNic nic(has_fd);
            unsigned step = 0;
            nic.add_to(poller);
            auto tick = [&] {
                if (step++ == when) {
                    nic.arrive();
                }
            };
            for (bool asleep = false; !asleep || step <= when;) {
                tick();
                unsigned found = poller.progress();
                tick();
                asleep = found == 0 &&
                         poller.arm(UCT_EVENT_RECV) == UCS_OK;
                REQUIRE(!asleep || nic.waiting() == 0 || wakes(poller),
                        "asleep with something there: fd %d, call %u", has_fd,
                        when);
            }
        }
    }
}

} // namespace

std::vector<Case> poller_cases()
{
    return {{"poller.comes_while_arming", comes_while_arming, nullptr},
            {"poller.comes_between", comes_between, nullptr}};
}

} // namespace fltest
