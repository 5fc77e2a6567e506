// The asynchronous side of a CTA: loads and stores of Tensor Memory, products, commits and mbarriers, and when they are carried out.
#pragma once

#include <map>

#include "product_check.h"

namespace tensor::emulated {

// When asynchronous operations run: at their issue, when nothing else can go on, or at random moments in between.
enum class Schedule : int { EAGER = 0, LATE = 1, RANDOM = 2 };

class Random {  // xorshift64*
   public:
    explicit Random(uint64_t seed) : state_(seed * 2 + 1) {}
    uint64_t draw() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return state_ * 0x2545F4914F6CDD1Dull >> 16;
    }

   private:
    uint64_t state_;
};

// Functions that return a Fault say why the operation may not be issued; nothing has changed then.
class Pipeline {
   public:
    static constexpr uint32_t POISON = 0x7FF1DEADu;  // in registers whose load has not been waited for

    Pipeline(const Clock& clock, SharedMemory& shared, TensorMemory& tensor, Schedule schedule, uint64_t seed)
        : clock_(clock), shared_(shared), tensor_(tensor), operations_(clock), schedule_(schedule), random_(seed),
          moves_(clock.warp_sync.size()) {}

    Operations& operations() { return operations_; }
    long long products() const { return product_count_; }

    // A load or store of a warp, of which kind, thread, where, shape, registers, second, lane and column are set; files: by lane.
    std::optional<Fault> issue_move(Operation operation, const std::array<RegisterFile*, WARP>& files) {
        const bool loads = operation.kind == Operation::Kind::LOAD;
        if (auto wrong = plan_move(operation)) return wrong;
        if (auto wrong = operations_.conflict(operation.accesses, operation.thread, nullptr)) return wrong;
        if (!loads)
            for (const RegisterFile* file : files)
                operation.values.insert(operation.values.end(), file->values, file->values + operation.registers);
        Operation& added = operations_.add(std::move(operation));
        if (loads) {
            added.targets = files;
            for (RegisterFile* file : files) {
                file->pending = added.id;
                std::fill_n(file->values, added.registers, POISON);
            }
        } else {
            for (const Access& access : added.accesses) tensor_.mark_written(access.area, added.format);
        }
        moves_[added.warp()].push_back(added.id);
        if (schedule_ == Schedule::EAGER) execute(added);
        return std::nullopt;
    }

    // Registers that go out of scope before their load is waited for get nothing.
    void forget(int operation, const RegisterFile* file) {
        std::replace(operations_.all()[operation].targets.begin(), operations_.all()[operation].targets.end(),
                     const_cast<RegisterFile*>(file), static_cast<RegisterFile*>(nullptr));
    }

    void wait_moves(int warp, Operation::Kind kind) {
        std::erase_if(moves_[warp], [&](int id) {
            Operation& operation = operations_.all()[id];
            if (operation.kind != kind) return false;
            if (!operation.executed) execute(operation);
            operation.wait_time = clock_.now;
            for (RegisterFile* target : operation.targets)
                if (target) target->pending = -1;
            return true;
        });
    }

    // One product. a_tensor: a is an address in Tensor Memory, else a descriptor.
    std::optional<Fault> issue_product(int thread, Place where, bool tf32, bool a_tensor, uint32_t d, uint64_t a, uint64_t b,
                                       uint32_t instruction, bool accumulate) {
        Operation operation;
        operation.kind = Operation::Kind::PRODUCT;
        operation.thread = thread;
        operation.where = where;
        if (auto wrong = plan_product(operation, tf32, a_tensor, d, a, b, instruction, accumulate)) return wrong;
        Operation& added = operations_.add(std::move(operation));
        tensor_.mark_written(added.accesses[0].area, std::nullopt);
        products_.push_back(added.id);
        uncommitted_[thread].push_back(added.id);
        ++product_count_;
        if (schedule_ == Schedule::EAGER)
            while (!products_.empty()) execute_product(0);
        return std::nullopt;
    }

