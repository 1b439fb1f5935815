/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "shared_segment.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

namespace fuselink {
namespace {

/* The key under which a segment is set up; whoever holds it is alone in doing
 * so. Another user's segment may have it: then there is no sharing, which the
 * error says. */
key_t key_of(uint64_t magic)
{
    uint64_t mixed = (magic ^ geteuid()) * 0x9e3779b97f4a7c15u;
    key_t    key   = static_cast<key_t>(mixed >> 33);
    return key != IPC_PRIVATE ? key : 1;
}

/* Removes what a process left that was killed while it set a segment up. */
void remove_if_orphan(key_t key)
{
    int id = shmget(key, 0, 0);
    shmid_ds state;
    if (id < 0 || shmctl(id, IPC_STAT, &state) != 0) {
        return;
    }
    bool mine = state.shm_perm.cuid == geteuid();
    if (mine && state.shm_nattch == 0 && kill(state.shm_cpid, 0) != 0 &&
        errno == ESRCH) {
        shmctl(id, IPC_RMID, nullptr);
    }
}

} // namespace

std::unique_ptr<SharedSegment> SharedSegment::attach(int id, size_t size)
{
    void *memory = shmat(id, nullptr, 0);
    if (memory == reinterpret_cast<void *>(-1)) {
        return nullptr;
    }
    return std::unique_ptr<SharedSegment>(new SharedSegment(memory, size));
}

/* One that is ready. */
std::unique_ptr<SharedSegment> SharedSegment::find(uint64_t magic, size_t size)
{
    shm_info info;
    int last = shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds *>(&info));
    for (int index = 0; index <= last; ++index) {
        shmid_ds state;
        int id = shmctl(index, SHM_STAT, &state);
        if (id < 0 || state.shm_segsz != size ||
            state.shm_perm.cuid != geteuid() ||
            state.shm_perm.uid != geteuid() ||
            (state.shm_perm.mode & SHM_DEST) == 0) {
            continue;
        }
        auto segment = attach(id, size);
        if (segment != nullptr &&
            static_cast<Header *>(segment->memory_)
                    ->magic.load(std::memory_order_acquire) == magic) {
            return segment;
        }
    }
    return nullptr;
}

std::unique_ptr<SharedSegment> SharedSegment::open(uint64_t magic, size_t size,
                                                   std::string &error)
{
    constexpr timespec kPause = {0, 1000000};
    constexpr int kTries      = 100;
    const key_t key           = key_of(magic);
    for (int i = 0; i < kTries; ++i) {
        auto segment = find(magic, size);
        if (segment != nullptr) {
            return segment;
        }
        int id = shmget(key, size, IPC_CREAT | IPC_EXCL | 0600);
        if (id < 0 && errno != EEXIST) {
            error = std::string("shmget: ") + strerror(errno);
            return nullptr;
        }
        if (id >= 0) {
            /* Nobody else is here now; but somebody may have been between
             * find() and shmget(). */
            segment = find(magic, size);
            if (segment == nullptr) {
                segment = attach(id, size);
                if (segment == nullptr) {
                    error = std::string("shmat: ") + strerror(errno);
                } else {
                    static_cast<Header *>(segment->memory_)
                        ->magic.store(magic, std::memory_order_release);
                }
            }
            shmctl(id, IPC_RMID, nullptr); /* lives while it is attached */
            return segment;
        }
        remove_if_orphan(key);
        nanosleep(&kPause, nullptr);
    }
    error = "another process has been setting it up for too long";
    return nullptr;
}

SharedSegment::~SharedSegment()
{
    shmdt(memory_);
}

} // namespace fuselink
