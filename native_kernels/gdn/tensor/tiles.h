// Matrices in shared memory and in Tensor Memory, and the registers that hold a thread's part of them.
#pragma once

#include "descriptor.h"

namespace tensor {

// A row-major matrix of ROWS x COLS elements in shared memory, cut into panels of panel_bytes(SWIZZLE) whose 16-byte pieces are exchanged.
// One stored matrix serves a product in both directions: rows(x) contracts over its columns, columns(x) over its rows.
//   T        Bf16, Fp16, Tf32 (float storage)
//   offset   byte offset in the CTA's shared memory, a multiple of 1024
// BYTES is the room it takes. Every thread makes its own copy of this handle. The emulator notes by which matrix each element was stored, and
// a product's descriptors must find them as that matrix keeps them.
template <class T, int ROWS_, int COLS_, Swizzle SWIZZLE_ = Swizzle::B128>
struct SharedMatrix {
    using Element = T;
    static constexpr int ROWS = ROWS_;
    static constexpr int COLS = COLS_;
    static constexpr Swizzle SWIZZLE = SWIZZLE_;
    static constexpr int SIZE = static_cast<int>(sizeof(T));
    static constexpr int PANEL = panel_bytes(SWIZZLE) / SIZE;  // columns
    static constexpr int BYTES = ROWS * COLS * SIZE;
    static constexpr int PIECE = 16 / SIZE;  // elements of 16 bytes
    static_assert(ROWS % 8 == 0, "rows come in groups of eight");
    static_assert(COLS % PANEL == 0, "columns must fill whole panels: choose a narrower swizzle");
    static_assert(SWIZZLE != Swizzle::B128_ATOM32 || SIZE == 4, "32-byte atoms are for tf32");

    uint32_t offset;

    // Byte offset, in the CTA's shared memory, of element (r, c).
    KC_FN uint32_t at(int r, int c) const {
        const uint32_t linear = offset + (c / PANEL) * (ROWS * panel_bytes(SWIZZLE)) + r * panel_bytes(SWIZZLE) + (c % PANEL) * SIZE;
        return swizzled(linear, SWIZZLE);  // the CTA's shared memory starts at a multiple of 1024, so offsets may stand for addresses
    }

    KC_FN MatrixLayout layout() const { return {offset, ROWS, COLS, SWIZZLE, FormatOf<T>::VALUE}; }

    template <class Cta>
    KC_FN T load(Cta& cta, int r, int c, Place where = Place::here()) const {
        return cta.template shared_load<T>(at(r, c), where);
    }

    template <class Cta>
    KC_FN void store(Cta& cta, int r, int c, T value, Place where = Place::here()) const {
        cta.template shared_store<T>(at(r, c), value, layout(), where);
    }

    // PIECE neighbouring elements of a row, as one access of 16 bytes; c is a multiple of PIECE.
    template <class Cta>
    KC_FN void load_piece(Cta& cta, int r, int c, T (&values)[PIECE], Place where = Place::here()) const {
        cta.template shared_load_piece<T>(at(r, c), values, where);
    }

    template <class Cta>
    KC_FN void store_piece(Cta& cta, int r, int c, const T (&values)[PIECE], Place where = Place::here()) const {
        cta.template shared_store_piece<T>(at(r, c), values, layout(), where);
    }
};

// A matrix in shared memory as operand A (M x K) or B (N x K) of a product; made by rows() and columns().
//   BY_ROWS  true: M (N) counts rows and K counts columns ("K-major"); false: M (N) counts columns and K counts rows ("MN-major").
//   FIRST_*  where the operand starts in the stored matrix; MN, K its extent.
template <class Matrix, bool BY_ROWS, int FIRST_MN, int FIRST_K, int MN_, int K_>
struct SharedOperand {
    using Element = typename Matrix::Element;
    static constexpr bool IN_SHARED = true;
    static constexpr int MN = MN_;
    static constexpr int K = K_;
    static constexpr bool MN_MAJOR = !BY_ROWS;
    static constexpr int S = panel_bytes(Matrix::SWIZZLE);
    static constexpr int SIZE = Matrix::SIZE;
    static constexpr int K_STEP = 32 / SIZE;  // K of one instruction
    static_assert(K % K_STEP == 0 && FIRST_K % K_STEP == 0, "K must be a multiple of 32 bytes");
    static_assert(BY_ROWS ? FIRST_MN % 8 == 0 && FIRST_MN + MN <= Matrix::ROWS && FIRST_K + K <= Matrix::COLS
                          : FIRST_MN % Matrix::PANEL == 0 && FIRST_MN + MN <= Matrix::COLS && FIRST_K + K <= Matrix::ROWS,
                  "the operand must lie in its matrix and start with a group of eight rows (a panel)");
    static_assert(SIZE == 2 || (BY_ROWS ? Matrix::SWIZZLE != Swizzle::B128_ATOM32 : Matrix::SWIZZLE == Swizzle::B128_ATOM32),
                  "tf32: rows() of any swizzle but B128_ATOM32, columns() of B128_ATOM32 alone");

