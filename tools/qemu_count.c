// QEMU TCG plugin: exact instruction counts of the firmware between two functions, cut into steps.
//
// Arguments: out=FILE,begin=ADDR,end=ADDR,call=ADDR,call=ADDR...,each=1 (addresses in hexadecimal). From the first execution of
// `begin` to that of `end`, each return from a `call`, a 16-bit BLX, closes a step. The file gets a line "step" for each, then
// "ADDR COUNT" lines of what ran in it; the last block, "rest", is what ran after the last one. With each=1 every run from `begin`
// to `end` is a step.
//
// The plugin interface (version 1, QEMU 4.2 to 8.x) is declared here, as distributions ship QEMU without its header.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
typedef struct qemu_info_t qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
typedef void (*qemu_plugin_vcpu_tb_trans_cb_t)(qemu_plugin_id_t, struct qemu_plugin_tb*);
typedef void (*qemu_plugin_vcpu_udata_cb_t)(unsigned, void*);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, qemu_plugin_vcpu_tb_trans_cb_t);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn*, qemu_plugin_vcpu_udata_cb_t, enum qemu_plugin_cb_flags,
                                            void*);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn*, enum qemu_plugin_op, void*, uint64_t);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb*);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb*, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn*);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

enum { kCodeBytes = 16 << 20, kMaxCalls = 16, kCallBytes = 2 };
struct counter {
  uint64_t now, before;  // executions so far, and when the last step closed
  bool listed;
};
static struct counter counters[kCodeBytes / 2];  // by address / 2; untouched pages cost nothing
static uint32_t listed[kCodeBytes / 2], listed_count;
static uint32_t begin_address, end_address, calls[kMaxCalls], call_count;
static FILE* out;
static bool active, done, in_call, each;

static void forget(void) {
  for (uint32_t i = 0; i < listed_count; i++) counters[listed[i]].before = counters[listed[i]].now;
}

static void write_block(const char* name) {
  fprintf(out, "%s\n", name);
  for (uint32_t i = 0; i < listed_count; i++) {
    struct counter* c = &counters[listed[i]];
    if (c->now != c->before) fprintf(out, "%x %llu\n", listed[i] * 2, (unsigned long long)(c->now - c->before));
  }
  forget();
}

static void on_begin(unsigned vcpu, void* data) {
  (void)vcpu, (void)data;
  if (done) return;
  active = true;
  forget();
}

static void on_call(unsigned vcpu, void* data) {
  (void)vcpu, (void)data;
  in_call = true;
}

static void on_return(unsigned vcpu, void* data) {
  (void)vcpu, (void)data;
  if (active && in_call) write_block("step");
  in_call = false;
}

static void on_end(unsigned vcpu, void* data) {
  (void)vcpu, (void)data;
  if (!active) return;
  write_block(each ? "step" : "rest");
  active = false, done = !each;
  each ? fflush(out) : fclose(out);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb* tb) {
  (void)id;
  for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
    struct qemu_plugin_insn* insn = qemu_plugin_tb_get_insn(tb, i);
    const uint64_t address = qemu_plugin_insn_vaddr(insn);
    if (address >= kCodeBytes) continue;
    if (address == begin_address) qemu_plugin_register_vcpu_insn_exec_cb(insn, on_begin, QEMU_PLUGIN_CB_NO_REGS, NULL);
    if (address == end_address) qemu_plugin_register_vcpu_insn_exec_cb(insn, on_end, QEMU_PLUGIN_CB_NO_REGS, NULL);
    for (uint32_t k = 0; k < call_count; k++) {
      if (address == calls[k]) qemu_plugin_register_vcpu_insn_exec_cb(insn, on_call, QEMU_PLUGIN_CB_NO_REGS, NULL);
      if (address == calls[k] + kCallBytes) qemu_plugin_register_vcpu_insn_exec_cb(insn, on_return, QEMU_PLUGIN_CB_NO_REGS, NULL);
    }
    struct counter* c = &counters[address / 2];
    if (!c->listed) c->listed = true, listed[listed_count++] = (uint32_t)(address / 2);
    qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &c->now, 1);
  }
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
  (void)info;
  for (int i = 0; i < argc; i++) {
    const char* value = strchr(argv[i], '=');
    if (!value++) return 1;
    if (!strncmp(argv[i], "out=", 4)) out = fopen(value, "w");
    if (!strncmp(argv[i], "begin=", 6)) begin_address = (uint32_t)strtoul(value, NULL, 16);
    if (!strncmp(argv[i], "each=", 5)) each = strtoul(value, NULL, 10) != 0;
    if (!strncmp(argv[i], "end=", 4)) end_address = (uint32_t)strtoul(value, NULL, 16);
    if (!strncmp(argv[i], "call=", 5) && call_count < kMaxCalls) calls[call_count++] = (uint32_t)strtoul(value, NULL, 16);
  }
  if (!out || !begin_address || !end_address) return 1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  return 0;
}