    std::optional<Fault> barrier_init(int thread, uint32_t slot) {
        if (barriers_.count(slot)) return fault(TrapKind::BARRIER_STATE, "the mbarrier at offset %u is initialised twice", slot);
        if (slot % 8) return fault(TrapKind::SHARED_ALIGNMENT, "an mbarrier at offset %u: a multiple of 8 is needed", slot);
        if (auto wrong = shared_.store(slot, 8, thread, SharedMemory::BARRIER_LAYOUT)) return wrong;
        barriers_[slot] = {0, thread, clock_.now};
        return std::nullopt;
    }

    std::optional<Fault> check_barrier(int thread, uint32_t slot) const {
        const auto found = barriers_.find(slot);
        if (found == barriers_.end()) return fault(TrapKind::BARRIER_STATE, "no mbarrier was initialised at offset %u", slot);
        if (!clock_.precedes(found->second.initialiser, found->second.time, thread))
            return fault(TrapKind::BARRIER_STATE, "no barrier since the mbarrier at offset %u was initialised", slot);
        return std::nullopt;
    }

    // The mbarrier must have passed check_barrier().
    void commit(int thread, uint32_t slot) {
        const int group = static_cast<int>(operations_.groups().size());
        auto& mine = uncommitted_[thread];
        for (int id : mine) operations_.all()[id].group = group;
        int& last = last_committed_.try_emplace(thread, -1).first->second;
        if (!mine.empty()) last = mine.back();
        mine.clear();
        operations_.groups().push_back({thread, slot, last});
        operations_.groups().back().observed.resize(clock_.acquired.size());
        open_groups_.push_back(group);
        if (schedule_ == Schedule::EAGER) arrive(1);
    }

    bool phase_complete(uint32_t slot, uint32_t parity) const { return (barriers_.at(slot).completed & 1u) != parity; }
    void observe(int thread, uint32_t slot) { operations_.observe(thread, slot, barriers_.at(slot).completed); }

    // As late as allowed: called when no thread can go on; completes the oldest commit. False where there is none.
    bool run_late() {
        if (open_groups_.empty()) return false;
        const int last = operations_.groups()[open_groups_.front()].last_operation;
        while (!products_.empty() && products_.front() <= last) execute_product(0);
        arrive(1);
        return true;
    }

    // At any moment, under the random schedule: perhaps a product, some moves, an arrival.
    void run_something() {
        if (!products_.empty() && random_.draw() % 2) {
            const size_t i = random_.draw() % products_.size();
            if (may_run(i)) execute_product(i);
        }
        for (const std::vector<int>& moves : moves_)
            for (int id : moves)
                if (!operations_.all()[id].executed && random_.draw() % 4 == 0) execute(operations_.all()[id]);
        if (random_.draw() % 2) arrive(1);
    }

   private:
    std::optional<Fault> plan_move(Operation& operation) const {
        const bool halves = operation.shape != Shape::S32X32B;
        const int warp = operation.warp();
        const int quarter = 32 * (warp % 4);
        if (operation.lane != quarter && !(halves && operation.lane == quarter + 16))
            return fault(TrapKind::LANE_PARTITION, "warp %d may reach lanes %d to %d, the address says lane %d", warp, quarter, quarter + 31,
                         operation.lane);
        const uint8_t lanes = static_cast<uint8_t>((halves ? 1 : 3) << operation.lane / 16);
        const auto add = [&](int begin, int count) {
            const bool reads = operation.kind == Operation::Kind::LOAD;
            operation.accesses.push_back({{lanes, begin, begin + count}, reads, !reads});
        };
        const int n = operation.registers;
        switch (operation.shape) {
            case Shape::S32X32B: add(operation.column, n); break;
            case Shape::S16X64B: add(operation.column, 2 * n); break;
            case Shape::S16X128B: add(operation.column, 2 * n); break;
            case Shape::S16X256B: add(operation.column, 2 * n); break;
            case Shape::S16X32BX2:
                add(operation.column, n);
                add(operation.column + operation.second, n);
                if (operation.second < n)
                    return fault(TrapKind::COLUMNS_OUT_OF_RANGE, "the two halves overlap: %d registers, %d columns apart", n, operation.second);
                break;
        }
        for (const Access& access : operation.accesses)
            if (auto wrong = tensor_.check(access.area, access.reads)) return wrong;
        return std::nullopt;
    }

