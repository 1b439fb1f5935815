/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "netlink_carrier.h"

#include "../../../ucs_ext/nic_counters.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace fuselink {
namespace {

/* As large as any message of the kernel's to such a socket. */
constexpr size_t kBuffer = 32 << 10;

/* Times that all is asked for while more comes than the socket has room for. */
constexpr unsigned kMostTries = 8;

template <typename T> const T *body_of(const nlmsghdr &message)
{
    return message.nlmsg_len < NLMSG_LENGTH(sizeof(T)) ?
               nullptr :
               static_cast<const T *>(NLMSG_DATA(
                   const_cast<nlmsghdr *>(&message)));
}

/* Neither loopback nor of a link alone. */
bool leads_out(uint8_t family, const std::array<uint8_t, 16> &address)
{
    if (family == 4) {
        return address[0] != 127 && !(address[0] == 169 && address[1] == 254);
    }
    constexpr std::array<uint8_t, 16> kLoopback = {0, 0, 0, 0, 0, 0, 0, 0,
                                                   0, 0, 0, 0, 0, 0, 0, 1};
    return address != kLoopback && !(address[0] == 0xfe && (address[1] & 0xc0) == 0x80);
}

} // namespace

std::unique_ptr<NetlinkCarrier> NetlinkCarrier::open(std::string &error)
{
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC,
                          NETLINK_ROUTE);
    if (fd < 0) {
        error = std::string("no netlink socket: ") + strerror(errno);
        return nullptr;
    }
    std::unique_ptr<NetlinkCarrier> carrier(new NetlinkCarrier(fd));
    sockaddr_nl                     own{};
    own.nl_family = AF_NETLINK;
    own.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
    if (bind(fd, reinterpret_cast<sockaddr *>(&own), sizeof(own)) != 0) {
        error = std::string("netlink says nothing of links: ") +
                strerror(errno);
        return nullptr;
    }
    carrier->ask_all();
    for (unsigned i = 0; i < kMostTries && !carrier->read_all(); ++i) {
    }
    if (carrier->asking_ != Asking::Nothing) {
        error = "netlink does not say which links there are";
        return nullptr;
    }
    carrier->changed_ = false;
    return carrier;
}

NetlinkCarrier::~NetlinkCarrier()
{
    close(fd_);
}

bool NetlinkCarrier::look(sched::Nanos now)
{
    if (now >= next_) {
        next_ = now + kPause;
        for (unsigned i = 0; i < kMostTries && !read_all(); ++i) {
        }
    }
    /* Half of an answer is none. */
    return asking_ == Asking::Nothing && std::exchange(changed_, false);
}

/* False: some of it was lost, and all is being asked for anew. */
bool NetlinkCarrier::read_all()
{
    alignas(nlmsghdr) char buffer[kBuffer];
    for (;;) {
        const ssize_t got = recv(fd_, buffer, sizeof(buffer), 0);
        if (got > 0) {
            hear(buffer, static_cast<size_t>(got));
        } else if (got < 0 && errno == ENOBUFS) {
            lost_ = true;
        } else if (got >= 0 || errno != EINTR) {
            break; /* that is all */
        }
    }
    if (!std::exchange(lost_, false)) {
        return true;
    }
    ask_all();
    return false;
}

/* What is heard meanwhile is as new as the answer, and may be part of it. */
void NetlinkCarrier::ask_all()
{
    if (asking_ == Asking::Nothing) {
        before_ = std::move(links_);
    }
    links_.clear();
    if (!ask(Asking::Links)) {
        give_up();
    }
}

/* What was known before is better than half of the truth. Later once more. */
void NetlinkCarrier::give_up()
{
    links_  = before_;
    asking_ = Asking::Nothing;
    lost_   = true;
}

bool NetlinkCarrier::ask(Asking what)
{
    struct {
        nlmsghdr head;
        rtgenmsg body;
    } request{};
    request.head.nlmsg_len    = NLMSG_LENGTH(sizeof(request.body));
    request.head.nlmsg_type   = what == Asking::Links ? RTM_GETLINK :
                                                        RTM_GETADDR;
    request.head.nlmsg_flags  = NLM_F_REQUEST | NLM_F_DUMP;
    request.head.nlmsg_seq    = ++question_;
    request.body.rtgen_family = AF_UNSPEC;
    asking_                   = what;
    return send(fd_, &request, request.head.nlmsg_len, 0) >= 0;
}

