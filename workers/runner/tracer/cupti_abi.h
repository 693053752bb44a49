/* The part of CUPTI's binary interface that the tracer uses, declared here so that neither CUPTI's nor
 * CUDA's headers are needed on the runner. The offsets are the same in CUPTI 12.9 and 13.5 (records only grow
 * at their end); abi_check.c compares them with the real headers wherever those are installed. */
#ifndef FERROAUDIT_CUPTI_ABI_H
#define FERROAUDIT_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum {
    CB_DOMAIN_DRIVER_API = 1,
    CB_SITE_EXIT = 1,
    ACTIVITY_MEMCPY = 1,
    ACTIVITY_CONCURRENT_KERNEL = 10,
    ERROR_MULTIPLE_SUBSCRIBERS = 39,
    FLUSH_FORCED = 1
};

typedef struct {
    int32_t site;
    const char *function_name;
    const void *params;
    const void *return_value;
    const char *symbol_name;
    void *context;
    uint32_t context_uid;
    uint64_t *correlation_data;
    uint32_t correlation_id;
} abi_callback_data;

/* Records lie packed in CUPTI's buffers, so their fields are read by offset. */
enum {
    KERNEL_START = 16,
    KERNEL_END = 24,
    KERNEL_CORRELATION = 92,
    KERNEL_NAME = 104,
    COPY_KIND = 4,
    COPY_BYTES = 8,
    COPY_START = 16,
    COPY_END = 24,
    COPY_CORRELATION = 44
};

/* CUDA_MEMCPY2D and CUDA_MEMCPY3D. */
enum {
    COPY2D_SOURCE = 16,
    COPY2D_TARGET = 72,
    COPY2D_WIDTH = 112,
    COPY2D_HEIGHT = 120,
    COPY3D_SOURCE = 32,
    COPY3D_TARGET = 120,
    COPY3D_WIDTH = 176,
    COPY3D_HEIGHT = 184,
    COPY3D_DEPTH = 192,
    MEMORY_HOST = 1,
    MEMORY_UNIFIED = 4,
    POINTER_ATTRIBUTE_MEMORY_TYPE = 2
};

typedef void (*abi_callback)(void *user, int32_t domain, uint32_t id, const abi_callback_data *data);
typedef void (*abi_buffer_requested)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*abi_buffer_completed)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

typedef struct {
    int (*subscribe)(void **subscriber, abi_callback callback, void *user);
    int (*enable_callback)(uint32_t enable, void *subscriber, int32_t domain, uint32_t id);
    int (*callback_name)(int32_t domain, uint32_t id, const char **name);
    int (*register_callbacks)(abi_buffer_requested requested, abi_buffer_completed completed);
    int (*activity_enable)(int32_t kind);
    int (*next_record)(uint8_t *buffer, size_t valid, uint8_t **record);
    int (*dropped_records)(void *context, uint32_t stream, size_t *dropped);
    int (*flush_all)(uint32_t flag);
    int (*version)(uint32_t *version);
} abi_cupti;

#endif
