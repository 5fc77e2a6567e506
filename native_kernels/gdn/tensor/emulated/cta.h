// The CTA that a kernel sees on the emulator: one per thread, all of one machine.
#pragma once

#include <type_traits>

#include "machine.h"

namespace tensor::emulated {

// N registers of a thread. Reading them between a load and its wait is a trap, as is storing or copying them.
template <int N>
class Registers {
   public:
    Registers() { std::fill_n(values_, N, Pipeline::POISON); }
    Registers(const Registers& other) : machine_(other.machine_), thread_(other.thread_) {
        other.settled(Place::here());
        memcpy(values_, other.values_, sizeof(values_));
    }
    Registers& operator=(const Registers& other) {
        settled(Place::here());
        other.settled(Place::here());
        memcpy(values_, other.values_, sizeof(values_));
        return *this;
    }
    ~Registers() {
        if (file_.pending >= 0) machine_->forget(file_.pending, &file_);
    }

    uint32_t get(int j, Place where = Place::here()) const {
        settled(where);
        return values_[j];
    }
    void set(int j, uint32_t bits, Place where = Place::here()) {
        settled(where);
        values_[j] = bits;
    }

    RegisterFile* file(Machine* machine, int thread) {
        machine_ = machine;
        thread_ = thread;
        file_.values = values_;
        return &file_;
    }

   private:
    void settled(Place where) const {
        if (file_.pending >= 0)
            machine_->trap(thread_, where, fault(TrapKind::MISSING_WAIT, "registers are used before wait_load"));
    }

    uint32_t values_[N];
    RegisterFile file_;
    Machine* machine_ = nullptr;
    int thread_ = -1;
};

class Cta {
   public:
    static constexpr bool ONE_THREAD_ISSUES = true;
    template <int N>
    using Registers = emulated::Registers<N>;

    Cta(Machine& machine, int thread, const int (&block)[3], const int (&blocks)[3]) : machine_(&machine), thread_(thread) {
        for (int i = 0; i < 3; ++i) {
            block_[i] = block[i];
            blocks_[i] = blocks[i];
        }
    }

    int thread() const { return thread_; }
    int warp() const { return thread_ / WARP; }
    int lane() const { return thread_ % WARP; }
    int threads() const { return machine_->options().threads; }
    int block(int axis) const { return block_[axis]; }
    int blocks(int axis) const { return blocks_[axis]; }

    void sync(Place where = Place::here()) { machine_->sync(thread_, false, where); }
    bool sync_or(bool x, Place where = Place::here()) { return machine_->sync(thread_, x, where); }
    void sync_warp(Place where = Place::here()) { machine_->sync_warp(thread_, where); }
    bool elect(Place where = Place::here()) {
        machine_->meet(thread_, "elect", 0, 0, where);
        return lane() == machine_->leader();
    }

    template <class T>
    T shuffle(T x, int from, Place where = Place::here()) {
        return exchange("shuffle", x, from % WARP, 0, where);
    }
    template <class T>
    T shuffle_xor(T x, int mask, Place where = Place::here()) {
        return exchange("shuffle_xor", x, lane() ^ mask, mask, where);
    }
    template <class T>
    T shuffle_up(T x, int by, Place where = Place::here()) {
        return exchange("shuffle_up", x, lane() >= by ? lane() - by : lane(), by, where);
    }
    template <class T>
    T shuffle_down(T x, int by, Place where = Place::here()) {
        return exchange("shuffle_down", x, lane() + by < WARP ? lane() + by : lane(), by, where);
    }

    static uint32_t shared_base() { return SharedMemory::BASE; }

    template <class T>
    T shared_load(uint32_t offset, Place where = Place::here()) {
        static_assert(sizeof(T) == 2 || sizeof(T) == 4);
        T value;
        machine_->load(thread_, offset, sizeof(T), &value, where);
        return value;
    }
    template <class T>
    void shared_store(uint32_t offset, T value, Place where = Place::here()) {
        static_assert(sizeof(T) == 2 || sizeof(T) == 4);
        machine_->store(thread_, offset, sizeof(T), &value, nullptr, where);
    }
    template <class T>
    void shared_store(uint32_t offset, T value, const MatrixLayout& layout, Place where = Place::here()) {
        machine_->store(thread_, offset, sizeof(T), &value, &layout, where);
    }
    template <class T>
    void shared_load_piece(uint32_t offset, T (&values)[16 / sizeof(T)], Place where = Place::here()) {
        machine_->load(thread_, offset, 16, values, where);
    }
    template <class T>
    void shared_store_piece(uint32_t offset, const T (&values)[16 / sizeof(T)], Place where = Place::here()) {
        machine_->store(thread_, offset, 16, values, nullptr, where);
    }
    template <class T>
    void shared_store_piece(uint32_t offset, const T (&values)[16 / sizeof(T)], const MatrixLayout& layout, Place where = Place::here()) {
        machine_->store(thread_, offset, 16, values, &layout, where);
    }

