// CTA threads on the host: fibers that hand the processor to each other, without the operating system.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace tensor::emulated {

// A function with its own stack. resume() runs it until it calls suspend() or returns; a fiber that is dropped half-way is not unwound.
class Fiber {
   public:
    using Function = void (*)(void*);

    Fiber() = default;
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;
    ~Fiber() {
        if (stack_) munmap(stack_, STACK_BYTES);
    }

    // Sets the fiber to the beginning of function(argument), whatever it did before.
    void start(Function function, void* argument) {
        if (!stack_) {
            void* memory = mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (memory == MAP_FAILED) throw std::bad_alloc();
            stack_ = static_cast<char*>(memory);
            mprotect(stack_, GUARD_BYTES, PROT_NONE);
        }
        function_ = function;
        argument_ = argument;
#if defined(__x86_64__)
        // What switch_stack() pops: the two control words (at their defaults), six registers, the return address. Above it one word, so
        // that the stack at the entry of enter() is 8 past a multiple of 16, as after a call.
        auto* top = reinterpret_cast<void**>(stack_ + STACK_BYTES);
        *--top = nullptr;
        *--top = reinterpret_cast<void*>(&Fiber::enter);
        for (int i = 0; i < 6; ++i) *--top = nullptr;
        *--top = reinterpret_cast<void*>(0x0000037F00001F80ull);
        mine_ = top;
#else
        getcontext(&mine_);
        mine_.uc_stack.ss_sp = stack_ + GUARD_BYTES;
        mine_.uc_stack.ss_size = STACK_BYTES - GUARD_BYTES;
        mine_.uc_link = nullptr;
        const auto self = reinterpret_cast<uintptr_t>(this);
        makecontext(&mine_, reinterpret_cast<void (*)()>(&Fiber::enter_halves), 2, static_cast<unsigned>(self >> 32),
                    static_cast<unsigned>(self));
#endif
    }

    void resume() {
#if defined(__x86_64__)
        current() = this;
        switch_stack(&theirs_, mine_);
#else
        swapcontext(&theirs_, &mine_);
#endif
    }

    void suspend() {
#if defined(__x86_64__)
        switch_stack(&mine_, theirs_);
#else
        swapcontext(&mine_, &theirs_);
#endif
    }

   private:
    static constexpr size_t STACK_BYTES = 256 << 10;
    static constexpr size_t GUARD_BYTES = 4096;

    [[noreturn]] void run() {
        function_(argument_);
        for (;;) suspend();  // finished: whoever resumes it gets control back
    }

#if defined(__x86_64__)
    static Fiber*& current() {
        static thread_local Fiber* fiber = nullptr;
        return fiber;
    }

    static void enter() { current()->run(); }

    // Saves what the ABI asks a function to keep, exchanges the stack pointer, and returns on the other stack.
    __attribute__((naked, noinline)) static void switch_stack([[maybe_unused]] void** save, [[maybe_unused]] void* load) {
        asm volatile(
            "pushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"
            "subq $8, %rsp\n\tstmxcsr (%rsp)\n\tfnstcw 4(%rsp)\n\t"
            "movq %rsp, (%rdi)\n\tmovq %rsi, %rsp\n\t"
            "ldmxcsr (%rsp)\n\tfldcw 4(%rsp)\n\taddq $8, %rsp\n\t"
            "popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n\tret");
    }

    void* mine_ = nullptr;
    void* theirs_ = nullptr;
#else
    static void enter_halves(unsigned high, unsigned low) {
        reinterpret_cast<Fiber*>(static_cast<uintptr_t>(high) << 32 | low)->run();
    }

    ucontext_t mine_;
    ucontext_t theirs_;
#endif
    char* stack_ = nullptr;
    Function function_ = nullptr;
    void* argument_ = nullptr;
};

}  // namespace tensor::emulated
