/* The trace of one process: one text line a record, each in a write of its own. */
#ifndef FERROAUDIT_TRACE_FILE_H
#define FERROAUDIT_TRACE_FILE_H

#include <stdint.h>

/* Opens trace-PID-TIME.txt in `folder`; 0 when it worked. */
int trace_open(const char *folder, uint64_t max_bytes);

/* Writes one line at once. What does not fit is counted as lost. */
void trace_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Collects lines and writes them together: for what the driver hands over late anyway. */
void trace_later(const char *format, ...) __attribute__((format(printf, 1, 2)));
void trace_flush(void);

/* Gives the number that stands for a name in the trace, and writes the name the first time. */
unsigned trace_name(const char *caller, const char *name);

uint64_t trace_now(void);
uint64_t trace_next(void);

/* Records that could not be written: of calls, and of the activity that comes late. */
uint64_t trace_lost(void);
uint64_t trace_dropped(void);
void trace_lose(uint64_t count);
void trace_drop(uint64_t count);

/* Ends the trace in a forked child: what follows there is not this process's. */
void trace_abandon(void);

#endif
