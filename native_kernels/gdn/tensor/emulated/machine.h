// One CTA of an emulated GPU: its threads as fibers, its memories, and its asynchronous side.
#pragma once

#include "fiber.h"
#include "pipeline.h"

namespace tensor::emulated {

struct Options {
    Schedule schedule = Schedule::EAGER;
    uint64_t seed = 0;
    int threads = 128;
    int shared_bytes = 0;
};

struct Statistics {
    long long products = 0;  // instructions
    long long barriers = 0;  // of the CTA
    int peak_columns = 0;    // of Tensor Memory, at once
};

class Machine {
   public:
    explicit Machine(const Options& options)
        : options_(options), clock_(options.threads), shared_(options.shared_bytes, clock_), tensor_(first_column(options)),
          pipeline_(clock_, shared_, tensor_, options.schedule, options.seed), random_(options.seed + 1), threads_(options.threads),
          warps_(options.threads / WARP) {}

    // Runs body(thread) for every thread; fibers: one per thread, reused from CTA to CTA.
    template <class Body>
    Trap run(std::deque<Fiber>& fibers, const int (&block)[3], Body& body) {
        struct Start {
            Machine* machine;
            Body* body;
            int thread;
        };
        std::vector<Start> starts;
        for (int t = 0; t < options_.threads; ++t) starts.push_back({this, &body, t});
        fibers_ = &fibers;
        for (int i = 0; i < 3; ++i) trap_.block[i] = block[i];
        for (int t = 0; t < options_.threads; ++t)
            fibers[t].start(
                [](void* argument) {
                    auto& start = *static_cast<Start*>(argument);
                    (*start.body)(start.thread);
                    start.machine->threads_[start.thread].state = State::DONE;
                },
                &starts[t]);
        schedule();
        return trap_;
    }

    const Options& options() const { return options_; }
    Statistics statistics() const { return {pipeline_.products(), barriers_, tensor_.peak_columns()}; }
    int leader() const { return options_.schedule == Schedule::EAGER ? 0 : options_.schedule == Schedule::LATE ? 31 : options_.seed % WARP; }

    // Ends the launch; the calling thread never goes on.
    [[noreturn]] void trap(int thread, Place where, const Fault& what) {
        set_trap(thread, where, what);
        for (;;) (*fibers_)[thread].suspend();
    }
    void require(int thread, Place where, const std::optional<Fault>& wrong) {
        if (wrong) trap(thread, where, *wrong);
    }

    // ---- threads among themselves

    bool sync(int thread, bool vote, Place where) {
        ++clock_.now;
        const int slot = (clock_.generation + 1) & 1;
        if (arrived_ == 0) votes_[slot] = false;
        votes_[slot] = votes_[slot] || vote;
        if (++arrived_ < options_.threads) {
            block(thread, State::AT_SYNC, where);
        } else {
            arrived_ = 0;
            ++barriers_;
            clock_.complete_sync();
            pipeline_.operations().publish();
            for (Thread& t : threads_)
                if (t.state == State::AT_SYNC) t.state = State::READY;
        }
        return votes_[slot];
    }

    // Waits for the warp; all its threads must call with one what and detail. Returns which exchange buffer is theirs.
    int meet(int thread, const char* what, uint64_t detail, uint32_t value, Place where) {
        Warp& warp = warps_[thread / WARP];
        const int buffer = warp.buffer;
        ++clock_.now;
        if (warp.arrived == 0) {
            warp.what = what;
            warp.detail = detail;
            warp.first = thread;
        } else if (strcmp(warp.what, what) != 0 || warp.detail != detail) {
            trap(thread, where,
                 strcmp(warp.what, what) == 0 ? fault(TrapKind::DIVERGENT_COLLECTIVE, "%s with other arguments than thread %d", what, warp.first)
                                   : fault(TrapKind::DIVERGENT_COLLECTIVE, "%s while thread %d is at %s", what, warp.first, warp.what));
        }
        warp.values[buffer][thread % WARP] = value;
        if (++warp.arrived < WARP) {
            block(thread, State::IN_WARP, where);
        } else {
            warp.arrived = 0;
            warp.buffer ^= 1;
            for (int t = thread / WARP * WARP; t < (thread / WARP + 1) * WARP; ++t)
                if (threads_[t].state == State::IN_WARP) threads_[t].state = State::READY;
        }
        return buffer;
    }
    uint32_t exchanged(int thread, int buffer, int lane) const { return warps_[thread / WARP].values[buffer][lane]; }

    void sync_warp(int thread, Place where) {
        together(thread, "sync_warp", 0, where, [&] {
            clock_.complete_warp_sync(thread / WARP);
            pipeline_.operations().share_in_warp(thread / WARP);
        });
    }

