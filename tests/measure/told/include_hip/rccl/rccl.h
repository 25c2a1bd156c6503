#pragma once

/// As much of RCCL's interface as prequel-measure calls; told_nccl.cpp answers. As
/// ../hip/hip_runtime_api.h.

#include <hip/hip_runtime_api.h>

#define NCCL_UNIQUE_ID_BYTES 128
#define NCCL_SPLIT_NOCOLOR -1

extern "C" {

typedef enum {
  ncclSuccess,
  ncclUnhandledCudaError,
  ncclSystemError,
  ncclInternalError,
  ncclRemoteError,
  ncclInProgress
} ncclResult_t;
typedef enum { ncclBfloat16 = 9 } ncclDataType_t;
typedef enum { ncclSum } ncclRedOp_t;
typedef struct ncclComm* ncclComm_t;
typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;
typedef struct ncclConfig_v21700 ncclConfig_t;

ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclComm_t comm, hipStream_t stream);
ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, hipStream_t stream);
ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, hipStream_t stream);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error);
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank);
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made,
                           ncclConfig_t* config);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank);
const char* ncclGetErrorString(ncclResult_t error);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclGetVersion(int* version);
ncclResult_t ncclGroupEnd();
ncclResult_t ncclGroupStart();
ncclResult_t ncclRecv(void* memory, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      hipStream_t stream);
ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, hipStream_t stream);
ncclResult_t ncclSend(const void* memory, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, hipStream_t stream);
}
