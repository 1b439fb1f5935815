/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "process_threads.h"

#include "background_thread.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <vector>

namespace fuselink {
namespace {

thread_local bool is_own = false;

/* Never destroyed: the process may end in any order. */
struct Threads {
    std::mutex                      mutex;
    std::vector<BackgroundThread *> list;
    bool                            told = false; /* the process tells what happens to it */
};

Threads &threads()
{
    static auto *result = new Threads;
    return *result;
}

} // namespace

void ProcessThreads::add(BackgroundThread &thread)
{
    Threads &all = threads();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (!all.told) {
        all.told = true;
        pthread_atfork(before_fork, after_fork, in_child);
        atexit(at_exit);
    }
    all.list.push_back(&thread);
}

void ProcessThreads::remove(BackgroundThread &thread)
{
    Threads &all = threads();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.list.erase(std::remove(all.list.begin(), all.list.end(), &thread),
                   all.list.end());
}

void ProcessThreads::note_own()
{
    is_own = true;
}

void ProcessThreads::before_fork()
{
    if (is_own) {
        return;
    }
    threads().mutex.lock();
    for (BackgroundThread *thread : threads().list) {
        thread->hold();
    }
}

void ProcessThreads::after_fork()
{
    if (is_own) {
        return;
    }
    for (BackgroundThread *thread : threads().list) {
        thread->go_on();
    }
    threads().mutex.unlock();
}

void ProcessThreads::in_child()
{
    if (is_own) {
        return;
    }
    for (BackgroundThread *thread : threads().list) {
        thread->forget();
    }
    threads().list.clear();
    threads().mutex.unlock();
}

void ProcessThreads::at_exit()
{
    Threads &all = threads();
    const std::lock_guard<std::mutex> lock(all.mutex);
    for (BackgroundThread *thread : all.list) {
        if (thread->work_.ends_at_exit()) {
            thread->finish();
        }
    }
}

} // namespace fuselink