    // action() once, by the last thread of the warp to come, before any of them goes on.
    template <class Action>
    void together(int thread, const char* what, uint64_t detail, Place where, Action action) {
        Warp& warp = warps_[thread / WARP];
        const bool last = warp.arrived == WARP - 1;
        meet(thread, what, detail, 0, where);
        if (last) action();
    }

    // ---- shared memory

    void load(int thread, uint32_t offset, int bytes, void* target, Place where) {
        ++clock_.now;
        require(thread, where, shared_.load(offset, bytes, thread));
        memcpy(target, shared_.data() + offset, bytes);
    }

    void store(int thread, uint32_t offset, int bytes, const void* source, const MatrixLayout* layout, Place where) {
        ++clock_.now;
        require(thread, where, shared_.check_place(offset, bytes));
        for (uint32_t o = offset; o < offset + bytes; o += 2) {
            const int product = shared_.granule(o).product;
            if (product < 0) continue;
            if (!pipeline_.operations().operand_is_free(product, thread))
                trap(thread, where, fault(TrapKind::OPERAND_OVERWRITTEN, "offset %u may still be read by the product of line %d", o,
                                          pipeline_.operations().all()[product].where.line));
            shared_.granule(o).product = -1;
        }
        require(thread, where, shared_.store(offset, bytes, thread, layout ? shared_.intern(*layout) : SharedMemory::NO_LAYOUT));
        memcpy(shared_.data() + offset, source, bytes);
    }

    // ---- Tensor Memory

    void allocate(int thread, uint32_t slot, int columns, Place where) {
        together(thread, "allocate", static_cast<uint64_t>(slot) << 32 | static_cast<uint32_t>(columns), where, [&] {
            uint32_t address = 0;
            require(thread, where, tensor_.allocate(columns, thread / WARP, address));
            store(thread, slot, 4, &address, nullptr, where);
        });
    }

    void relinquish(int thread, Place where) {
        together(thread, "relinquish", 0, where, [&] { tensor_.relinquish(); });
    }

    void deallocate(int thread, uint32_t address, int columns, Place where) {
        together(thread, "deallocate", static_cast<uint64_t>(address) << 32 | static_cast<uint32_t>(columns), where, [&] {
            const int begin = static_cast<int>(address);
            require(thread, where, pipeline_.operations().conflict({{{ALL_LANES, begin, begin + columns}, true, true}}, thread, nullptr));
            require(thread, where, tensor_.deallocate(address, columns));
        });
    }

    // A load or a store of a warp; file: the registers of this thread.
    void move(int thread, bool loads, Shape shape, int registers, int second, uint32_t address, RegisterFile* file,
              std::optional<Format> format, Place where) {
        if (file->pending >= 0)
            trap(thread, where, fault(TrapKind::MISSING_WAIT, "the registers still wait for a load (wait_load)"));
        Warp& warp = warps_[thread / WARP];
        warp.files[thread % WARP] = file;
        const uint64_t detail = static_cast<uint64_t>(shape) << 56 ^ static_cast<uint64_t>(registers) << 44 ^
                                static_cast<uint64_t>(second) << 32 ^ address;
        together(thread, loads ? "load" : "store", detail, where, [&] {
            Operation operation;
            operation.kind = loads ? Operation::Kind::LOAD : Operation::Kind::STORE;
            operation.thread = thread / WARP * WARP;
            operation.where = where;
            operation.shape = shape;
            operation.registers = registers;
            operation.second = second;
            operation.format = format;
            operation.lane = static_cast<int>(address >> 16);
            operation.column = static_cast<int>(address & 0xFFFFu);
            require(thread, where, pipeline_.issue_move(std::move(operation), warp.files));
        });
    }

    void forget(int operation, const RegisterFile* file) { pipeline_.forget(operation, file); }

    void wait_moves(int thread, bool loads, Place where) {
        together(thread, loads ? "wait_load" : "wait_store", 0, where, [&] {
            pipeline_.wait_moves(thread / WARP, loads ? Operation::Kind::LOAD : Operation::Kind::STORE);
        });
    }

    void fence_before(int thread) { clock_.fence_before[thread] = ++clock_.now; }
    void fence_after(int thread) {
        clock_.fence_after[thread] = ++clock_.now;
        clock_.acquired[thread] = clock_.generation;
    }
    void fence_proxy_async(int thread) { clock_.proxy_fence[thread] = ++clock_.now; }

    // ---- matrix unit

