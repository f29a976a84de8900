/*
 * Makes a server slower by a known amount, to test whether the slowdown is found: loaded before the server's own libraries, it spins
 * after each message that a session receives, and counts how often and for how long.
 *
 * It is loaded into the servers of all candidates alike. Where nothing is planted it spins as well, a few turns: a loop cost point queries
 * some 20 ns more than its own time, however long it was, and nothing more where both sides had one.
 *
 *   BASECASE_PLANT_FILE   file in which it counts: calls and nanoseconds, 8 bytes each, shared by all processes of the server
 *   BASECASE_PLANT_SPINS  turns of the loop after each message, beyond those that all have
 *   BASECASE_PLANT_EVERY  spin only after each Nth message, N times as long
 *   BASECASE_PLANT_STARTS spin only in this share of starts, 0 to 1
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Turns that all have, some 80 ns. */
#define FLOOR 300

struct planted {
    _Atomic uint64_t calls;
    _Atomic uint64_t nanoseconds;
};

static struct planted *planted;
static uint64_t spins;
static uint64_t every = 1;
static __thread uint64_t calls_of_thread;
static ssize_t (*real_recv)(int, void *, size_t, int);

static double number(const char *name, double otherwise) {
    const char *text = getenv(name);
    return text ? atof(text) : otherwise;
}

__attribute__((constructor)) static void begin(void) {
    real_recv = (ssize_t (*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
    spins = (uint64_t)number("BASECASE_PLANT_SPINS", 0);
    every = (uint64_t)number("BASECASE_PLANT_EVERY", 1);
    if (every == 0)
        every = 1;
    uint32_t drawn = 0;
    if (getrandom(&drawn, sizeof drawn, 0) == sizeof drawn && drawn / 4294967296.0 >= number("BASECASE_PLANT_STARTS", 1))
        spins = 0;
    const char *path = getenv("BASECASE_PLANT_FILE");
    int file = path ? open(path, O_RDWR) : -1;
    if (file < 0)
        return;
    void *mapped = mmap(NULL, sizeof *planted, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED)
        planted = mapped;
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

ssize_t recv(int socket, void *buffer, size_t length, int flags) {
    ssize_t received = real_recv(socket, buffer, length, flags);
    if (received <= 0 || !planted)
        return received;
    /* Both clocks are read in every case, so that the base case pays for them as well. */
    uint64_t before = now();
    uint64_t turns = FLOOR + (++calls_of_thread % every == 0 ? spins * every : 0);
    for (volatile uint64_t turn = 0; turn < turns; turn++)
        ;
    atomic_fetch_add_explicit(&planted->calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&planted->nanoseconds, now() - before, memory_order_relaxed);
    return received;
}