    Matrix matrix;

    // Byte offset in shared memory where the K step begins (before the exchange of pieces).
    KC_FN uint32_t start(int step) const {
        const int k = FIRST_K + step * K_STEP;
        const int row = BY_ROWS ? FIRST_MN : k;
        const int column_bytes = (BY_ROWS ? k : FIRST_MN) * SIZE;
        return matrix.offset + column_bytes / S * (Matrix::ROWS * S) + row * S + column_bytes % S;
    }

    // The descriptor of one K step; shared_base: address of the CTA's shared memory.
    KC_FN uint64_t descriptor(uint32_t shared_base, int step) const {
        constexpr uint32_t PANEL_STRIDE = Matrix::ROWS * S;
        constexpr uint32_t GROUP_STRIDE = (Matrix::SWIZZLE == Swizzle::B128_ATOM32 ? 4 : 8) * S;
        constexpr bool NONE = Matrix::SWIZZLE == Swizzle::NONE;
        // Without a swizzle the two strides change their roles between the major-nesses; with one, the leading stride of a K-major
        // operand, or of an MN-major operand of one panel, is not read.
        constexpr bool LEADING_UNUSED = !NONE && (BY_ROWS || MN * SIZE <= S);
        constexpr uint32_t LEADING = LEADING_UNUSED ? 0 : NONE && !BY_ROWS ? GROUP_STRIDE : PANEL_STRIDE;
        constexpr uint32_t STRIDE = NONE && !BY_ROWS ? PANEL_STRIDE : GROUP_STRIDE;
        return shared_descriptor(shared_base + start(step), LEADING, STRIDE, Matrix::SWIZZLE);
    }

    // The element that a backend without descriptors reads: byte offset of (mn, k).
    KC_FN uint32_t at(int mn, int k) const {
        return BY_ROWS ? matrix.at(FIRST_MN + mn, FIRST_K + k) : matrix.at(FIRST_K + k, FIRST_MN + mn);
    }
};

// x as operand whose M or N counts rows and whose K counts columns: as A it is x, as B it stands for D = A x^T.
template <class T, int R, int C, Swizzle S>
KC_FN auto rows(SharedMatrix<T, R, C, S> x) {
    return SharedOperand<SharedMatrix<T, R, C, S>, true, 0, 0, R, C>{x};
}

// x as operand whose M or N counts columns and whose K counts rows: as A it is x^T, as B it stands for D = A x.
template <class T, int R, int C, Swizzle S>
KC_FN auto columns(SharedMatrix<T, R, C, S> x) {
    return SharedOperand<SharedMatrix<T, R, C, S>, false, 0, 0, C, R>{x};
}

// A part of x: MN indices from FIRST_MN on, K indices from FIRST_K on (rows_of: MN are rows; columns_of: MN are columns).
template <int FIRST_MN, int FIRST_K, int MN, int K, class T, int R, int C, Swizzle S>
KC_FN auto rows_of(SharedMatrix<T, R, C, S> x) {
    return SharedOperand<SharedMatrix<T, R, C, S>, true, FIRST_MN, FIRST_K, MN, K>{x};
}

template <int FIRST_MN, int FIRST_K, int MN, int K, class T, int R, int C, Swizzle S>
KC_FN auto columns_of(SharedMatrix<T, R, C, S> x) {
    return SharedOperand<SharedMatrix<T, R, C, S>, false, FIRST_MN, FIRST_K, MN, K>{x};
}

// An M x N float32 accumulator in Tensor Memory: N columns. M = 128 takes all lanes; M = 64 takes sixteen of each 32, the lower
// (half 0) or the upper (half 1) ones, so that two accumulators of M = 64 fit in the same columns.
//   address  lane << 16 | column, absolute: what allocate() returned plus the column of the plan
template <int M_, int N_>
struct Accumulator {
    static constexpr int M = M_;
    static constexpr int N = N_;
    static constexpr int COLUMNS = N;
    static_assert(M == 64 || M == 128, "M is 64 or 128");
    static_assert(N >= 8 && N <= 256 && N % (M == 64 ? 8 : 16) == 0, "N is 8..256 in steps of 8 (M = 64) or 16..256 in steps of 16");

    uint32_t address;

    KC_FN static Accumulator at(uint32_t base, int column, int half = 0) {
        return {base + static_cast<uint32_t>(column) + static_cast<uint32_t>(half) * (16u << 16)};
    }