    void product(int thread, bool tf32, bool a_tensor, uint32_t d, uint64_t a, uint64_t b, uint32_t instruction, bool accumulate, Place where) {
        ++clock_.now;
        require(thread, where, pipeline_.issue_product(thread, where, tf32, a_tensor, d, a, b, instruction, accumulate));
    }

    void barrier_init(int thread, uint32_t slot, Place where) {
        ++clock_.now;
        require(thread, where, pipeline_.barrier_init(thread, slot));
    }

    void commit(int thread, uint32_t slot, Place where) {
        ++clock_.now;
        require(thread, where, pipeline_.check_barrier(thread, slot));
        pipeline_.commit(thread, slot);
    }

    void barrier_wait(int thread, uint32_t slot, uint32_t parity, Place where) {
        ++clock_.now;
        require(thread, where, pipeline_.check_barrier(thread, slot));
        threads_[thread].slot = slot;
        threads_[thread].parity = parity & 1;
        if (!pipeline_.phase_complete(slot, parity & 1)) block(thread, State::AT_BARRIER, where);
        ++clock_.now;
        pipeline_.observe(thread, slot);
    }

   private:
    enum class State { READY, AT_SYNC, IN_WARP, AT_BARRIER, DONE };

    struct Thread {
        State state = State::READY;
        Place where;
        uint32_t slot = 0, parity = 0;
    };

    struct Warp {
        int arrived = 0, buffer = 0, first = 0;
        const char* what = "";
        uint64_t detail = 0;
        std::array<std::array<uint32_t, WARP>, 2> values{};
        std::array<RegisterFile*, WARP> files{};
    };

    static int first_column(const Options& options) {
        if (options.schedule == Schedule::EAGER) return 0;
        return options.schedule == Schedule::LATE ? 256 : static_cast<int>(options.seed * 7 % 8) * 32;
    }

    void set_trap(int thread, Place where, const Fault& what) {
        if (trap_) return;
        trap_.kind = what.kind;
        snprintf(trap_.message, sizeof(trap_.message), "%s", what.message);
        trap_.file = where.file;
        trap_.line = where.line;
        trap_.thread = thread;
    }

    void block(int thread, State state, Place where) {
        threads_[thread].state = state;
        threads_[thread].where = where;
        (*fibers_)[thread].suspend();
    }

    void schedule() {
        const int n = options_.threads;
        for (;;) {
            bool ran = false, all_done = true;
            const int first = options_.schedule == Schedule::RANDOM ? static_cast<int>(random_.draw() % n) : 0;
            for (int i = 0; i < n; ++i) {
                const int t = options_.schedule == Schedule::LATE ? n - 1 - i : (first + i) % n;
                if (threads_[t].state == State::AT_BARRIER && pipeline_.phase_complete(threads_[t].slot, threads_[t].parity))
                    threads_[t].state = State::READY;
                all_done = all_done && threads_[t].state == State::DONE;
                if (threads_[t].state != State::READY) continue;
                if (options_.schedule == Schedule::RANDOM && random_.draw() % 16 == 0) pipeline_.run_something();
                ran = true;
                (*fibers_)[t].resume();
                if (trap_) return;
                all_done = all_done && threads_[t].state == State::DONE;
            }
            if (all_done) break;
            if (!ran && !pipeline_.run_late()) return explain_deadlock();
        }
        if (auto wrong = tensor_.at_exit()) set_trap(0, {}, *wrong);
    }

    void explain_deadlock() {
        const Thread* waits = nullptr;
        int done = 0;
        for (const Thread& t : threads_) done += t.state == State::DONE;
        for (const Thread& t : threads_)
            if (t.state == State::AT_BARRIER) waits = &t;
        if (waits)
            return set_trap(static_cast<int>(waits - threads_.data()), waits->where,
                            fault(TrapKind::MISSING_COMMIT, "nothing will arrive at the mbarrier at offset %u (parity %u)", waits->slot,
                                  waits->parity));
        for (const Thread& t : threads_)
            if (t.state == State::IN_WARP || t.state == State::AT_SYNC)
                return set_trap(static_cast<int>(&t - threads_.data()), t.where,
                                fault(TrapKind::DEADLOCK, "waits at a barrier of its %s to which others do not come (%d threads ended)",
                                      t.state == State::IN_WARP ? "warp" : "CTA", done));
    }

    Options options_;
    Clock clock_;
    SharedMemory shared_;
    TensorMemory tensor_;
    Pipeline pipeline_;
    Random random_;
    std::vector<Thread> threads_;
    std::vector<Warp> warps_;
    std::deque<Fiber>* fibers_ = nullptr;
    int arrived_ = 0;
    bool votes_[2] = {false, false};
    long long barriers_ = 0;
    Trap trap_;
};

}  // namespace tensor::emulated
