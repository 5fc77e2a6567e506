// What a kernel is made for, what it is called with, and the pieces in which values are multiplied.
#pragma once

#include <cmath>

#include "../tensor/api.h"

// Keeps a loop a loop, for its registers' sake.
#if defined(__CUDA_ARCH__)
#define GDN_LOOP _Pragma("unroll 1")
#else
#define GDN_LOOP
#endif

namespace gdn {

using tensor::Accumulator;
using tensor::Bf16;
using tensor::Completion;
using tensor::Fp16;
using tensor::Fragment;
using tensor::Place;
using tensor::SharedMatrix;
using tensor::Swizzle;

constexpr int CHUNK = 64;
constexpr int BLOCK = 16;
constexpr int THREADS = 128;
// Gates below it count as it: their exponential is 0, and minus infinity is a fair gate.
constexpr float GATE_FLOOR = -100.0f;

enum class Gate { NONE, SCALAR, CHANNEL };

// One instance of the kernels.
//   In        what q, k, v and the output's gradient are stored as (Bf16, Fp16 or float); o and dv are stored alike
//   Operand   what the matrix unit multiplies (Bf16 or Fp16)
//   INPUTS    operands whose sum stands for one value of an input
//   VALUES    operands whose sum stands for one computed value
//   K         key dimension, 64 or 128
//   BV        value columns that a CTA works on at a time, 32 or 64; the value dimension is a multiple of it
template <class In_, class Operand_, int INPUTS_, int VALUES_, int K_, int BV_, Gate GATE_, bool DELTA_>
struct Config {
    using In = In_;
    using Operand = Operand_;
    static constexpr int INPUTS = INPUTS_;
    static constexpr int VALUES = VALUES_;
    static constexpr int K = K_;
    static constexpr int BV = BV_;
    static constexpr Gate GATE = GATE_;
    static constexpr bool DELTA = DELTA_;
    static constexpr bool CHANNEL = GATE == Gate::CHANNEL;
    static_assert(K == 64 || K == 128, "the key dimension is 64 or 128");
    static_assert(BV == 32 || BV == 64, "32 or 64 value columns");
};

// Arguments of all kernels of one call. Arrays are contiguous; T counts the tokens of all sequences, one after the other.
template <class In>
struct Call {
    const In* q = nullptr;           // [T, heads, K]
    const In* k = nullptr;           // [T, heads, K]
    const In* v = nullptr;           // [T, value_heads, V]
    const float* g = nullptr;        // [T, value_heads] or, with a channel gate, [T, value_heads, K]
    const float* beta = nullptr;     // [T, value_heads]
    const float* initial = nullptr;  // state before each sequence, [sequences, value_heads, K, V]; may be missing
    const In* dout = nullptr;        // gradient of the output, [T, value_heads, V]
    const float* dfinal = nullptr;   // gradient of the last states, like initial; may be missing
    const int* starts = nullptr;     // [sequences + 1]: first token of each sequence, and T
    const int* first_chunk = nullptr;  // [sequences + 1]: number of the first chunk of each sequence, and of all chunks
    int heads = 0, value_heads = 0, value_dim = 0, sequences = 0, chunks = 0;
    float scale = 1.0f;
    // Between the kernels.
    float* inverse = nullptr;   // strict part of A, [chunks, value_heads, 64, 64]
    float* product = nullptr;   // P, the same shape
    float* sums = nullptr;      // running sums of channel gates, [T, value_heads, K]
    float* written = nullptr;   // U, [T, value_heads, V]; may be missing in the forward pass
    float* states = nullptr;    // before each chunk, [chunks, value_heads, K, V]; may be missing in the forward pass
    float* adjoint = nullptr;   // lam, [T, value_heads, V]
    float* dstates = nullptr;   // gradient of the state after each chunk, [chunks, value_heads, K, V]
    // Results.
    In* out = nullptr;          // [T, value_heads, V]; may be missing when the states alone are recomputed
    float* final = nullptr;     // like initial; may be missing
    float* dq = nullptr;        // [T, heads, K], summed over the value heads of each key head
    float* dk = nullptr;        // the same
    In* dv = nullptr;           // [T, value_heads, V]
    float* dg = nullptr;        // like g
    float* dbeta = nullptr;     // like beta
    float* dinitial = nullptr;  // like initial; may be missing
};

// The tokens of one chunk.
struct Span {
    int sequence;
    int chunk;   // of all
    int token;   // first
    int length;  // 1 .. 64
};

template <class In>
KC_FN Span span_of(const Call<In>& call, int chunk) {
    int low = 0, high = call.sequences;  // first_chunk[low] <= chunk < first_chunk[high]
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        (call.first_chunk[middle] <= chunk ? low : high) = middle;
    }
    // A sequence without tokens has no chunk: the last of those that begin with this chunk owns it.
    const int token = call.starts[low] + (chunk - call.first_chunk[low]) * CHUNK;
    const int left = call.starts[low + 1] - token;
    return {low, chunk, token, left < CHUNK ? left : CHUNK};
}

