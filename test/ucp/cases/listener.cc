/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Clients and servers: endpoints by socket address. fuselink's connection manager has to be
 * named, UCX_SOCKADDR_TLS_PRIORITY=fuselink: with UCX's own UCP looks for transports on the
 * device that the kernel's route to the address leaves by, nic0, and fuselink's is called
 * rails. */

#include "../stack/link.h"
#include "cases.h"
#include "harness/nics.h"

#include <arpa/inet.h>
#include <cstring>
#include <deque>
#include <ifaddrs.h>
#include <memory>
#include <sys/socket.h>
#include <unistd.h>

namespace fltest {
namespace {

/* The address of this host's first NIC for data, and any port. */
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
    return found;
}

/* A listener and the requests that have come to it. */
class Server {
public:
    explicit Server(Worker &worker)
    {
        const sockaddr_in address = address_of_nic0();
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

    ucp_listener_h handle() const { return listener_; }
    sockaddr_in    address() const
    {
        ucp_listener_attr_t attr{.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};
        REQUIRE_OK(ucp_listener_query(listener_, &attr));
        sockaddr_in result;
        memcpy(&result, &attr.sockaddr, sizeof(result));
        return result;
    }

    std::deque<ucp_conn_request_h> requests;

private:
    ucp_listener_h listener_;
};

/* Messages of all sizes in both directions. */
void exchange(Worker &worker, Endpoint &ep, bool active, uint64_t base = 0)
{
    uint64_t i = base;
    for (size_t size : {0ul, 8ul, 5000ul, 60000ul, 4ul << 20}) {
        Buffer out(size), in(size);
        out.write(mix(i) + active);
        Request receive = worker.receive(in, 2 * i + active);
        Request send    = ep.send(out, 2 * i + !active);
        std::string what = format("%zu bytes", size);
        worker.finish(receive, ("receive of " + what).c_str());
        worker.finish(send, ("send of " + what).c_str());
        in.require(mix(i) + !active, "message");
        ++i;
    }
}

/* The server says where it listens. */
sockaddr_in learn_address(const Link &link)
{
    sockaddr_in server{};
    const Bytes bytes = link.channel().receive();
    REQUIRE(bytes.size() == sizeof(server), "no address");
    memcpy(&server, bytes.data(), sizeof(server));
    return server;
}
void tell_address(const Link &link, const Server &server)
{
    const sockaddr_in own = server.address();
    Bytes             bytes(sizeof(own));
    memcpy(bytes.data(), &own, sizeof(own));
    link.channel().send(bytes);
}

ucp_conn_request_h take_request(Worker &worker, Server &server)
{
    worker.until([&] { return !server.requests.empty(); }, "a client", 10);
    const ucp_conn_request_h request = server.requests.front();
    server.requests.pop_front();
    return request;
}

/* A client that hears that within so many seconds; its worker can do all else. */
void hear(Link &link, ucs_status_t expected, const char *what, double seconds)
{
    Worker &worker = link.worker();
    Endpoint ep(worker, learn_address(link));
    worker.until([&] { return ep.errors() != 0; }, what, seconds);
    REQUIRE(ep.error() == expected, "the client heard '%s'", ucs_status_string(ep.error()));
    ep.close(true);
    exchange(worker, link.ep(), true);
}

/* With UCX's own connection manager a client hears soon that it cannot, and its worker can
 * do all else. */
void refused(Session &session)
{
    Link link(session, {});
    Worker &worker = link.worker();
    if (session.active()) {
        hear(link, UCS_ERR_UNREACHABLE, "the refusal", 5);
    } else {
        Server server(worker);
        tell_address(link, server);
        exchange(worker, link.ep(), false);
        REQUIRE(server.requests.empty(), "a client came");
    }
    link.finish();
}

/* Clients come, say and hear something, and go; the next ones find everything as it was.
 * Endpoints report failures, `watched`, or do not. */
void clients(Session &session, bool watched)
{
    constexpr unsigned kRounds = 3, kClients = 4;
    Link link(session, {.connect = false});
    Worker &worker = link.worker();
    std::unique_ptr<Server> server;
    sockaddr_in             address{};
    if (session.active()) {
        address = learn_address(link);
    } else {
        server = std::make_unique<Server>(worker);
        tell_address(link, *server);
    }
    for (unsigned round = 0; round < kRounds; ++round) {
        std::deque<Endpoint> eps;
        for (unsigned i = 0; i < kClients; ++i) {
            if (session.active()) {
                eps.emplace_back(worker, address, watched);
            } else {
                eps.emplace_back(worker, take_request(worker, *server), watched);
            }
        }
        /* Which of them is whose does not matter: one worker has them all. */
        for (unsigned i = 0; i < kClients; ++i) {
            exchange(worker, eps[i], session.active(), 100 * (round * kClients + i));
        }
        link.meet();
        for (Endpoint &ep : eps) {
            REQUIRE(ep.errors() == 0, "an endpoint failed: %s", ucs_status_string(ep.error()));
            /* Both close, each without waiting for the other. */
            if (session.active()) {
                ep.close(!watched);
            }
        }
        link.meet();
    }
    link.meet();
}

/* A client that is not wanted hears that, and no more. */
void rejected(Session &session)
{
    Link link(session, {});
    Worker &worker = link.worker();
    if (session.active()) {
        hear(link, UCS_ERR_REJECTED, "the rejection", 10);
    } else {
        Server server(worker);
        tell_address(link, server);
        REQUIRE_OK(ucp_listener_reject(server.handle(), take_request(worker, server)));
        exchange(worker, link.ep(), false);
    }
    link.finish();
}

/* A client of the same worker is refused, soon, and the worker goes on. */
void own_client(Session &)
{
    Context context({});
    Worker  worker(context);
    Server  server(worker);
    const sockaddr_in address = server.address();
    Endpoint client(worker, address);
    const ucp_conn_request_h request = take_request(worker, server);
    ucp_ep_params_t params{};
    params.field_mask   = UCP_EP_PARAM_FIELD_CONN_REQUEST;
    params.conn_request = request;
    ucp_ep_h ep;
    REQUIRE(ucp_ep_create(worker.handle(), &params, &ep) != UCS_OK, "a client was taken");
    worker.until([&] { return client.errors() != 0; }, "the refusal", 10);
    client.close(true);
    /* Ordinary endpoints to itself are as they were. */
    Endpoint self(worker, worker.address());
    Buffer   out(100000), in(100000);
    out.write(1);
    Request receive = worker.receive(in, 1);
    Request send    = self.send(out, 1);
    worker.finish(receive, "receive");
    worker.finish(send, "send");
    in.require(1, "message to itself");
}

/* A client with another version of fuselink, in the form of UCX's tcp, is rejected. */
void other_version(Session &)
{
    struct Header { /* of UCX's tcp */
        size_t  length;
        uint8_t status;
    };
    Context context({});
    Worker  worker(context);
    Server  server(worker);
    const sockaddr_in address = server.address();
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(connect(fd, reinterpret_cast<const sockaddr *>(&address), sizeof(address)) == 0,
            "connect() failed");
    Bytes data(100, 1);
    const uint8_t trailer[] = {0x66, 0x73, 0x6c, 0x6b, 255, 0, 0, 0};
    data.insert(data.end(), std::begin(trailer), std::end(trailer));
    Header header{data.size(), 0};
    REQUIRE(send(fd, &header, sizeof(header), 0) == sizeof(header) &&
                send(fd, data.data(), data.size(), 0) == static_cast<ssize_t>(data.size()),
            "send() failed");
    header = {1, 0};
    auto answered = [&] {
        return recv(fd, &header, sizeof(header), MSG_DONTWAIT) == sizeof(header);
    };
    worker.until(answered, "the rejection", 10);
    REQUIRE(header.length == 0 && header.status == static_cast<uint8_t>(UCS_ERR_REJECTED),
            "the server answered with %u", header.status);
    REQUIRE(server.requests.empty(), "a client came");
    close(fd);
}

/* Long messages to a client go over all NICs. */
void shares(Session &session)
{
    constexpr size_t kSize = 4 << 20, kCount = 12;
    Link link(session, {});
    Worker &worker = link.worker();
    std::unique_ptr<Server>   server;
    std::unique_ptr<Endpoint> ep;
    if (session.active()) {
        sockaddr_in address = learn_address(link);
        ep = std::make_unique<Endpoint>(worker, address);
    } else {
        server = std::make_unique<Server>(worker);
        tell_address(link, *server);
        ep = std::make_unique<Endpoint>(worker, take_request(worker, *server));
    }
    auto move = [&] {
        std::deque<Buffer>  buffers;
        std::deque<Request> requests;
        for (size_t i = 0; i < kCount; ++i) {
            Buffer &buffer = buffers.emplace_back(kSize);
            if (session.active()) {
                buffer.write(mix(i));
                requests.push_back(ep->send(buffer, 1000 + i));
            } else {
                requests.push_back(worker.receive(buffer, 1000 + i));
            }
        }
        worker.finish_all(requests, "bulk data");
        for (size_t i = 0; !session.active() && i < kCount; ++i) {
            buffers[i].require(mix(i), "bulk data");
        }
    };
    move(); /* the rates are known after the first few megabytes */
    soon_right(link, session.active(), 6, move, [](const std::vector<uint64_t> &sent) {
        for (uint64_t bytes : sent) {
            REQUIRE(bytes > kCount * kSize / sent.size() * 3 / 4, "a NIC carried %lu bytes of %zu",
                    bytes, kCount * kSize);
        }
    });
    ep->close(session.active());
    link.finish();
}

} // namespace

std::vector<Case> listener_cases()
{
    std::vector<Case> cases;
    for_engines(cases, "listener.refused", refused);
    /* With the new engine of UCX 1.13 clients die of an assertion (proto_reconfig.c), with
     * its own tcp as well. 1.20 is the first where it was tried and works. */
    unsigned major, minor, release;
    ucp_get_version(&major, &minor, &release);
    auto add = [&](const std::string &name, const std::function<void(Session &)> &both) {
        for (bool is_new : {false, true}) {
            if (!is_new || minor >= 20) {
                cases.push_back({name + (is_new ? ".new" : ""), both, both,
                                 {{Side::Both, "UCX_SOCKADDR_TLS_PRIORITY", "fuselink"},
                                  {Side::Both, "UCX_PROTO_ENABLE", is_new ? "y" : "n"}}});
            }
        }
    };
    add("listener.clients", [](Session &s) { clients(s, true); });
    add("listener.plain", [](Session &s) { clients(s, false); });
    add("listener.rejected", rejected);
    add("listener.shares", shares);
    auto add_alone = [&](const char *name, const std::function<void(Session &)> &active,
                         const LogLine &line) {
        cases.push_back({name, active, nullptr,
                         {{Side::Active, "UCX_SOCKADDR_TLS_PRIORITY", "fuselink"},
                          {Side::Active, "UCX_PROTO_ENABLE", "n"}},
                         {line}});
    };
    add_alone("listener.own", own_client,
              {Side::Active, "failed to create server ep|not connected", 0, 4});
    add_alone("listener.version", other_version,
              {Side::Active, "a client speaks protocol version 255, this process"});
    /* UCX's own manager has the address already: ours is left out, of which UCP says nothing
     * but in its diagnostics. */
    cases.push_back({"listener.every", [](Session &) {
                         Context context({});
                         Worker  worker(context);
                         Server  server(worker);
                     }, nullptr,
                     {{Side::Active, "UCX_SOCKADDR_TLS_PRIORITY", "tcp,fuselink"}}});
    return cases;
}

} // namespace fltest
