/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_KILLED_H
#define FUSELINK_TEST_KILLED_H

namespace fltest {

/** Ends the process by SIGKILL, and what it has open is closed at once.
 *
 *  A kernel frees the memory of a process before it closes its sockets, and that may wait for
 *  whoever looks through the same pages: for more than 25 s, where a kernel watches which pages
 *  are used (DAMON). Nobody else can see then that the process is dead. So its memory outlives
 *  it, in a process that holds nothing else. */
[[noreturn]] void be_killed();

} // namespace fltest

#endif
