#include "trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 2048, LATER = 64 * 1024, NAMES = 8192, NAME = 1024 };

static _Atomic int file = -1;
static uint64_t limit;
static _Atomic uint64_t written, sequence, lost, dropped;
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t later_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char *text;
    uint64_t hash;
} names[NAMES];
static unsigned names_used;
static char later[LATER];
static size_t later_used;

uint64_t trace_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t trace_next(void) { return atomic_fetch_add(&sequence, 1); }
uint64_t trace_lost(void) { return atomic_load(&lost); }
uint64_t trace_dropped(void) { return atomic_load(&dropped); }
void trace_lose(uint64_t count) { atomic_fetch_add(&lost, count); }
void trace_drop(uint64_t count) { atomic_fetch_add(&dropped, count); }

int trace_open(const char *folder, uint64_t max_bytes) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/trace-%d-%llu.txt", folder, (int)getpid(),
                          (unsigned long long)trace_now());
    if (length < 0 || (size_t)length >= sizeof path) return ENAMETOOLONG;
    int opened = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (opened < 0) return errno;
    limit = max_bytes;
    atomic_store(&file, opened);
    return 0;
}

void trace_abandon(void) {
    int opened = atomic_exchange(&file, -1);
    if (opened >= 0) close(opened);
}

static int put(const char *text, size_t length) {
    int opened = atomic_load(&file);
    if (opened < 0) return 1;
    /* The last kilobyte is kept for the `end` line, which carries the number of lost records. */
    int is_end = text[0] == 'E';
    if (!is_end && atomic_fetch_add(&written, length) + length + 1024 > limit) return 0;
    ssize_t done;
    do done = write(opened, text, length);
    while (done < 0 && errno == EINTR);
    return done == (ssize_t)length;
}

void trace_line(const char *format, ...) {
    char line[LINE];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    if ((size_t)length > sizeof line - 2) length = sizeof line - 2;
    line[length++] = '\n';
    if (!put(line, (size_t)length)) trace_lose(1);
}

static void flush_locked(void) {
    uint64_t lines = 0;
    for (size_t at = 0; at < later_used; at++) lines += later[at] == '\n';
    if (later_used && !put(later, later_used)) trace_drop(lines);
    later_used = 0;
}

void trace_flush(void) {
    pthread_mutex_lock(&later_lock);
    flush_locked();
    pthread_mutex_unlock(&later_lock);
}

void trace_later(const char *format, ...) {
    pthread_mutex_lock(&later_lock);
    if (later_used + LINE > LATER) flush_locked();
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(later + later_used, LINE - 1, format, arguments);
    va_end(arguments);
    if (length > 0) {
        later_used += (size_t)length < LINE - 2 ? (size_t)length : LINE - 2;
        later[later_used++] = '\n';
    }
    pthread_mutex_unlock(&later_lock);
}

unsigned trace_name(const char *caller, const char *name) {
    char text[NAME];
    int length = snprintf(text, sizeof text, "%s\t%s", caller ? caller : "", name ? name : "?");
    if (length < 0) return 0;
    for (char *at = text; *at; at++)
        if (*at == '\n' || *at == '\r') *at = ' ';
    uint64_t hash = 14695981039346656037u;
    for (const char *at = text; *at; at++) hash = (hash ^ (unsigned char)*at) * 1099511628211u;

    unsigned number = 0;
    pthread_mutex_lock(&names_lock);
    for (unsigned step = 0; step < NAMES; step++) {
        unsigned slot = (unsigned)((hash + step) % NAMES);
        if (names[slot].text && names[slot].hash == hash && strcmp(names[slot].text, text) == 0) {
            number = slot + 1;
            break;
        }
        if (names[slot].text) continue;
        /* A quarter stays free so that a look-up ends soon; a name beyond that is told as number 0. */
        if (names_used >= NAMES / 4 * 3) break;
        names[slot].text = strdup(text);
        if (!names[slot].text) break;
        names[slot].hash = hash;
        names_used++;
        number = slot + 1;
        trace_line("F %u %s", number, text);
        break;
    }
    pthread_mutex_unlock(&names_lock);
    if (!number) trace_lose(1);
    return number;
}
