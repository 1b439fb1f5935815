/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "net.h"

#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace fuselink::net {
namespace {

class Socket {
public:
    Socket(int domain, int type, int protocol)
        : fd_(socket(domain, type | SOCK_CLOEXEC, protocol))
    {
    }
    ~Socket()
    {
        if (fd_ >= 0) {
            close(fd_);
        }
    }
    Socket(const Socket &)            = delete;
    Socket &operator=(const Socket &) = delete;
    int  fd() const { return fd_; }

private:
    int fd_;
};

size_t address_size(uint8_t family)
{
    return family == 4 ? 4 : 16;
}

bool copy_sockaddr(const sockaddr *sa, uint8_t &family,
                   std::array<uint8_t, 16> &out)
{
    if (sa == nullptr) {
        return false;
    }
    if (sa->sa_family == AF_INET) {
        sockaddr_in in;
        memcpy(&in, sa, sizeof(in));
        family = 4;
        memcpy(out.data(), &in.sin_addr, 4);
        return true;
    }
    if (sa->sa_family == AF_INET6) {
        sockaddr_in6 in6;
        memcpy(&in6, sa, sizeof(in6));
        family = 6;
        memcpy(out.data(), &in6.sin6_addr, 16);
        return true;
    }
    return false;
}

} // namespace

bool InterfaceAddress::same_subnet(const InterfaceAddress &other) const
{
    if (family != other.family || netmask != other.netmask) {
        return false;
    }
    for (size_t i = 0; i < address_size(family); ++i) {
        if ((address[i] ^ other.address[i]) & netmask[i]) {
            return false;
        }
    }
    return true;
}

std::string InterfaceAddress::subnet() const
{
    std::array<uint8_t, 16> prefix{};
    int bits = 0;
    for (size_t i = 0; i < address_size(family); ++i) {
        prefix[i] = address[i] & netmask[i];
        bits     += __builtin_popcount(netmask[i]);
    }
    char text[INET6_ADDRSTRLEN] = "?";
    inet_ntop(family == 4 ? AF_INET : AF_INET6, prefix.data(), text,
              sizeof(text));
    return std::string(text) + "/" + std::to_string(bits);
}

std::vector<InterfaceAddress> interface_addresses()
{
    std::vector<InterfaceAddress> result;
    ifaddrs *list = nullptr;
    if (getifaddrs(&list) != 0) {
        return result;
    }
    for (ifaddrs *entry = list; entry != nullptr; entry = entry->ifa_next) {
        InterfaceAddress one;
        uint8_t mask_family;
        if (!(entry->ifa_flags & IFF_UP) ||
            !copy_sockaddr(entry->ifa_addr, one.family, one.address) ||
            !copy_sockaddr(entry->ifa_netmask, mask_family, one.netmask)) {
            continue;
        }
        one.device  = entry->ifa_name;
        one.ifindex = static_cast<int>(if_nametoindex(entry->ifa_name));
        result.push_back(std::move(one));
    }
    freeifaddrs(list);
    return result;
}

int route_ifindex(uint8_t family, const std::array<uint8_t, 16> &address)
{
    Socket sock(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    if (sock.fd() < 0) {
        return 0;
    }
    /* The kernel answers at once; the timeout only bounds the impossible. */
    timeval timeout{1, 0};
    setsockopt(sock.fd(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));

    struct {
        nlmsghdr header;
        rtmsg    route;
        char     attributes[64];
    } request{};
    size_t length              = address_size(family);
    request.header.nlmsg_type  = RTM_GETROUTE;
    request.header.nlmsg_flags = NLM_F_REQUEST;
    request.header.nlmsg_len   = NLMSG_LENGTH(sizeof(rtmsg));
    request.header.nlmsg_seq   = 1;
    request.route.rtm_family   = family == 4 ? AF_INET : AF_INET6;
    request.route.rtm_dst_len  = static_cast<unsigned char>(length * 8);

    auto *attribute = reinterpret_cast<rtattr *>(
        reinterpret_cast<char *>(&request) +
        NLMSG_ALIGN(request.header.nlmsg_len));
    attribute->rta_type = RTA_DST;
    attribute->rta_len  = static_cast<unsigned short>(RTA_LENGTH(length));
    memcpy(RTA_DATA(attribute), address.data(), length);
    request.header.nlmsg_len = NLMSG_ALIGN(request.header.nlmsg_len) +
                               RTA_ALIGN(attribute->rta_len);

    if (send(sock.fd(), &request, request.header.nlmsg_len, 0) < 0) {
        return 0;
    }
    alignas(nlmsghdr) char buffer[4096];
    ssize_t received = recv(sock.fd(), buffer, sizeof(buffer), 0);
    if (received < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(rtmsg)))) {
        return 0;
    }
    auto *header = reinterpret_cast<nlmsghdr *>(buffer);
    if (!NLMSG_OK(header, static_cast<size_t>(received)) ||
        header->nlmsg_type != RTM_NEWROUTE) {
        return 0;
    }
    auto *route = static_cast<rtmsg *>(NLMSG_DATA(header));
    int   left  = static_cast<int>(RTM_PAYLOAD(header));
    for (rtattr *a = RTM_RTA(route); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
        if (a->rta_type == RTA_OIF) {
            int oif;
            memcpy(&oif, RTA_DATA(a), sizeof(oif));
            return oif;
        }
    }
    return 0;
}

