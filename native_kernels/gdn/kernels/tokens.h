// The tokens of one chunk and one value head: where their values lie, and how they decay.
#pragma once

#include "config.h"

namespace gdn {

KC_FN float exponential(float x) { return expf(x); }

// Addresses of one chunk's rows in global memory. Rows at or past span.length do not exist; what is asked of them is 0.
template <class C>
struct Tokens {
    using In = typename C::In;
    const Call<In>& call;
    Span span;
    int head;  // value head

    KC_FN int key_head() const { return head / (call.value_heads / call.heads); }
    KC_FN bool exists(int row) const { return row < span.length; }
    KC_FN size_t token(int row) const { return static_cast<size_t>(span.token) + row; }
    KC_FN size_t key(int row) const { return (token(row) * call.heads + key_head()) * C::K; }
    KC_FN size_t scalar(int row) const { return token(row) * call.value_heads + head; }
    KC_FN size_t value(int row) const { return scalar(row) * call.value_dim; }
    // Of matrices that each chunk has: states (K x V) and triangles (64 x 64).
    KC_FN size_t place() const { return static_cast<size_t>(span.chunk) * call.value_heads + head; }
    KC_FN size_t state(int d) const { return (place() * C::K + d) * call.value_dim; }
    KC_FN size_t triangle(int row) const { return (place() * CHUNK + row) * CHUNK; }

    // Gate of a row and, with a channel gate, of key channel d, as it acts.
    KC_FN float gate(int row, int d, bool& bad) const {
        if (C::GATE == Gate::NONE || !exists(row)) return 0.0f;
        const float g = call.g[C::CHANNEL ? scalar(row) * C::K + d : scalar(row)];
        if (g < GATE_FLOOR) return GATE_FLOOR;
        if (finite(g)) return g;
        bad = true;
        return 0.0f;
    }

    KC_FN float beta(int row, bool& bad) const {
        if (!exists(row)) return 0.0f;
        if (!C::DELTA) return 1.0f;
        const float b = call.beta[scalar(row)];
        if (finite(b)) return b;
        bad = true;
        return 0.0f;
    }

    // Eight values from column c on of q or k.
    KC_FN void keys(const In* source, int row, int c, float (&x)[8], bool& bad) const {
        if (exists(row))
            read(source + key(row) + c, x, bad);
        else
            zero(x);
    }

    // Eight values from value column c on of v, dout, written or adjoint.
    template <class T>
    KC_FN void values(const T* source, int row, int c, float (&x)[8], bool& bad) const {
        if (exists(row))
            read(source + value(row) + c, x, bad);
        else
            zero(x);
    }

    // Running sum of a channel gate; the rows past the end do not decay.
    KC_FN float sum(int row, int d) const {
        return call.sums[scalar(row < span.length ? row : span.length - 1) * C::K + d];
    }
};

// Running sums of a scalar gate in shared memory, each as the sum of two floats, and the factors that they make; without a gate all are 1.
//   offset  of BYTES bytes
template <class C>
struct Decay {
    static constexpr int BYTES = 3 * CHUNK * 4;
    uint32_t offset;

    // Called by all threads; a sync() must follow before factors are asked for.
    template <class Cta>
    KC_FN void fill(Cta& cta, const Tokens<C>& tokens, bool& bad) const {
        if constexpr (C::GATE == Gate::SCALAR) {
            const int row = cta.thread();
            if (row < CHUNK) cta.template shared_store<float>(offset + 4 * row, tokens.gate(row, 0, bad));
            cta.sync();
            if (row < CHUNK) {
                double sum = 0.0;
                for (int t = 0; t <= row; ++t) sum += cta.template shared_load<float>(offset + 4 * t);
                const float high = static_cast<float>(sum);
                cta.template shared_store<float>(offset + 4 * (CHUNK + row), high);
                cta.template shared_store<float>(offset + 4 * (2 * CHUNK + row), static_cast<float>(sum - high));
            }
        }
    }

    template <class Cta>
    KC_FN float high(Cta& cta, int row) const { return cta.template shared_load<float>(offset + 4 * (CHUNK + row)); }
    template <class Cta>
    KC_FN float low(Cta& cta, int row) const { return cta.template shared_load<float>(offset + 4 * (2 * CHUNK + row)); }

    // From before the chunk to a row, from a row to the chunk's end, and between two rows (later, earlier).
    template <class Cta>
    KC_FN float into(Cta& cta, int row) const {
        if constexpr (C::GATE == Gate::SCALAR) return exponential(high(cta, row) + low(cta, row));
        return 1.0f;
    }
    template <class Cta>
    KC_FN float out_of(Cta& cta, int row) const { return between(cta, CHUNK - 1, row); }
    template <class Cta>
    KC_FN float across(Cta& cta) const { return into(cta, CHUNK - 1); }
    template <class Cta>
    KC_FN float between(Cta& cta, int later, int earlier) const {
        if constexpr (C::GATE == Gate::SCALAR)
            return exponential((high(cta, later) - high(cta, earlier)) + (low(cta, later) - low(cta, earlier)));
        return 1.0f;
    }
};

// A float32 matrix of 64 x 64 in shared memory for element-wise work; rows are a word apart from a multiple of the banks.
struct Square {
    static constexpr int BYTES = CHUNK * (CHUNK + 1) * 4;
    uint32_t offset;

    template <class Cta>
    KC_FN float get(Cta& cta, int i, int j, Place where = Place::here()) const {
        return cta.template shared_load<float>(offset + 4 * (i * (CHUNK + 1) + j), where);
    }
    template <class Cta>
    KC_FN void set(Cta& cta, int i, int j, float x, Place where = Place::here()) const {
        cta.template shared_store<float>(offset + 4 * (i * (CHUNK + 1) + j), x, where);
    }
};

}  // namespace gdn
