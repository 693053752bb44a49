/* Stands in for CUPTI: hands the tracer the calls and records that a scenario makes up. */
#include "../../../../workers/runner/tracer/cupti_abi.h"

#include <stdlib.h>
#include <string.h>

static const char *const NAMES[] = {
    "cuInit",           "cuLaunchKernel",   "cuGraphLaunch", "cuMemcpyHtoD_v2",           "cuMemcpyDtoHAsync_v2",
    "cuModuleLoadDataEx", "cuMemAllocManaged", "cuMemcpyAsync", "cuMemHostGetDevicePointer_v2", "cuLaunchHostFunc",
    "cuLaunchKernelEx", "cuModuleUnload",
};
enum { COUNT = sizeof NAMES / sizeof *NAMES };

static abi_callback callback;
static abi_buffer_requested requested;
static abi_buffer_completed completed;
static int enabled[COUNT + 1];
static uint8_t *buffer;
static size_t used, room, given;

int cuptiSubscribe(void **subscriber, abi_callback function, void *user) {
    (void)user;
    if (getenv("FAKE_SUBSCRIBED")) return ERROR_MULTIPLE_SUBSCRIBERS;
    *subscriber = &callback;
    callback = function;
    return 0;
}
int cuptiEnableCallback(uint32_t enable, void *subscriber, int32_t domain, uint32_t id) {
    (void)subscriber, (void)domain;
    enabled[id] = (int)enable;
    return 0;
}
int cuptiGetCallbackName(int32_t domain, uint32_t id, const char **name) {
    (void)domain;
    if (id < 1 || id > COUNT) return 1;
    *name = NAMES[id - 1];
    return 0;
}
int cuptiActivityRegisterCallbacks(abi_buffer_requested one, abi_buffer_completed two) {
    requested = one;
    completed = two;
    return 0;
}
int cuptiActivityEnable(int32_t kind) { return (void)kind, 0; }
int cuptiGetVersion(uint32_t *version) { return *version = 130500, 0; }
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped) {
    (void)context, (void)stream;
    *dropped = getenv("FAKE_DROPPED") ? 7 : 0;
    return 0;
}
int cuptiActivityGetNextRecord(uint8_t *records, size_t valid, uint8_t **record) {
    if (given >= valid) return 1;
    *record = records + given;
    given += 128;
    return 0;
}
int cuptiActivityFlushAll(uint32_t flag) {
    (void)flag;
    if (!buffer) return 0;
    given = 0;
    completed(NULL, 0, buffer, room, used);
    buffer = NULL;
    return 0;
}

/* Calls the tracer as CUPTI does after a driver call, if it asked for that call. Returns whether it did. */
int fake_call(const char *name, const void *params, int result, const char *symbol, uint32_t correlation) {
    for (uint32_t id = 1; id <= COUNT; id++) {
        if (strcmp(NAMES[id - 1], name) != 0) continue;
        if (!enabled[id]) return 0;
        abi_callback_data data = {.function_name = name, .params = params, .return_value = &result,
                                  .symbol_name = symbol, .correlation_id = correlation};
        for (data.site = 0; data.site <= CB_SITE_EXIT; data.site++) callback(NULL, CB_DOMAIN_DRIVER_API, id, &data);
        return 1;
    }
    return 0;
}

static uint8_t *record(int32_t kind) {
    size_t records;
    if (!buffer) {
        requested(&buffer, &room, &records);
        used = 0;
    }
    uint8_t *place = buffer + used;
    used += 128;
    memset(place, 0, 128);
    memcpy(place, &kind, sizeof kind);
    return place;
}

void fake_kernel(uint32_t correlation, const char *name, uint64_t nanoseconds) {
    uint8_t *place = record(ACTIVITY_CONCURRENT_KERNEL);
    memcpy(place + KERNEL_END, &nanoseconds, 8);
    memcpy(place + KERNEL_CORRELATION, &correlation, 4);
    memcpy(place + KERNEL_NAME, &name, sizeof name);
}

void fake_copy(uint32_t correlation, uint8_t kind, uint64_t bytes, uint64_t nanoseconds) {
    uint8_t *place = record(ACTIVITY_MEMCPY);
    place[COPY_KIND] = kind;
    memcpy(place + COPY_BYTES, &bytes, 8);
    memcpy(place + COPY_END, &nanoseconds, 8);
    memcpy(place + COPY_CORRELATION, &correlation, 4);
}
