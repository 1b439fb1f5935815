/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "bulk.h"

namespace fuselink {

BulkSender::BulkSender(Connection &connection, Endpoints &endpoints,
                       TransferOwner &owner, KeySource &keys,
                       const RxPaths &rx, const BulkContext &context)
    : connection_(connection), host_(context.host),
      paths_(connection, endpoints, context.rails,
             {context.host, context.loads, context.room}),
      slots_(connection, keys),
      loop_(connection, owner, context.poller, context.room, paths_, memory_,
            staging_, transfers_, selector_, chunks_, retransmission_, near_),
      trials_(context.host), buffers_(context.host, trials_),
      transfers_(connection, owner, keys, paths_, slots_, staging_,
                 context.plans, context.rotation, trials_, loop_),
      chunks_(connection, context.rails.uuid(), context.poller, paths_,
              recovery_, room_, memory_, slots_, staging_, transfers_, trials_,
              buffers_, {context.trace, context.host, connection.uuid()}, loop_),
      retransmission_(connection, paths_, memory_, staging_, transfers_,
                      selector_, chunks_, loop_),
      room_(connection, chunks_, loop_),
      recovery_(connection, endpoints, paths_, context.host, rx,
                retransmission_, loop_),
      wireup_(connection, endpoints, paths_, recovery_, room_, context.rails,
              context.host, loop_, context.settings.connect_ep),
      memory_(connection, context.regions, context.nics, context.copies, keys),
      methods_(connection, paths_, memory_, slots_),
      staging_(connection, context.host, context.copies, paths_, memory_,
               methods_, context.settings.limits, transfers_, loop_),
      near_(connection, context.copies, paths_, methods_, staging_, transfers_,
            context.settings.limits, loop_),
      selector_(connection, context.host, paths_, wireup_, recovery_, methods_,
                slots_, transfers_, trials_, context.loads,
                context.plans, context.settings, context.trace != nullptr,
                loop_)
{
}

bool BulkSender::run_deferred()
{
    wireup_.advance();
    if (ucs_unlikely(recovery_.active())) {
        if (!recovery_.advance()) {
            return false;
        }
        if (loop_.starves() && !connection_.failed() && recovery_.backs_off()) {
            recovery_.revive(host_.now()); /* nobody else would look at the
                                              clock */
            loop_.pump();
            connection_.defer();
        }
    }
    if (ucs_unlikely(wireup_.leaves_out())) {
        wireup_.remove_left_out();
    }
    if (room_.retries()) {
        room_.retry(paths_);
    }
    loop_.run_deferred();
    return true;
}

void BulkSender::fail(ucs_status_t status)
{
    transfers_.fail(status);
    for (auto &path : paths_) {
        chunks_.abandon(*path, status);
    }
}

void BulkSender::close()
{
    staging_.await();
    wireup_.close();
}

} // namespace fuselink
