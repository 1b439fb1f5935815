/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "in_namespace.h"

#include "host/native_clock.h"
#include "ucs_ext/net.h"

#include <arpa/inet.h>
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace fuselink {
namespace {

/* Another host, until its end. */
class Neighbor {
public:
    Neighbor()
    {
        int ready[2];
        if (pipe(ready) != 0) {
            return;
        }
        pid_ = fork();
        if (pid_ == 0) {
            alarm(120);
            const bool apart = unshare(CLONE_NEWNET) == 0;
            if (apart && write(ready[1], "", 1) == 1) {
                pause();
            }
            _exit(1);
        }
        close(ready[1]);
        char byte;
        is_there_ = read(ready[0], &byte, 1) == 1;
        close(ready[0]);
    }
    ~Neighbor()
    {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
    }
    Neighbor(const Neighbor &)            = delete;
    Neighbor &operator=(const Neighbor &) = delete;

    bool        is_there() const { return is_there_; }
    std::string pid() const { return std::to_string(pid_); }
    bool        does(const std::string &command) const
    {
        return run("nsenter --net=" + space(pid()) + " sh -c '" + command + "'");
    }
    /** A byte goes to that address, if it is found. */
    bool sends_to(const char *address) const
    {
        const int own = open(space("self").c_str(), O_RDONLY | O_CLOEXEC),
                  its = open(space(pid()).c_str(), O_RDONLY | O_CLOEXEC);
        bool      sent = own >= 0 && its >= 0 && setns(its, CLONE_NEWNET) == 0;
        if (sent) {
            const int   fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
            sockaddr_in to{};
            to.sin_family      = AF_INET;
            to.sin_port        = htons(9);
            to.sin_addr.s_addr = inet_addr(address);
            sent = sendto(fd, "", 1, 0, reinterpret_cast<sockaddr *>(&to), sizeof(to)) == 1;
            close(fd);
            sent &= setns(own, CLONE_NEWNET) == 0;
        }
        close(own);
        close(its);
        return sent;
    }

private:
    static std::string space(const std::string &process)
    {
        return "/proc/" + process + "/ns/net";
    }

    pid_t pid_      = -1;
    bool  is_there_ = false;
};

bool comes_true(const std::function<bool()> &condition)
{
    const sched::Nanos end = native_now() + sched::Nanos::seconds(60);
    while (!condition()) {
        if (native_now() > end) {
            return false;
        }
        usleep(20'000);
    }
    return true;
}

/* It asks for an address that is not there yet, and would ask again after an hour. */
int asked_for()
{
    Neighbor neighbor;
    WANT(neighbor.is_there());
    WANT(run("ip link set lo up && ip link add a0 type veth peer name b0 && "
             "ip link set b0 netns " + neighbor.pid() + " && "
             "ip link set a0 up"));
    WANT(neighbor.does("ip address add 10.9.8.2/24 dev b0 && ip link set b0 up && "
                       "echo 3600000 >/proc/sys/net/ipv4/neigh/b0/retrans_time_ms"));
    WANT(comes_true([&] {
        return neighbor.does("ip link show b0 | grep -q LOWER_UP");
    }));
    const std::string asks  = "ip neighbor show to 10.9.8.7 | grep -q INCOMPLETE",
                      knows = "ip neighbor show to 10.9.8.7 | grep -q lladdr";
    WANT(neighbor.sends_to("10.9.8.7"));
    WANT(comes_true([&] { return neighbor.does(asks); }));
    WANT(run("ip address add 10.9.8.7/24 dev a0"));
    WANT(neighbor.does(asks));

    const auto nic = static_cast<int>(if_nametoindex("a0"));
    net::introduce(nic, {10, 9, 8, 7});
    WANT(comes_true([&] { return neighbor.does(knows); }));
    return kGood;
}

TEST(Introduce, WhoAsksKnows)
{
    RUN_IN_NAMESPACE(asked_for);
}

} // namespace
} // namespace fuselink
