/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "endpoint.h"

#include <cstring>

namespace fltest {
namespace {

uct_ep_params_t params_for(Iface &iface, const Address &address)
{
    uct_ep_params_t params{};
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE |
                        UCT_EP_PARAM_FIELD_DEV_ADDR |
                        UCT_EP_PARAM_FIELD_IFACE_ADDR;
    params.iface      = iface.handle();
    params.dev_addr   = reinterpret_cast<const uct_device_addr_t *>(
        address.device.data());
    params.iface_addr = reinterpret_cast<const uct_iface_addr_t *>(
        address.iface.data());
    return params;
}

struct Piece {
    const void *data;
    size_t      length;
};

size_t pack_piece(void *dest, void *arg)
{
    auto *piece = static_cast<const Piece *>(arg);
    memcpy(dest, piece->data, piece->length);
    return piece->length;
}

} // namespace

Endpoint::Endpoint(Iface &iface, const Address &address) : iface_(iface)
{
    uct_ep_params_t params = params_for(iface, address);
    REQUIRE_OK(uct_ep_create(&params, &ep_));
}

Endpoint::~Endpoint()
{
    uct_ep_destroy(ep_);
}

ucs_status_t Endpoint::try_create(Iface &iface, const Address &address)
{
    uct_ep_params_t params = params_for(iface, address);
    uct_ep_h ep;
    ucs_status_t status = uct_ep_create(&params, &ep);
    if (status == UCS_OK) {
        uct_ep_destroy(ep);
    }
    return status;
}

/* Calls until the answer is not "no room"; any other error fails the case. The
 * answer is a status or, as a longer type, a length. */
template <typename Call> auto Endpoint::insist(const char *what, Call &&call)
{
    auto result = call();
    if (result == UCS_ERR_NO_RESOURCE) {
        iface_.worker().until(
            [&] {
                result = call();
                return result != UCS_ERR_NO_RESOURCE;
            },
            what);
    }
    REQUIRE(result >= 0, "%s: %s", what,
            ucs_status_string(static_cast<ucs_status_t>(result)));
    return result;
}

ssize_t Endpoint::try_am_bcopy(uint8_t id, const void *data, size_t length)
{
    Piece piece{data, length};
    return uct_ep_am_bcopy(ep_, id, pack_piece, &piece, 0);
}

void Endpoint::am_short(uint8_t id, uint64_t header, const void *data,
                        size_t length)
{
    insist("am_short", [&] {
        return uct_ep_am_short(ep_, id, header, data,
                               static_cast<unsigned>(length));
    });
}

void Endpoint::am_short_iov(uint8_t id, const std::vector<uct_iov_t> &iov)
{
    insist("am_short_iov", [&] {
        return uct_ep_am_short_iov(ep_, id, iov.data(), iov.size());
    });
}

void Endpoint::am_bcopy(uint8_t id, const void *data, size_t length)
{
    ssize_t sent = insist("am_bcopy",
                          [&] { return try_am_bcopy(id, data, length); });
    REQUIRE(static_cast<size_t>(sent) == length,
            "am_bcopy of %zu bytes returned %zd", length, sent);
}

void Endpoint::am_zcopy(uint8_t id, const void *header, size_t header_length,
                        const std::vector<uct_iov_t> &iov, Op &op)
{
    op.posted(insist("am_zcopy", [&] {
        return uct_ep_am_zcopy(ep_, id, header,
                               static_cast<unsigned>(header_length),
                               iov.data(), iov.size(), 0, op.comp());
    }));
}

void Endpoint::put_short(const void *data, size_t length, const Remote &remote,
                         size_t offset)
{
    insist("put_short", [&] {
        return uct_ep_put_short(ep_, data, static_cast<unsigned>(length),
                                remote.at(offset), remote.key());
    });
}

void Endpoint::put_bcopy(const void *data, size_t length, const Remote &remote,
                         size_t offset)
{
    Piece piece{data, length};
    ssize_t sent = insist("put_bcopy", [&] {
        return uct_ep_put_bcopy(ep_, pack_piece, &piece, remote.at(offset),
                                remote.key());
    });
    REQUIRE(static_cast<size_t>(sent) == length,
            "put_bcopy of %zu bytes returned %zd", length, sent);
}

void Endpoint::put_zcopy(uct_iov_t iov, const Remote &remote, size_t offset,
                         Op *op)
{
    ucs_status_t status = insist("put_zcopy", [&] {
        return uct_ep_put_zcopy(ep_, &iov, 1, remote.at(offset), remote.key(),
                                op ? op->comp() : nullptr);
    });
    if (op != nullptr) {
        op->posted(status);
    }
}

void Endpoint::get_bcopy(void *data, size_t length, const Remote &remote,
                         size_t offset, Op &op)
{
    auto unpack = [](void *arg, const void *bytes, size_t size) {
        memcpy(arg, bytes, size);
    };
    op.posted(insist("get_bcopy", [&] {
        return uct_ep_get_bcopy(ep_, unpack, data, length, remote.at(offset),
                                remote.key(), op.comp());
    }));
}

void Endpoint::get_zcopy(uct_iov_t iov, const Remote &remote, size_t offset,
                         Op &op)
{
    op.posted(insist("get_zcopy", [&] {
        return uct_ep_get_zcopy(ep_, &iov, 1, remote.at(offset), remote.key(),
                                op.comp());
    }));
}

void Endpoint::flush(Op &op)
{
    op.posted(insist("flush", [&] {
        return uct_ep_flush(ep_, UCT_FLUSH_FLAG_LOCAL, op.comp());
    }));
}

void Endpoint::flush_now(double seconds)
{
    ucs_status_t status = UCS_OK;
    iface_.worker().until(
        [&] {
            status = uct_ep_flush(ep_, UCT_FLUSH_FLAG_LOCAL, nullptr);
            return status != UCS_INPROGRESS && status != UCS_ERR_NO_RESOURCE;
        },
        "flush", seconds);
    REQUIRE(status == UCS_OK, "flush: %s", ucs_status_string(status));
}

void Endpoint::cancel(Op &op)
{
    op.posted(uct_ep_flush(ep_, UCT_FLUSH_FLAG_CANCEL, op.comp()));
}

void Endpoint::cancel_now(double seconds)
{
    ucs_status_t status = UCS_OK;
    iface_.worker().until(
        [&] {
            status = uct_ep_flush(ep_, UCT_FLUSH_FLAG_CANCEL, nullptr);
            return status != UCS_INPROGRESS;
        },
        "flush with cancel", seconds);
    REQUIRE(status == UCS_OK, "flush with cancel: %s",
            ucs_status_string(status));
}

void Endpoint::finish(Op &op, const char *what)
{
    iface_.worker().until([&] { return op.done(); }, what, 30);
    op.require_exact(what);
    REQUIRE(op.ok(), "%s: %s", what, ucs_status_string(op.status()));
}

} // namespace fltest
