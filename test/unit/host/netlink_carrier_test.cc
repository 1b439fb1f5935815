/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "host/netlink_carrier.h"
#include "host/native_clock.h"
#include "in_namespace.h"

#include <arpa/inet.h>
#include <functional>
#include <net/if.h>
#include <poll.h>

namespace fuselink {
namespace {

using Ip = std::array<uint8_t, 16>;

bool readable(const Carrier &carrier, int milliseconds)
{
    pollfd one{carrier.event_fd(), POLLIN, 0};
    return poll(&one, 1, milliseconds) == 1;
}

/* Sleeps until there is something to hear, again and again. Heard: look() has said
 * that something is new. */
bool becomes_true(Carrier &carrier, const std::function<bool()> &condition,
                  bool *heard = nullptr)
{
    const sched::Nanos end = native_now() + sched::Nanos::seconds(60);
    while (!condition()) {
        if (native_now() > end) {
            return false;
        }
        readable(carrier, 100);
        const bool is_new = carrier.look(native_now() + Carrier::kPause);
        if (heard != nullptr) {
            *heard |= is_new;
        }
    }
    return true;
}

int links()
{
    std::string error;
    auto        carrier = NetlinkCarrier::open(error);
    WANT(carrier != nullptr);
    WANT(!carrier->look(native_now()));
    const int loopback = static_cast<int>(if_nametoindex("lo"));
    WANT(loopback != 0 && !carrier->carries(loopback));
    WANT(carrier->carries(0) && !carrier->carries(12345) &&
         !carrier->carries(-1));

    WANT(run("ip link add a0 type veth peer name b0"));
    const int a = static_cast<int>(if_nametoindex("a0")),
              b = static_cast<int>(if_nametoindex("b0"));
    WANT(a != 0 && b != 0 && !carrier->carries(a));
    WANT(run("ip link set a0 up && ip link set b0 up"));
    bool heard = false;
    WANT(becomes_true(*carrier, [&] {
        return carrier->carries(a) && carrier->carries(b);
    }, &heard));
    WANT(carrier->ready().empty()); /* no address but those of the link */
    WANT(heard && !carrier->carries(loopback));

    /* Who asks later has it from the beginning. */
    auto later = NetlinkCarrier::open(error);
    WANT(later != nullptr && later->carries(a) && later->carries(b) &&
         !later->carries(loopback));
    WANT(!later->look(native_now()));

    /* The cable is pulled at the other end, and plugged in again. */
    WANT(run("ip link set b0 down"));
    heard = false;
    WANT(becomes_true(*carrier, [&] { return !carrier->carries(a); }, &heard));
    WANT(heard);
    WANT(run("ip link set b0 up"));
    WANT(becomes_true(*carrier, [&] { return carrier->carries(a); }));
    /* And the other has missed nothing of it. */
    WANT(becomes_true(*later, [&] { return !readable(*later, 0); }));
    WANT(later->carries(a));

    WANT(run("ip link set a0 down"));
    WANT(becomes_true(*carrier, [&] { return !carrier->carries(a); }));
    WANT(run("ip link set a0 up"));
    WANT(becomes_true(*carrier, [&] { return carrier->carries(a); }));
    WANT(run("ip link del a0"));
    WANT(becomes_true(*carrier, [&] {
        return !carrier->carries(a) && !carrier->carries(b);
    }));
    return kGood;
}

int addresses()
{
    std::string error;
    WANT(run("ip link add a0 type veth peer name b0"));
    const int a       = static_cast<int>(if_nametoindex("a0"));
    auto      carrier = NetlinkCarrier::open(error);
    const Ip  ip{10, 9, 8, 7}, other{10, 9, 8, 6};
    Ip        ip6{};
    WANT(inet_pton(AF_INET6, "fd00::17", ip6.data()) == 1);
    WANT(carrier != nullptr && !carrier->has(a, 4, ip));
    bool heard = false;
    WANT(run("ip address add 10.9.8.7/24 dev a0"));
    WANT(becomes_true(*carrier, [&] { return carrier->has(a, 4, ip); },
                      &heard));
    WANT(carrier->ready().empty()); /* no link */
    WANT(run("ip link set a0 up && ip link set b0 up"));
    WANT(becomes_true(*carrier, [&] { return carrier->carries(a); }));
    WANT(carrier->ready() == std::vector<int>{a});
    WANT(run("ip link set a0 down"));
    WANT(becomes_true(*carrier, [&] { return !carrier->carries(a); }));
    WANT(carrier->ready().empty());
    WANT(heard && !carrier->has(a, 4, other) && !carrier->has(a + 1, 4, ip) &&
         !carrier->has(a, 6, ip));
    const bool has_ipv6 = run("ip address add fd00::17/64 dev a0 nodad "
                              "2>/dev/null");
    WANT(!has_ipv6 || becomes_true(*carrier, [&] {
        return carrier->has(a, 6, ip6);
    }));
    auto later = NetlinkCarrier::open(error);
    WANT(later != nullptr && later->has(a, 4, ip) &&
         later->has(a, 6, ip6) == has_ipv6);
    heard = false;
    WANT(run("ip address del 10.9.8.7/24 dev a0"));
    WANT(becomes_true(*carrier, [&] { return !carrier->has(a, 4, ip); },
                      &heard));
    WANT(heard && carrier->has(a, 6, ip6) == has_ipv6);
    return kGood;
}

/* It comes back with another number. */
int taken_away()
{
    const Ip    ip{10, 9, 8, 7};
    std::string error;
    WANT(run("ip link add a0 type veth peer name b0 && ip link set b0 up && "
             "ip link set a0 up && ip address add 10.9.8.7/24 dev a0"));
    const int a       = static_cast<int>(if_nametoindex("a0"));
    auto      carrier = NetlinkCarrier::open(error);
    WANT(carrier != nullptr && carrier->holder(4, ip) == a);
    WANT(carrier->holder(4, Ip{10, 9, 8, 8}) == 0);
    WANT(run("ip link del a0"));
    WANT(becomes_true(*carrier, [&] { return carrier->holder(4, ip) == 0; }));
    WANT(run("ip link add c0 type veth peer name d0 && "
             "ip link add a0 type veth peer name b0 && ip link set b0 up && "
             "ip link set a0 up && ip address add 10.9.8.7/24 dev a0"));
    const int again = static_cast<int>(if_nametoindex("a0"));
    WANT(again != a);
    WANT(becomes_true(*carrier, [&] {
        return carrier->holder(4, ip) == again && carrier->carries(again);
    }));
    WANT(!carrier->has(a, 4, ip) && !carrier->carries(a));
    return kGood;
}

/* It reads no more often than it says. */
int pauses()
{
    std::string error;
    WANT(run("ip link add a0 type veth peer name b0"));
    const int a       = static_cast<int>(if_nametoindex("a0"));
    auto      carrier = NetlinkCarrier::open(error);
    WANT(carrier != nullptr);
    const sched::Nanos now = native_now();
    WANT(!carrier->look(now) && !readable(*carrier, 0));
    WANT(run("ip address add 10.9.8.7/24 dev a0"));
    WANT(readable(*carrier, 60'000));
    WANT(!carrier->look(now + Carrier::kPause - sched::Nanos(1)));
    WANT(readable(*carrier, 0) && !carrier->has(a, 4, Ip{10, 9, 8, 7}));
    WANT(carrier->look(now + Carrier::kPause));
    WANT(!readable(*carrier, 0) && carrier->has(a, 4, Ip{10, 9, 8, 7}));
    WANT(!carrier->look(now + Carrier::kPause * 2));
    return kGood;
}

/* More than the socket has room for. */
int overrun()
{
    constexpr int kMany = 3000;
    std::string   error;
    WANT(run("ip link add a0 type veth peer name b0 && ip link set b0 up && "
             "ip address add 10.1.0.1/32 dev a0"));
    const int a       = static_cast<int>(if_nametoindex("a0"));
    auto      carrier = NetlinkCarrier::open(error);
    WANT(carrier != nullptr);
    FILE *batch = popen("ip -batch -", "w");
    WANT(batch != nullptr);
    fprintf(batch, "address del 10.1.0.1/32 dev a0\n");
    for (int i = 0; i < kMany; ++i) {
        fprintf(batch, "address add 10.9.%d.%d/32 dev a0\n", i / 250,
                i % 250 + 1);
    }
    fprintf(batch, "link set a0 up\n");
    WANT(pclose(batch) == 0);
    bool heard = false;
    WANT(becomes_true(*carrier, [&] {
        return carrier->carries(a) &&
               carrier->has(a, 4, Ip{10, 9, (kMany - 1) / 250,
                                     (kMany - 1) % 250 + 1});
    }, &heard));
    WANT(heard && !carrier->has(a, 4, Ip{10, 1, 0, 1}));
    for (int i = 0; i < kMany; ++i) {
        WANT(carrier->has(a, 4, Ip{10, 9, static_cast<uint8_t>(i / 250),
                                   static_cast<uint8_t>(i % 250 + 1)}));
    }
    WANT(run("ip link set a0 down"));
    WANT(becomes_true(*carrier, [&] { return !carrier->carries(a); }));
    return kGood;
}

TEST(NetlinkCarrier, HearsOfLinks)
{
    RUN_IN_NAMESPACE(links);
}

TEST(NetlinkCarrier, HearsOfAddresses)
{
    RUN_IN_NAMESPACE(addresses);
}

TEST(NetlinkCarrier, FindsAnAddressThatHasMoved)
{
    RUN_IN_NAMESPACE(taken_away);
}

TEST(NetlinkCarrier, PausesBetweenLooks)
{
    RUN_IN_NAMESPACE(pauses);
}

TEST(NetlinkCarrier, AsksAnewWhenItHasLostSome)
{
    RUN_IN_NAMESPACE(overrun);
}

/* Here, whatever links there are. */
TEST(NetlinkCarrier, KnowsTheLoopbackInterface)
{
    std::string error;
    auto        carrier = NetlinkCarrier::open(error);
    ASSERT_NE(carrier, nullptr) << error;
    const int loopback = static_cast<int>(if_nametoindex("lo"));
    if (loopback == 0) {
        GTEST_SKIP() << "no loopback interface";
    }
    EXPECT_EQ(carrier->carries(loopback),
              carrier->has(loopback, 4, Ip{127, 0, 0, 1}));
    EXPECT_GE(carrier->event_fd(), 0);
}

} // namespace
} // namespace fuselink