void introduce(int ifindex, const std::array<uint8_t, 16> &ipv4)
{
    /* TEST-NET-1 (RFC 5737), which is nobody's. Soon another address, and for long no such
     * one again: a kernel asks three times, once a second, whoever wants it to. */
    constexpr uint32_t kNobodys = 0xc0000200;
    using namespace std::chrono;
    const auto now = duration_cast<milliseconds>(steady_clock::now().time_since_epoch());
    sockaddr_in to{};
    to.sin_family      = AF_INET;
    to.sin_port        = htons(9); /* discard */
    to.sin_addr.s_addr = htonl(kNobodys + 1 + static_cast<uint32_t>(now.count() / 16 % 254));

    Socket sock(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    if (sock.fd() < 0) {
        return;
    }
    const int hops = 1; /* should a router answer for that address */
    setsockopt(sock.fd(), IPPROTO_IP, IP_TTL, &hops, sizeof(hops));

    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(in_pktinfo))] = {};
    msghdr                message{};
    message.msg_name       = &to;
    message.msg_namelen    = sizeof(to);
    message.msg_control    = control;
    message.msg_controllen = sizeof(control);
    cmsghdr *header        = CMSG_FIRSTHDR(&message);
    header->cmsg_level     = IPPROTO_IP;
    header->cmsg_type      = IP_PKTINFO;
    header->cmsg_len       = CMSG_LEN(sizeof(in_pktinfo));
    in_pktinfo from{};
    from.ipi_ifindex = ifindex;
    memcpy(&from.ipi_spec_dst, ipv4.data(), sizeof(from.ipi_spec_dst));
    memcpy(CMSG_DATA(header), &from, sizeof(from));
    /* By no router: what no network of the interface has is then taken to be there. */
    sendmsg(sock.fd(), &message, MSG_DONTROUTE | MSG_NOSIGNAL);
}

bool is_loopback(int ifindex)
{
    ifreq request{};
    Socket sock(AF_INET, SOCK_DGRAM, 0);
    return sock.fd() >= 0 && ifindex > 0 &&
           if_indextoname(static_cast<unsigned>(ifindex), request.ifr_name) !=
               nullptr &&
           ioctl(sock.fd(), SIOCGIFFLAGS, &request) == 0 &&
           (request.ifr_flags & IFF_LOOPBACK) != 0;
}

bool is_inner_bridge(const std::string &device)
{
    namespace fs = std::filesystem;
    const fs::path root("/sys/class/net");
    std::error_code error;
    fs::directory_iterator port(root / device / "brif", error);
    if (error) {
        return false;
    }
    for (; port != fs::directory_iterator(); port.increment(error)) {
        const fs::path dir = root / port->path().filename();
        if (fs::exists(dir / "device", error)) {
            return false; /* hardware */
        }
        /* Bonds and VLANs name what they stand on "lower_..."; with a veth
         * the other end is in another namespace and has no name here. */
        for (fs::directory_iterator link(dir, error), end;
             !error && link != end; link.increment(error)) {
            if (link->path().filename().string().starts_with("lower_")) {
                return false;
            }
        }
    }
    return true;
}

std::vector<std::string> rdma_netdevs(const std::string &port)
{
    namespace fs = std::filesystem;
    std::vector<std::string> result;
    size_t colon = port.find(':');
    if (colon == std::string::npos) {
        return result;
    }
    /* One file for each of up to 1024 GIDs, naming the interface whose address
     * it is. Those in use come first. */
    const fs::path dir = fs::path("/sys/class/infiniband") /
                         port.substr(0, colon) / "ports" /
                         port.substr(colon + 1) / "gid_attrs" / "ndevs";
    for (int gid = 0; gid < 16; ++gid) {
        std::ifstream in(dir / std::to_string(gid));
        std::string   name;
        if (in >> name && std::find(result.begin(), result.end(), name) ==
                              result.end()) {
            result.push_back(name);
        }
    }
    return result;
}

std::vector<std::string> active_rdma_ports()
{
    namespace fs = std::filesystem;
    std::vector<std::string> result;
    std::error_code error;
    for (const auto &device :
         fs::directory_iterator("/sys/class/infiniband", error)) {
        for (const auto &port :
             fs::directory_iterator(device.path() / "ports", error)) {
            std::ifstream in(port.path() / "state"); /* "4: ACTIVE" */
            std::string   number, state;
            if (in >> number >> state && state == "ACTIVE") {
                result.push_back(device.path().filename().string() + ":" +
                                 port.path().filename().string());
            }
        }
    }
    return result;
}

} // namespace fuselink::net