void NetlinkCarrier::hear(const void *data, size_t length)
{
    const auto *message = static_cast<const nlmsghdr *>(data);
    auto        left    = static_cast<unsigned>(length);
    for (; NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
        switch (message->nlmsg_type) {
        case RTM_NEWLINK:
        case RTM_DELLINK:
            hear_link(*message);
            break;
        case RTM_NEWADDR:
        case RTM_DELADDR:
            hear_address(*message);
            break;
        case NLMSG_DONE:
        case NLMSG_ERROR:
            if (asking_ != Asking::Nothing && message->nlmsg_seq == question_) {
                answered(message->nlmsg_type == NLMSG_DONE);
            }
            break;
        default:
            break;
        }
        /* Something changed while the kernel went through all. */
        lost_ |= (message->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
    }
}

void NetlinkCarrier::answered(bool well)
{
    if (!well || lost_) {
        give_up();
    } else if (asking_ == Asking::Addresses) {
        asking_   = Asking::Nothing;
        changed_ |= links_ != before_;
    } else if (!ask(Asking::Addresses)) {
        give_up();
    }
}

void NetlinkCarrier::hear_link(const nlmsghdr &message)
{
    const auto *info = body_of<ifinfomsg>(message);
    if (info == nullptr || info->ifi_family != AF_UNSPEC) {
        return; /* as a bridge's port, not by itself */
    }
    if (message.nlmsg_type == RTM_DELLINK) {
        changed_ |= links_.erase(info->ifi_index) != 0;
        return;
    }
    constexpr unsigned kRuns = IFF_UP | IFF_RUNNING;
    const bool         runs  = (info->ifi_flags & kRuns) == kRuns;
    auto [link, is_new]      = links_.try_emplace(info->ifi_index);
    changed_ |= is_new || link->second.runs != runs;
    link->second.runs = runs;
}

void NetlinkCarrier::hear_address(const nlmsghdr &message)
{
    const auto *info = body_of<ifaddrmsg>(message);
    if (info == nullptr ||
        (info->ifa_family != AF_INET && info->ifa_family != AF_INET6)) {
        return;
    }
    if (info->ifa_family == AF_INET6 && message.nlmsg_type == RTM_NEWADDR &&
        (info->ifa_flags & IFA_F_TENTATIVE) != 0) {
        return; /* nobody may use it yet; the kernel says when */
    }
    const size_t size = info->ifa_family == AF_INET ? 4 : 16;
    Address      address{};
    address.first      = info->ifa_family == AF_INET ? 4 : 6;
    const rtattr *own  = nullptr;
    auto          left = static_cast<unsigned>(IFA_PAYLOAD(&message));
    for (const rtattr *one = IFA_RTA(info); RTA_OK(one, left);
         one = RTA_NEXT(one, left)) {
        /* Of a link from point to point IFA_ADDRESS is the other end's. */
        if (RTA_PAYLOAD(one) >= size &&
            (one->rta_type == IFA_LOCAL ||
             (one->rta_type == IFA_ADDRESS && own == nullptr))) {
            own = one;
        }
    }
    if (own == nullptr) {
        return;
    }
    memcpy(address.second.data(), RTA_DATA(const_cast<rtattr *>(own)), size);
    const int index = static_cast<int>(info->ifa_index);
    auto      link  = links_.find(index);
    if (message.nlmsg_type == RTM_DELADDR) {
        changed_ |= link != links_.end() &&
                    link->second.addresses.erase(address) != 0;
    } else if (link != links_.end()) {
        changed_ |= link->second.addresses.insert(address).second;
    }
}

bool NetlinkCarrier::carries(int ifindex) const
{
    const auto &links = asking_ == Asking::Nothing ? links_ : before_;
    auto        link  = links.find(ifindex);
    return ifindex == 0 || (link != links.end() && link->second.runs);
}

bool NetlinkCarrier::has(int ifindex, uint8_t family,
                         const std::array<uint8_t, 16> &address) const
{
    const auto &links = asking_ == Asking::Nothing ? links_ : before_;
    auto        link  = links.find(ifindex);
    Address     wanted{family, {}};
    std::copy_n(address.begin(), family == 4 ? 4 : 16, wanted.second.begin());
    return link != links.end() && link->second.addresses.count(wanted) != 0;
}

int NetlinkCarrier::holder(uint8_t                        family,
                           const std::array<uint8_t, 16> &address) const
{
    const auto &links = asking_ == Asking::Nothing ? links_ : before_;
    for (const auto &[ifindex, link] : links) {
        if (has(ifindex, family, address)) {
            return ifindex;
        }
    }
    return 0;
}

std::vector<int> NetlinkCarrier::ready() const
{
    std::vector<int> all;
    for (const auto &[ifindex, link] : asking_ == Asking::Nothing ? links_ : before_) {
        if (link.runs && std::any_of(link.addresses.begin(), link.addresses.end(),
                                     [](const Address &one) {
                                         return leads_out(one.first, one.second);
                                     })) {
            all.push_back(ifindex);
        }
    }
    return all;
}

std::optional<bool> NetlinkCarrier::port_carries(const std::string &port) const
{
    return read_nic_carrier(port);
}

} // namespace fuselink