    void allocate(uint32_t slot, int columns, Place where = Place::here()) { machine_->allocate(thread_, slot, columns, where); }
    void relinquish(Place where = Place::here()) { machine_->relinquish(thread_, where); }
    void deallocate(uint32_t address, int columns, Place where = Place::here()) { machine_->deallocate(thread_, address, columns, where); }

    template <int N>
    void load_32x32b(Registers<N>& target, uint32_t address, Place where = Place::here()) {
        move<Shape::S32X32B, N>(true, target, 0, address, where);
    }
    template <int N>
    void store_32x32b(const Registers<N>& source, uint32_t address, Place where = Place::here()) {
        move<Shape::S32X32B, N>(false, source, 0, address, where);
    }
    template <int N>
    void store_32x32b(const Registers<N>& source, uint32_t address, Format format, Place where = Place::here()) {
        move<Shape::S32X32B, N>(false, source, 0, address, where, format);
    }
    template <int N, int SECOND>
    void load_16x32bx2(Registers<N>& target, uint32_t address, Place where = Place::here()) {
        move<Shape::S16X32BX2, N>(true, target, SECOND, address, where);
    }
    template <int N, int SECOND>
    void store_16x32bx2(const Registers<N>& source, uint32_t address, Place where = Place::here()) {
        move<Shape::S16X32BX2, N>(false, source, SECOND, address, where);
    }
    template <int N, int SECOND>
    void store_16x32bx2(const Registers<N>& source, uint32_t address, Format format, Place where = Place::here()) {
        move<Shape::S16X32BX2, N>(false, source, SECOND, address, where, format);
    }
    // N counts registers here: one, two and four per repetition of 16x64b, 16x128b and 16x256b.
    template <int N>
    void load_16x64b(Registers<N>& target, uint32_t address, Place where = Place::here()) {
        move<Shape::S16X64B, N>(true, target, 0, address, where);
    }
    template <int N>
    void load_16x128b(Registers<N>& target, uint32_t address, Place where = Place::here()) {
        static_assert(N >= 2);
        move<Shape::S16X128B, N>(true, target, 0, address, where);
    }
    template <int N>
    void load_16x256b(Registers<N>& target, uint32_t address, Place where = Place::here()) {
        static_assert(N >= 4);
        move<Shape::S16X256B, N>(true, target, 0, address, where);
    }

    void wait_load(Place where = Place::here()) { machine_->wait_moves(thread_, true, where); }
    void wait_store(Place where = Place::here()) { machine_->wait_moves(thread_, false, where); }
    void fence_before(Place = Place::here()) { machine_->fence_before(thread_); }
    void fence_after(Place = Place::here()) { machine_->fence_after(thread_); }
    void fence_proxy_async(Place = Place::here()) { machine_->fence_proxy_async(thread_); }

    template <class T>
    void mma(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction, bool accumulate, Place where = Place::here()) {
        machine_->product(thread_, std::is_same_v<T, Tf32>, false, d, a, b, instruction, accumulate, where);
    }
    template <class T>
    void mma_tensor(uint32_t d, uint32_t a, uint64_t b, uint32_t instruction, bool accumulate, Place where = Place::here()) {
        machine_->product(thread_, std::is_same_v<T, Tf32>, true, d, a, b, instruction, accumulate, where);
    }
    void barrier_init(uint32_t offset, Place where = Place::here()) { machine_->barrier_init(thread_, offset, where); }
    void commit(uint32_t offset, Place where = Place::here()) { machine_->commit(thread_, offset, where); }
    void barrier_wait(uint32_t offset, uint32_t parity, Place where = Place::here()) {
        machine_->barrier_wait(thread_, offset, parity, where);
    }

   private:
    template <class T>
    T exchange(const char* what, T x, int from, int detail, Place where) {
        static_assert(sizeof(T) == 4, "shuffles are of 32-bit values");
        uint32_t bits;
        memcpy(&bits, &x, 4);
        const int buffer = machine_->meet(thread_, what, static_cast<uint64_t>(detail), bits, where);
        bits = machine_->exchanged(thread_, buffer, from);
        memcpy(&x, &bits, 4);
        return x;
    }

    template <Shape SHAPE, int N, class R>
    void move(bool loads, R& registers, int second, uint32_t address, Place where, std::optional<Format> format = std::nullopt) {
        static_assert(N >= 1 && N <= 128 && (N & (N - 1)) == 0, "registers: a power of two up to 128");
        // A store only reads its registers; it is the machine that keeps both kinds in one table.
        auto& file = const_cast<std::remove_const_t<R>&>(registers);
        machine_->move(thread_, loads, SHAPE, N, second, address, file.file(machine_, thread_), format, where);
    }

    Machine* machine_;
    int thread_;
    int block_[3], blocks_[3];
};

}  // namespace tensor::emulated