    // Columns FIRST to FIRST + COUNT - 1.
    template <int FIRST, int COUNT>
    KC_FN Accumulator<M, COUNT> part() const {
        static_assert(FIRST >= 0 && FIRST + COUNT <= N, "the part must lie in the accumulator");
        return {address + FIRST};
    }
};

// Operand A (M x K) in Tensor Memory: 16-bit elements two to a column, tf32 one to a column. It must have the same half as D if M = 64.
template <class T, int M_, int K_>
struct TensorOperand {
    using Element = T;
    static constexpr bool IN_SHARED = false;
    static constexpr bool MN_MAJOR = false;
    static constexpr int M = M_;
    static constexpr int MN = M_;
    static constexpr int K = K_;
    static constexpr int SIZE = static_cast<int>(sizeof(T));
    static constexpr int K_STEP = 32 / SIZE;
    static constexpr int COLUMNS = K * SIZE / 4;
    static_assert(M == 64 || M == 128, "M is 64 or 128");
    static_assert(K % K_STEP == 0, "K must be a multiple of 32 bytes");

    uint32_t address;

    KC_FN static TensorOperand at(uint32_t base, int column, int half = 0) {
        return {base + static_cast<uint32_t>(column) + static_cast<uint32_t>(half) * (16u << 16)};
    }

    KC_FN uint32_t start(int step) const { return address + 8u * static_cast<uint32_t>(step); }
};

// A thread's part of M x N values: of the accumulator it belongs to the thread's warp alone, so that nothing is exchanged between warps.
// Used by the first 128 threads (thread = 32 w + t):
//   M = 128: row = thread, all N columns.
//   M = 64:  row = 16 w + t % 16; threads with t < 16 hold the lower N / 2 columns, the others the upper ones.
template <class Cta, int M_, int N_>
struct Fragment {
    static constexpr int M = M_;
    static constexpr int N = N_;
    static constexpr int COUNT = M == 128 ? N : N / 2;  // values of one thread
    static_assert(COUNT <= 128 && (COUNT & (COUNT - 1)) == 0, "a fragment holds a power of two of values: work on a part()");

    typename Cta::template Registers<COUNT> registers;

    KC_FN float get(int j, Place where = Place::here()) const { return bits_float(registers.get(j, where)); }
    KC_FN void set(int j, float value, Place where = Place::here()) { registers.set(j, float_bits(value), where); }

    KC_FN static int row(Cta& cta) {
        return M == 128 ? cta.thread() % 128 : cta.thread() % 128 / 32 * 16 + cta.thread() % 16;
    }
    KC_FN static int column(Cta& cta, int j) { return M == 128 || cta.thread() % 32 < 16 ? j : COUNT + j; }
};

// Lane part of the address with which a warp reaches its quarter of the lanes.
template <class Cta>
KC_FN uint32_t quarter(Cta& cta) {
    return static_cast<uint32_t>(cta.warp() % 4) << 21;
}

// Reads a thread's part of an accumulator. Asynchronous: the values may be read after cta.wait_load().
template <class Cta, int M, int N>
KC_FN void load(Cta& cta, Accumulator<M, N> source, Fragment<Cta, M, N>& target, Place where = Place::here()) {
    if constexpr (M == 128)
        cta.template load_32x32b<N>(target.registers, source.address + quarter(cta), where);
    else
        cta.template load_16x32bx2<N / 2, N / 2>(target.registers, source.address + quarter(cta), where);
}

// Writes a thread's part of an accumulator. Asynchronous: done after cta.wait_store().
template <class Cta, int M, int N>
KC_FN void store(Cta& cta, Accumulator<M, N> target, const Fragment<Cta, M, N>& source, Place where = Place::here()) {
    if constexpr (M == 128)
        cta.template store_32x32b<N>(source.registers, target.address + quarter(cta), where);
    else
        cta.template store_16x32bx2<N / 2, N / 2>(source.registers, target.address + quarter(cta), where);
}

// Writes values, rounded to T, as operand A in Tensor Memory. Asynchronous like the other store.
template <class Cta, class T, int M, int K>
KC_FN void store(Cta& cta, TensorOperand<T, M, K> target, const Fragment<Cta, M, K>& source, Place where = Place::here()) {
    constexpr int PER_COLUMN = 4 / static_cast<int>(sizeof(T));
    constexpr int COUNT = Fragment<Cta, M, K>::COUNT / PER_COLUMN;
    typename Cta::template Registers<COUNT> registers;
    KC_UNROLL
    for (int j = 0; j < COUNT; ++j) {
        if constexpr (PER_COLUMN == 2)
            registers.set(j, packed(rounded<T>(source.get(2 * j, where)), rounded<T>(source.get(2 * j + 1, where))), where);
        else
            registers.set(j, rounded<T>(source.get(j, where)).bits, where);
    }
    if constexpr (M == 128)
        cta.template store_32x32b<COUNT>(registers, target.address + quarter(cta), FormatOf<T>::VALUE, where);
    else
        cta.template store_16x32bx2<COUNT, COUNT>(registers, target.address + quarter(cta), FormatOf<T>::VALUE, where);
}

}  // namespace tensor
