/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Clients and servers: endpoints by socket address. UCP looks for transports on
 * the device that the kernel's route to the address leaves by, nic0, and
 * fuselink's is called rails: so it cannot serve them, and has to say so. */

#include "../stack/link.h"
#include "cases.h"

#include <arpa/inet.h>
#include <cstring>
#include <deque>
#include <ifaddrs.h>

namespace fltest {
namespace {

constexpr uint16_t kPort = 7500;

/* The address of this host's first NIC for data. */
sockaddr_in address_of_nic0()
{
    ifaddrs *list;
    REQUIRE(getifaddrs(&list) == 0, "getifaddrs() failed");
    sockaddr_in found{};
    for (ifaddrs *at = list; at != nullptr; at = at->ifa_next) {
        if (at->ifa_addr != nullptr && at->ifa_addr->sa_family == AF_INET &&
            strcmp(at->ifa_name, "nic0") == 0) {
            memcpy(&found, at->ifa_addr, sizeof(found));
        }
    }
    freeifaddrs(list);
    REQUIRE(found.sin_family == AF_INET, "this host has no nic0");
    found.sin_port = htons(kPort);
    return found;
}

/* A listener and the requests that have come to it. */
class Server {
public:
    Server(Worker &worker, const sockaddr_in &address)
    {
        ucp_listener_params_t params{};
        params.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR |
                            UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
        params.sockaddr.addr    = reinterpret_cast<const sockaddr *>(&address);
        params.sockaddr.addrlen = sizeof(address);
        params.conn_handler.cb  = [](ucp_conn_request_h request, void *arg) {
            static_cast<Server *>(arg)->requests.push_back(request);
        };
        params.conn_handler.arg = this;
        REQUIRE_OK(ucp_listener_create(worker.handle(), &params, &listener_));
    }
    ~Server()
    {
        if (!failing()) {
            ucp_listener_destroy(listener_);
        }
    }
    Server(const Server &)            = delete;
    Server &operator=(const Server &) = delete;

    std::deque<ucp_conn_request_h> requests;

private:
    ucp_listener_h listener_;
};

/* Messages of all sizes in both directions. */
void exchange(Worker &worker, Endpoint &ep, bool active)
{
    size_t i = 0;
    for (size_t size : {0ul, 8ul, 5000ul, 60000ul, 4ul << 20}) {
        Buffer out(size), in(size);
        out.write(mix(i) + active);
        Request receive = worker.receive(in, i);
        Request send    = ep.send(out, i);
        std::string what = format("%zu bytes", size);
        worker.finish(receive, ("receive of " + what).c_str());
        worker.finish(send, ("send of " + what).c_str());
        in.require(mix(i) + !active, "message");
        ++i;
    }
}

/* With fuselink alone a client hears soon that it cannot, and its worker can do
 * all else. */
void refused(Session &session)
{
    Link link(session, {});
    Worker &worker = link.worker();
    if (session.active()) {
        sockaddr_in server{};
        Bytes bytes = link.channel().receive();
        REQUIRE(bytes.size() == sizeof(server), "no address");
        memcpy(&server, bytes.data(), sizeof(server));
        Endpoint ep(worker, reinterpret_cast<sockaddr *>(&server),
                    sizeof(server));
        worker.until([&] { return ep.errors() != 0; }, "the refusal", 5);
        REQUIRE(ep.error() == UCS_ERR_UNREACHABLE, "the client heard '%s'",
                ucs_status_string(ep.error()));
        ep.close(true);
        exchange(worker, link.ep(), true);
    } else {
        sockaddr_in own = address_of_nic0();
        Server server(worker, own);
        Bytes bytes(sizeof(own));
        memcpy(bytes.data(), &own, sizeof(own));
        link.channel().send(bytes);
        exchange(worker, link.ep(), false);
        REQUIRE(server.requests.empty(), "a client came");
    }
    link.finish();
}

} // namespace

std::vector<Case> listener_cases()
{
    std::vector<Case> cases;
    for_engines(cases, "listener.refused", refused);
    return cases;
}

} // namespace fltest
