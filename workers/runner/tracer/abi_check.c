/* Compares cupti_abi.h with the installed headers at compile time; it is never run. */
#include "cupti_abi.h"

#include <cupti.h>

#define SAME(ours, theirs) _Static_assert((size_t)(ours) == (size_t)(theirs), #theirs)

SAME(CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_DRIVER_API);
SAME(CB_SITE_EXIT, CUPTI_API_EXIT);
SAME(ACTIVITY_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME(ACTIVITY_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME(ERROR_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME(FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);

#define FIELD(ours, theirs) SAME(offsetof(abi_callback_data, ours), offsetof(CUpti_CallbackData, theirs))
FIELD(site, callbackSite);
FIELD(function_name, functionName);
FIELD(params, functionParams);
FIELD(return_value, functionReturnValue);
FIELD(symbol_name, symbolName);
FIELD(context, context);
FIELD(context_uid, contextUid);
FIELD(correlation_data, correlationData);
FIELD(correlation_id, correlationId);

SAME(KERNEL_START, offsetof(CUpti_ActivityKernel9, start));
SAME(KERNEL_END, offsetof(CUpti_ActivityKernel9, end));
SAME(KERNEL_CORRELATION, offsetof(CUpti_ActivityKernel9, correlationId));
SAME(KERNEL_NAME, offsetof(CUpti_ActivityKernel9, name));
SAME(COPY_KIND, offsetof(CUpti_ActivityMemcpy6, copyKind));
SAME(COPY_BYTES, offsetof(CUpti_ActivityMemcpy6, bytes));
SAME(COPY_START, offsetof(CUpti_ActivityMemcpy6, start));
SAME(COPY_END, offsetof(CUpti_ActivityMemcpy6, end));
SAME(COPY_CORRELATION, offsetof(CUpti_ActivityMemcpy6, correlationId));

SAME(COPY2D_SOURCE, offsetof(CUDA_MEMCPY2D, srcMemoryType));
SAME(COPY2D_TARGET, offsetof(CUDA_MEMCPY2D, dstMemoryType));
SAME(COPY2D_WIDTH, offsetof(CUDA_MEMCPY2D, WidthInBytes));
SAME(COPY2D_HEIGHT, offsetof(CUDA_MEMCPY2D, Height));
SAME(COPY3D_SOURCE, offsetof(CUDA_MEMCPY3D, srcMemoryType));
SAME(COPY3D_TARGET, offsetof(CUDA_MEMCPY3D, dstMemoryType));
SAME(COPY3D_WIDTH, offsetof(CUDA_MEMCPY3D, WidthInBytes));
SAME(COPY3D_HEIGHT, offsetof(CUDA_MEMCPY3D, Height));
SAME(COPY3D_DEPTH, offsetof(CUDA_MEMCPY3D, Depth));
SAME(MEMORY_HOST, CU_MEMORYTYPE_HOST);
SAME(MEMORY_UNIFIED, CU_MEMORYTYPE_UNIFIED);
SAME(POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
