/* An NVML of a machine that does not exist, told by FAKE_NVML how its GPUs are linked:
   "switch": 4 GPUs, 18 NVLinks each to switches; "eight": 8 such; "direct": 4 GPUs, GPU i has (i +
   j) % 3 + 1 NVLinks to GPU j; "pcie": 2 GPUs without NVLink; "none": no GPU; "broken": it does not
   start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Status;
typedef struct {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
} PciInfo;
typedef struct {
  unsigned field, scope;
  long long timestamp, latency;
  int type;
  Status status;
  unsigned long long value;
} FieldValue;

enum { kSuccess = 0, kNotSupported = 3, kInvalid = 2, kDriverNotLoaded = 9 };

static const char* kind(void) {
  const char* value = getenv("FAKE_NVML");
  return value == NULL ? "switch" : value;
}
static int is(const char* name) { return strcmp(kind(), name) == 0; }

static int gpus[8] = {0, 1, 2, 3, 4, 5, 6, 7};
static int index_of(const void* device) { return *(const int*)device; }

Status nvmlInit_v2(void) { return is("broken") ? kDriverNotLoaded : kSuccess; }
Status nvmlShutdown(void) { return kSuccess; }
const char* nvmlErrorString(Status status) {
  return status == kDriverNotLoaded ? "Driver Not Loaded" : "Some Error";
}
Status nvmlDeviceGetCount_v2(unsigned* count) {
  *count = is("none") ? 0 : is("pcie") ? 2 : is("eight") ? 8 : 4;
  return kSuccess;
}
Status nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &gpus[index];
  return kSuccess;
}
Status nvmlDeviceGetName(void* device, char* name, unsigned length) {
  (void)device;
  snprintf(name, length, "NVIDIA Fake 9000");
  return kSuccess;
}
Status nvmlDeviceGetUUID(void* device, char* uuid, unsigned length) {
  snprintf(uuid, length, "GPU-0000-%d", index_of(device));
  return kSuccess;
}
static void fill(PciInfo* info, int index) {
  memset(info, 0, sizeof(*info));
  info->bus = 0x18 + 0x20 * (unsigned)index;
  snprintf(info->bus_id, sizeof(info->bus_id), "00000000:%02X:00.0", info->bus);
}
Status nvmlDeviceGetPciInfo_v3(void* device, PciInfo* info) {
  fill(info, index_of(device));
  return kSuccess;
}
Status nvmlDeviceGetMemoryInfo(void* device, unsigned long long* memory) {
  (void)device;
  memory[0] = 141ULL << 30;
  memory[1] = memory[2] = 0;
  return kSuccess;
}
Status nvmlDeviceGetMaxPcieLinkGeneration(void* device, unsigned* value) {
  (void)device;
  *value = 5;
  return kSuccess;
}
Status nvmlDeviceGetMaxPcieLinkWidth(void* device, unsigned* value) {
  (void)device;
  *value = 16;
  return kSuccess;
}

/* The GPU at which a direct NVLink ends, or -1. */
static int other_end(int index, unsigned link) {
  for (int peer = 0; peer < 4; ++peer) {
    if (peer == index) continue;
    const unsigned links = (unsigned)(index + peer) % 3 + 1;
    if (link < links) return peer;
    link -= links;
  }
  return -1;
}
Status nvmlDeviceGetNvLinkState(void* device, unsigned link, int* active) {
  if (is("pcie")) return kNotSupported;
  if (link >= 18) return kInvalid;
  *active = is("switch") || is("eight") || other_end(index_of(device), link) >= 0;
  return kSuccess;
}
Status nvmlDeviceGetNvLinkRemoteDeviceType(void* device, unsigned link, int* type) {
  (void)device;
  (void)link;
  *type = is("switch") || is("eight") ? 2 : 0;
  return kSuccess;
}
Status nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, PciInfo* info) {
  const int peer = other_end(index_of(device), link);
  if (peer < 0) return kInvalid;
  fill(info, peer);
  return kSuccess;
}
Status nvmlDeviceGetFieldValues(void* device, int count, FieldValue* values) {
  (void)device;
  for (int i = 0; i < count; ++i) {
    /* As drivers before NVLink 4 do: the speed of all links is known under one number only. */
    values[i].status = values[i].field == 164 && is("direct") ? kNotSupported : kSuccess;
    values[i].value = is("direct") ? 25781 : 26562;
  }
  return kSuccess;
}
Status nvmlDeviceGetTopologyCommonAncestor(void* a, void* b, int* level) {
  (void)a;
  (void)b;
  *level = 50;
  return kSuccess;
}