KC_FN bool finite(float x) { return (tensor::float_bits(x) & 0x7F800000u) != 0x7F800000u; }

KC_FN float nan() { return tensor::bits_float(0x7FFFFFFFu); }

// N operands whose sum is a value, largest first, as matrices one behind the other in shared memory.
template <class T, int N_, int ROWS_, int COLS_>
struct Pieces {
    static constexpr int N = N_;
    static constexpr int ROWS = ROWS_;
    static constexpr int COLS = COLS_;
    using Matrix = SharedMatrix<T, ROWS, COLS, COLS * sizeof(T) >= 128 ? Swizzle::B128 : Swizzle::B64>;
    static constexpr int BYTES = N * Matrix::BYTES;

    uint32_t offset;

    KC_FN Matrix piece(int i) const { return {offset + static_cast<uint32_t>(i) * Matrix::BYTES}; }

    // Eight neighbours of row r from column c on, c a multiple of 8.
    template <class Cta>
    KC_FN void store(Cta& cta, int r, int c, const float (&values)[8], Place where = Place::here()) const {
        float rest[8];
        KC_UNROLL
        for (int j = 0; j < 8; ++j) rest[j] = values[j];
        KC_UNROLL
        for (int i = 0; i < N; ++i) {
            T part[8];
            KC_UNROLL
            for (int j = 0; j < 8; ++j) {
                part[j] = tensor::rounded<T>(rest[j]);
                rest[j] -= tensor::to_float(part[j]);
            }
            piece(i).store_piece(cta, r, c, part, where);
        }
    }

    template <class Cta>
    KC_FN void load(Cta& cta, int r, int c, float (&values)[8], Place where = Place::here()) const {
        KC_UNROLL
        for (int j = 0; j < 8; ++j) values[j] = 0.0f;
        KC_UNROLL
        for (int i = N - 1; i >= 0; --i) {
            T part[8];
            piece(i).load_piece(cta, r, c, part, where);
            KC_UNROLL
            for (int j = 0; j < 8; ++j) values[j] += tensor::to_float(part[j]);
        }
    }
};

// How a stored matrix enters a product: its rows, or its columns, count M (N).
struct ByRows {
    template <class Matrix>
    KC_FN static auto of(Matrix x) { return tensor::rows(x); }
};
struct ByColumns {
    template <class Matrix>
    KC_FN static auto of(Matrix x) { return tensor::columns(x); }
};
// Columns count M (N), and the contraction runs over the 16 rows from FIRST on.
template <int FIRST, int WIDTH>
struct ByColumnsOfBlock {
    template <class Matrix>
    KC_FN static auto of(Matrix x) { return tensor::columns_of<0, FIRST, WIDTH, BLOCK>(x); }
};

// D = (accumulate ? D : 0) + A B^T with A and B in pieces. Pieces that together are smaller than what the values hold are left out;
// the smallest products come first.
template <class A, class B, class Cta, int M, int N, class PA, class PB>
KC_FN void multiply(Cta& cta, Accumulator<M, N> d, PA a, PB b, bool accumulate = false, Place where = Place::here()) {
    constexpr int LIMIT = PA::N > PB::N ? PA::N : PB::N;
    bool add = accumulate;
    KC_UNROLL
    for (int order = LIMIT - 1; order >= 0; --order) {
        KC_UNROLL
        for (int i = 0; i < PA::N; ++i) {
            const int j = order - i;
            if (j < 0 || j >= PB::N) continue;
            tensor::product(cta, d, A::of(a.piece(i)), B::of(b.piece(j)), {add, false, false}, where);
            add = true;
        }
    }
}

// WIDTH columns of an accumulator, from a column on that is known at run time only.
template <int WIDTH, int M, int N>
KC_FN Accumulator<M, WIDTH> moved(Accumulator<M, N> source, int part) {
    return {source.address + static_cast<uint32_t>(WIDTH * part)};
}

// Calls value(row, column, eight values to set) for every eight neighbours of a matrix and stores them.
template <class Cta, class P, class Value>
KC_FN void fill(Cta& cta, P target, Value value, Place where = Place::here()) {
    GDN_LOOP
    for (int index = cta.thread(); index < P::ROWS * P::COLS / 8; index += THREADS) {
        const int row = index / (P::COLS / 8), column = index % (P::COLS / 8) * 8;
        float x[8];
        value(row, column, x);
        target.store(cta, row, column, x, where);
    }
}

// Eight values, widened. What is not finite becomes 0 and sets bad.
template <class T>
KC_FN void read(const T* source, float (&x)[8], bool& bad) {
    KC_UNROLL
    for (int j = 0; j < 8; ++j) {
        x[j] = tensor::to_float(source[j]);
        if (!finite(x[j])) {
            x[j] = 0.0f;
            bad = true;
        }
    }
}

KC_FN void zero(float (&x)[8]) {
    KC_UNROLL
    for (int j = 0; j < 8; ++j) x[j] = 0.0f;
}

}  // namespace gdn
