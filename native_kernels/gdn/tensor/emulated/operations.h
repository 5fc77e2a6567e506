// Asynchronous operations: what they touch, when they run, and whether a later one may rely on them.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>

#include "matrix_unit.h"
#include "tensor_memory.h"

namespace tensor::emulated {

// The registers of one thread; a load fills them later.
struct RegisterFile {
    uint32_t* values = nullptr;
    int pending = -1;  // the load that has not been waited for
};

struct Access {
    Area area;
    bool reads, writes;
};

// One product, as its descriptors say.
struct ProductPlan {
    Format format = Format::BF16;
    int m = 0, n = 0, k = 0;
    bool accumulate = false, negate_a = false, negate_b = false;
    int d_lane = 0, d_column = 0;
    int a_lane = -1, a_column = 0;     // A in Tensor Memory, if a_lane >= 0
    std::vector<uint32_t> a, b;        // byte offsets in shared memory: a by (m, k), b by (k, n)
};

struct Operation {
    enum class Kind { LOAD, STORE, PRODUCT };

    Kind kind = Kind::LOAD;
    int id = 0;
    int thread = 0;  // that issued it; of a load or store the first of its warp
    std::vector<Access> accesses;
    Place where;
    bool executed = false;

    // Loads and stores.
    Shape shape = Shape::S32X32B;
    int registers = 0, second = 0, lane = 0, column = 0;
    std::optional<Format> format;  // of what a store writes, if it is an operand
    std::array<RegisterFile*, WARP> targets{};
    std::vector<uint32_t> values;
    uint32_t wait_time = 0;  // of the wait of its warp; 0: not waited for

    // Products.
    ProductPlan plan;
    int group = -1;  // the commit that follows it

    int published = -1;          // the CTA barrier at which the completion was made known to the other threads
    bool passed_barrier = false;  // a CTA barrier came after the wait

    int warp() const { return thread / WARP; }
};

// One commit: the products of its thread up to it.
struct Group {
    int thread;
    uint32_t slot;
    int last_operation;
    bool arrived = false;
    int phase = -1;                       // of its mbarrier, that it completed
    std::vector<uint32_t> observed = {};  // by thread: when it saw the arrival; 0: not yet
    int published = -1;                   // CTA barrier that came after the first observation
};

struct Barrier {
    int completed = 0;  // phases
    int initialiser = 0;
    uint32_t time = 0;
};

// The operations of a CTA in the order of their issue, and which of them a thread may build upon.
class Operations {
   public:
    explicit Operations(const Clock& clock) : clock_(clock) {}

    std::deque<Operation>& all() { return all_; }
    std::deque<Group>& groups() { return groups_; }

    // Why an operation that thread is about to issue may not rely on an earlier one that touches the same place; plan: of a product.
    std::optional<Fault> conflict(const std::vector<Access>& accesses, int thread, const ProductPlan* plan) const {
        for (int id : live_) {
            const Operation& earlier = all_[id];
            for (const Access& mine : accesses)
                for (const Access& other : earlier.accesses) {
                    if (!(mine.writes || other.writes) || !mine.area.overlaps(other.area)) continue;
                    if (plan && same_accumulator(earlier, *plan, thread) && &other == &earlier.accesses[0] && &mine == &accesses[0]) continue;
                    if (auto why = unordered(earlier, thread)) return why;
                }
        }
        return std::nullopt;
    }

    Operation& add(Operation operation) {
        operation.id = static_cast<int>(all_.size());
        live_.push_back(operation.id);
        all_.push_back(std::move(operation));
        return all_.back();
    }

    // May thread overwrite shared memory that a product reads?
    bool operand_is_free(int id, int thread) const {
        const Operation& product = all_[id];
        if (product.group < 0) return false;
        const Group& group = groups_[product.group];
        return group.observed[thread] != 0 || group.published >= 0;
    }

    // A thread saw that so many phases of an mbarrier are complete; a commit tracks the earlier ones of its thread too.
    void observe(int thread, uint32_t slot, int completed_phases) {
        for (size_t i = settled_; i < groups_.size(); ++i) {
            if (groups_[i].slot != slot || !groups_[i].arrived || groups_[i].phase >= completed_phases) continue;
            for (size_t j = settled_; j <= i; ++j)
                if (groups_[j].thread == groups_[i].thread && !groups_[j].observed[thread]) groups_[j].observed[thread] = clock_.now;
        }
    }