    std::optional<Fault> plan_product(Operation& operation, bool tf32, bool a_tensor, uint32_t d, uint64_t a, uint64_t b, uint32_t bits,
                                      bool accumulate) {
        InstructionDescriptor instruction;
        if (auto wrong = InstructionDescriptor::read(bits, tf32, instruction)) return wrong;
        ProductPlan& plan = operation.plan;
        plan.format = instruction.format;
        plan.m = instruction.m;
        plan.n = instruction.n;
        plan.k = tf32 ? 8 : 16;
        plan.accumulate = accumulate;
        plan.negate_a = instruction.negate_a;
        plan.negate_b = instruction.negate_b;
        plan.d_lane = static_cast<int>(d >> 16);
        plan.d_column = static_cast<int>(d & 0xFFFFu);
        if (plan.d_lane != 0 && !(plan.m == 64 && plan.d_lane == 16))
            return fault(TrapKind::LANE_PARTITION, "D starts at lane %d: 0, or 16 when M is 64", plan.d_lane);
        operation.accesses.push_back({{lanes_of(plan.m, plan.d_lane), plan.d_column, plan.d_column + plan.n}, accumulate, true});
        const int id = static_cast<int>(operations_.all().size());
        if (a_tensor) {
            if (instruction.a_mn_major) return fault(TrapKind::INSTRUCTION_FIELD, "A in Tensor Memory cannot be transposed");
            plan.a_lane = static_cast<int>(a >> 16 & 0xFFFFu);
            plan.a_column = static_cast<int>(a & 0xFFFFu);
            if (plan.a_lane != plan.d_lane)
                return fault(TrapKind::LANE_PARTITION, "A starts at lane %d and D at lane %d: they must agree", plan.a_lane, plan.d_lane);
            operation.accesses.push_back({{lanes_of(plan.m, plan.a_lane), plan.a_column, plan.a_column + 8}, true, false});
            if (operation.accesses[0].area.overlaps(operation.accesses[1].area))
                return fault(TrapKind::DESCRIPTOR_LAYOUT, "A and D share columns");
        } else {
            SharedDescriptor descriptor;
            if (auto wrong = SharedDescriptor::read(a, descriptor)) return wrong;
            if (auto wrong = find_operand(shared_, clock_, "A", descriptor, instruction.a_mn_major, plan.format, plan.m, plan.k,
                                          operation.thread, id, false, plan.a))
                return wrong;
        }
        SharedDescriptor descriptor;
        if (auto wrong = SharedDescriptor::read(b, descriptor)) return wrong;
        if (auto wrong = find_operand(shared_, clock_, "B", descriptor, instruction.b_mn_major, plan.format, plan.n, plan.k,
                                      operation.thread, id, true, plan.b))
            return wrong;
        for (const Access& access : operation.accesses)
            if (auto wrong = tensor_.check(access.area, access.reads)) return wrong;
        if (auto wrong = operations_.conflict(operation.accesses, operation.thread, &plan)) return wrong;
        return a_tensor ? tensor_.check_operand(operation.accesses[1].area, plan.format) : std::nullopt;
    }

    // Products into one accumulator run in the order of their issue; others in any.
    bool may_run(size_t i) {
        const ProductPlan& plan = operations_.all()[products_[i]].plan;
        for (size_t j = 0; j < i; ++j) {
            const ProductPlan& earlier = operations_.all()[products_[j]].plan;
            if (earlier.d_lane == plan.d_lane && earlier.d_column == plan.d_column) return false;
        }
        return true;
    }

