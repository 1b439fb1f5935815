/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "crowd.h"

namespace fltest {

Crowd::Crowd(const Session &session, size_t memory, bool watched)
    : memory_(context_, memory)
{
    if (session.active()) {
        for (size_t i = 0; i < session.peers(); ++i) {
            channels_.push_back(session.connection(i));
            channels_.back().send({static_cast<uint8_t>(i + 1)});
        }
    } else {
        channels_.push_back(session.connection());
        me_ = channels_.back().receive().at(0);
    }
    addresses_                  = share(worker_.address());
    std::vector<Bytes> memories = share(memory_.describe());
    for (size_t i = 0; i < size(); ++i) {
        Endpoint &ep = eps_.emplace_back(worker_, addresses_[i],
                                         watched && i != me_);
        remotes_.emplace_back(ep.handle(), memories[i]);
    }
    meet();
}

std::vector<Bytes> Crowd::gather(const Bytes &mine)
{
    if (me_ != 0) {
        channels_[0].send(mine);
        return {};
    }
    std::vector<Bytes> all{mine};
    for (Channel &channel : channels_) {
        worker_.until([&] { return channel.readable(); }, "another process");
        all.push_back(channel.receive());
    }
    return all;
}

std::vector<Bytes> Crowd::share(const Bytes &mine)
{
    std::vector<Bytes> all = gather(mine);
    if (me_ == 0) {
        for (Channel &channel : channels_) {
            channel.send({static_cast<uint8_t>(all.size())});
            for (const Bytes &one : all) {
                channel.send(one);
            }
        }
        return all;
    }
    size_t count = channels_[0].receive().at(0);
    while (all.size() < count) {
        all.push_back(channels_[0].receive());
    }
    return all;
}

void Crowd::meet()
{
    meet_without(0);
}

void Crowd::meet_without(size_t dead)
{
    ++mark_;
    if (me_ != 0) {
        worker_.meet(channels_[0], mark_);
        return;
    }
    for (size_t i = 1; i < size(); ++i) {
        if (i != dead) {
            worker_.await(channels_[i - 1], mark_);
        }
    }
    for (size_t i = 1; i < size(); ++i) {
        if (i != dead) {
            channels_[i - 1].send_mark(mark_);
        }
    }
}

void Crowd::finish()
{
    meet();
    remotes_.clear();
    for (Endpoint &ep : eps_) {
        ep.close();
    }
    meet();
}

void Crowd::finish_without(size_t dead)
{
    meet_without(dead);
    remotes_.clear();
    for (size_t i = 0; i < size(); ++i) {
        eps_[i].close(i == dead);
    }
    meet_without(dead);
}

} // namespace fltest
