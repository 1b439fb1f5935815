/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SOCKETS_H
#define FUSELINK_TEST_SOCKETS_H

#include "failure.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <ifaddrs.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace fltest {

/** A TCP connection of this process on a NIC for data. */
struct Socket {
    int fd;
    int nic;

    /** Ends it: the other side is reset, and what is on its way is lost. UCX
     *  does not see that here, where it only receives. */
    void reset() const
    {
        sockaddr none{};
        none.sa_family = AF_UNSPEC;
        REQUIRE(connect(fd, &none, sizeof(none)) == 0, "cannot reset: %s",
                strerror(errno));
    }
};

/** The number of the NIC with this address, "nic3"; -1 if it has another name. */
inline int nic_of(in_addr address)
{
    ifaddrs *list;
    REQUIRE(getifaddrs(&list) == 0, "getifaddrs failed");
    int nic = -1;
    for (ifaddrs *one = list; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET &&
            strncmp(one->ifa_name, "nic", 3) == 0 &&
            reinterpret_cast<sockaddr_in *>(one->ifa_addr)->sin_addr.s_addr ==
                address.s_addr) {
            nic = std::stoi(one->ifa_name + 3);
        }
    }
    freeifaddrs(list);
    return nic;
}

/** The connections on which this process has received `least` bytes. */
inline std::vector<Socket> bulk_sockets(uint64_t least)
{
    std::vector<Socket> sockets;
    DIR *dir = opendir("/proc/self/fd");
    REQUIRE(dir != nullptr, "no /proc/self/fd");
    while (dirent *entry = readdir(dir)) {
        int         fd = atoi(entry->d_name);
        sockaddr_in own{};
        socklen_t   length = sizeof(own);
        tcp_info    info{};
        socklen_t   info_length = sizeof(info);
        if (getsockname(fd, reinterpret_cast<sockaddr *>(&own), &length) != 0 ||
            own.sin_family != AF_INET ||
            getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_length) != 0 ||
            info.tcpi_bytes_received < least) {
            continue;
        }
        int nic = nic_of(own.sin_addr);
        if (nic >= 0) {
            sockets.push_back({fd, nic});
        }
    }
    closedir(dir);
    return sockets;
}

} // namespace fltest

#endif