    void execute_product(size_t i) {
        execute(operations_.all()[products_[i]]);
        products_.erase(products_.begin() + static_cast<long>(i));
    }

    // Completes mbarriers, at most so many, whose products are done.
    void arrive(int most) {
        while (!open_groups_.empty() && most-- > 0) {
            Group& group = operations_.groups()[open_groups_.front()];
            for (int id : products_)
                if (id <= group.last_operation && operations_.all()[id].thread == group.thread) return;
            group.phase = barriers_[group.slot].completed++;
            group.arrived = true;
            open_groups_.pop_front();
        }
    }

    void execute(Operation& operation) {
        operation.executed = true;
        if (operation.kind == Operation::Kind::PRODUCT) return execute(operation.plan);
        for (int t = 0; t < WARP; ++t)
            for (int r = 0; r < operation.registers; ++r) {
                const Cell at = cell_of(operation.shape, t, r, operation.second);
                uint32_t& cell = tensor_.cell(operation.lane + at.lane, operation.column + at.column);
                if (operation.kind == Operation::Kind::STORE)
                    cell = operation.values[t * operation.registers + r];
                else if (operation.targets[t])
                    operation.targets[t]->values[r] = cell;
            }
        operation.values = {};
    }

    void execute(ProductPlan& plan) {
        const bool wide = plan.format == Format::TF32;
        const auto stored = [&](uint32_t offset) {
            uint32_t bits = 0;
            memcpy(&bits, shared_.data() + offset, wide ? 4 : 2);
            return bits;
        };
        a_.resize(static_cast<size_t>(plan.m) * plan.k);
        b_.resize(static_cast<size_t>(plan.k) * plan.n);
        for (int m = 0; m < plan.m; ++m)
            for (int k = 0; k < plan.k; ++k) {
                const size_t i = static_cast<size_t>(m) * plan.k + k;
                uint32_t bits;
                if (plan.a_lane < 0) {
                    bits = stored(plan.a[i]);
                } else {
                    bits = tensor_.cell(lane_of_row(plan.m, m, plan.a_lane), plan.a_column + (wide ? k : k / 2));
                    if (!wide) bits = k % 2 ? bits >> 16 : bits & 0xFFFFu;
                }
                a_.set(i, unit::decoded(plan.format, bits));
                if (plan.negate_a) a_.sign[i] = ~a_.sign[i];
            }
        for (size_t i = 0; i < plan.b.size(); ++i) {
            b_.set(i, unit::decoded(plan.format, stored(plan.b[i])));
            if (plan.negate_b) b_.sign[i] = ~b_.sign[i];
        }
        d_.resize(static_cast<size_t>(plan.m) * plan.n);
        for (int m = 0; m < plan.m && plan.accumulate; ++m)
            memcpy(&d_[static_cast<size_t>(m) * plan.n], &tensor_.cell(lane_of_row(plan.m, m, plan.d_lane), plan.d_column), 4 * plan.n);
        multiply(a_, b_, plan.m, plan.n, plan.k, plan.accumulate, d_.data());
        for (int m = 0; m < plan.m; ++m)
            memcpy(&tensor_.cell(lane_of_row(plan.m, m, plan.d_lane), plan.d_column), &d_[static_cast<size_t>(m) * plan.n], 4 * plan.n);
        plan.a = {};
        plan.b = {};
    }

    const Clock& clock_;
    SharedMemory& shared_;
    TensorMemory& tensor_;
    Operations operations_;
    Schedule schedule_;
    Random random_;
    std::vector<std::vector<int>> moves_;  // by warp: loads and stores not waited for
    std::map<uint32_t, Barrier> barriers_;
    std::map<int, std::vector<int>> uncommitted_;  // by thread: products
    std::map<int, int> last_committed_;
    std::deque<int> products_;     // issued, not executed
    std::deque<int> open_groups_;  // committed, not arrived
    long long product_count_ = 0;
    Elements a_, b_;
    std::vector<uint32_t> d_;
};

}  // namespace tensor::emulated