    // A barrier of the CTA has completed: what had been waited for and fenced is known to all threads.
    void publish() {
        for (size_t i = settled_; i < groups_.size(); ++i)
            if (groups_[i].published < 0 && seen(groups_[i])) groups_[i].published = clock_.generation;
        while (settled_ < groups_.size() && groups_[settled_].published >= 0) ++settled_;
        for (int id : live_) {
            Operation& operation = all_[id];
            if (operation.kind == Operation::Kind::PRODUCT || !operation.wait_time || operation.published >= 0) continue;
            operation.passed_barrier = true;
            bool fenced = true;
            for (int t = operation.warp() * WARP; t < (operation.warp() + 1) * WARP; ++t)
                fenced = fenced && clock_.fence_before[t] > operation.wait_time;
            if (fenced) operation.published = clock_.generation;
        }
        forget_settled();
    }

    // A barrier of a warp: what one thread saw arrive, the others know of.
    void share_in_warp(int warp) {
        for (size_t i = settled_; i < groups_.size(); ++i) {
            uint32_t* observed = groups_[i].observed.data() + warp * WARP;
            if (std::any_of(observed, observed + WARP, [](uint32_t time) { return time != 0; }))
                std::replace(observed, observed + WARP, 0u, clock_.now);
        }
    }

   private:
    static bool seen(const Group& group) {
        return std::any_of(group.observed.begin(), group.observed.end(), [](uint32_t time) { return time != 0; });
    }

    static bool same_accumulator(const Operation& earlier, const ProductPlan& plan, int thread) {
        return earlier.kind == Operation::Kind::PRODUCT && earlier.thread == thread && earlier.plan.d_lane == plan.d_lane &&
               earlier.plan.d_column == plan.d_column && earlier.plan.m == plan.m && earlier.plan.n == plan.n;
    }

    bool known(const Operation& earlier, int thread) const {
        if (earlier.kind != Operation::Kind::PRODUCT)
            return (earlier.warp() == thread / WARP && earlier.wait_time) ||
                   (earlier.published >= 0 && earlier.published <= clock_.acquired[thread]);
        if (earlier.group < 0) return false;
        const Group& group = groups_[earlier.group];
        return (group.observed[thread] && clock_.fence_after[thread] > group.observed[thread]) ||
               (group.published >= 0 && group.published <= clock_.acquired[thread]);
    }

    static const char* noun(Operation::Kind kind) {
        return kind == Operation::Kind::LOAD ? "load" : kind == Operation::Kind::STORE ? "store" : "product";
    }

    std::optional<Fault> unordered(const Operation& earlier, int thread) const {
        if (known(earlier, thread)) return std::nullopt;
        const char* what = noun(earlier.kind);
        const int line = earlier.where.line;
        if (earlier.kind != Operation::Kind::PRODUCT) {
            if (!earlier.wait_time)
                return fault(TrapKind::MISSING_WAIT, "the %s of line %d on the same columns was not waited for (wait_%s)", what, line, what);
            if (!earlier.passed_barrier)
                return fault(TrapKind::MISSING_BARRIER, "no barrier since warp %d waited for its %s of line %d", earlier.warp(), what, line);
            return fault(TrapKind::MISSING_FENCE, "%s is missing at the barrier after the %s of line %d",
                         earlier.published < 0 ? "fence_before" : "fence_after", what, line);
        }
        if (earlier.group < 0) return fault(TrapKind::MISSING_WAIT, "the product of line %d on the same columns was not committed", line);
        const Group& group = groups_[earlier.group];
        if (group.observed[thread] || group.published >= 0)
            return fault(TrapKind::MISSING_FENCE, "fence_after is missing since the product of line %d arrived", line);
        if (seen(group)) return fault(TrapKind::MISSING_BARRIER, "another thread waited for the product of line %d, no barrier since", line);
        return fault(TrapKind::MISSING_WAIT, "the product of line %d on the same columns was not waited for", line);
    }

    // Operations that every thread may build upon need no more looking at.
    void forget_settled() {
        const int threads = static_cast<int>(clock_.acquired.size());
        std::erase_if(live_, [&](int id) {
            for (int t = 0; t < threads; ++t)
                if (!known(all_[id], t)) return false;
            return true;
        });
    }

    std::deque<Operation> all_;
    std::deque<Group> groups_;
    size_t settled_ = 0;  // groups before it are known at every barrier since
    std::vector<int> live_;
    const Clock& clock_;
};

}  // namespace tensor::emulated
