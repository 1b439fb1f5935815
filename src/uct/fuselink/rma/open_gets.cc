/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "open_gets.h"

#include <algorithm>

namespace fuselink {

void OpenGets::end(Get &get, ucs_status_t status)
{
    if (ucs_unlikely(get.arriving != 0)) {
        const wire::OpId id{get.slot, get.generation};
        copies_->wait(); /* nothing is to be written any more */
        if (find(id) != &get) {
            return; /* that was the last of it */
        }
    }
    uct_completion_t *comp  = get.comp;
    PeerUser         *user  = get.user;
    Epochs::Id        epoch = get.epoch;
    table_.end(get);
    end_user_op(user, conn_);
    if (comp != nullptr) {
        conn_.complete(comp, status);
    }
    order_.end_op(epoch);
}

void OpenGets::end_all(ucs_status_t status)
{
    table_.for_each(&owner_, [&](Get &get) { end(get, status); });
}

void OpenGets::end_ours(ucs_status_t status, bool in_place)
{
    table_.for_each(&owner_, [&](Get &get) {
        if (get.by_message || !(get.named || in_place)) {
            end(get, status);
        }
    });
}

/* A get by messages can end here and now. The bytes of another go straight to
 * the user's memory: its owner has to stop first. */
void OpenGets::cancel(PeerUser &user)
{
    table_.for_each(&owner_, [&](Get &get) {
        if (get.user != &user) {
            return;
        }
        if (get.by_message) {
            end(get, UCS_ERR_CANCELED);
            return;
        }
        wire::GetCancel message{};
        message.header.type =
            static_cast<uint8_t>(wire::ControlType::GetCancel);
        message.op = {get.slot, get.generation};
        conn_.send_control(&message, sizeof(message));
    });
}

void OpenGets::forget(PeerUser &user)
{
    table_.for_each(&owner_, [&](Get &get) {
        if (get.user == &user) {
            get.comp = nullptr;
        }
    });
    cancel(user);
    table_.for_each(&owner_, [&](Get &get) {
        if (get.user == &user) {
            get.user = nullptr;
        }
    });
}

/* --- answers --- */

void OpenGets::on_data(const void *data, size_t length)
{
    wire::GetData reply;
    if (!wire::parse(data, length, reply)) {
        return;
    }
    Get *get    = find(reply.op);
    size_t size = length - sizeof(reply);
    /* In any order: some may come over the lane of before, and later. */
    if (get == nullptr || !get->by_message || reply.offset > get->length ||
        size > get->length - reply.offset ||
        size > get->length - get->landed) {
        ucs_debug("fuselink: get data that nobody asked for from %016lx",
                  conn_.uuid());
        return;
    }
    const char *payload = static_cast<const char *>(data) + sizeof(reply);
    if (get->unpack == nullptr) {
        if (!memory_.write(get->buffer + reply.offset, get->to_gpu, payload,
                           size)) {
            end(*get, UCS_ERR_IO_ERROR);
            return;
        }
    } else if (size != get->length) {
        /* The peer's messages are shorter than ours; unpack wants it whole. */
        get->parts.resize(get->length);
        std::copy_n(payload, size, get->parts.data() + reply.offset);
        payload = get->parts.data();
    }
    get->landed += size;
    if (get->landed != get->length) {
        return;
    }
    if (get->unpack != nullptr) {
        conn_.unpack(get->unpack, get->unpack_arg, payload, get->length);
        get = find(reply.op); /* the user may cancel it here */
    }
    if (get != nullptr) {
        end(*get, UCS_OK);
    }
}

void OpenGets::on_done(const void *data, size_t length)
{
    wire::GetDone done;
    if (!wire::parse(data, length, done)) {
        return;
    }
    Get *get = find(done.op);
    if (get == nullptr) {
        return;
    }
    auto status = static_cast<ucs_status_t>(done.status);
    if (status == UCS_OK && get->unconfirmed) {
        get->unconfirmed = false;
        end_if_over(*get);
        return;
    }
    bool sane = status < 0 && status > UCS_ERR_LAST;
    end(*get, sane ? status : UCS_ERR_IO_ERROR);
}

void OpenGets::landed(Get &get, uint64_t length)
{
    ++landings_;
    get.landed += length;
    end_if_over(get);
}

/* The bytes and the word on them come by different ways. */
void OpenGets::end_if_over(Get &get)
{
    if (get.landed == get.length && !get.unconfirmed) {
        end(get, UCS_OK);
    }
}

/* Bytes whose announcement broke with their path. */
void OpenGets::on_landed(const void *data, size_t length)
{
    wire::Landed message;
    if (!wire::parse(data, length, message)) {
        return;
    }
    Get *get = find(message.op);
    if (get == nullptr || get->by_message ||
        message.length > get->missing()) {
        ucs_debug("fuselink: word of bytes that nobody asked for");
        return;
    }
    landed(*get, message.length);
}

} // namespace fuselink
