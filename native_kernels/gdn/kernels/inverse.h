// The inverse of a unit lower triangular 64 x 64 matrix in float32.
#pragma once

#include "tokens.h"

namespace gdn {

// strict: the strictly lower triangular part of the matrix, complete below the diagonal. result: the inverse below the diagonal and on it;
// above it nothing is written. work: room for products. Called by all threads, after a sync() behind the writes of strict; ends with one.
//
// The four 16 x 16 blocks on the diagonal by forward substitution, a column a thread; then blocks of 16 and of 32 are merged:
// [[X, 0], [L, Y]]^-1 = [[X^-1, 0], [-Y^-1 (L X^-1), Y^-1]].
template <class Cta>
KC_FN void invert(Cta& cta, Square strict, Square result, Square work) {
    const int thread = cta.thread();
    if (thread < CHUNK) {
        const int first = thread / BLOCK * BLOCK, column = thread % BLOCK;
        float x[BLOCK];
        KC_UNROLL
        for (int i = 0; i < BLOCK; ++i) {
            float sum = i == column ? 1.0f : 0.0f;
            KC_UNROLL
            for (int m = 0; m < i; ++m) sum -= strict.get(cta, first + i, first + m) * x[m];
            x[i] = sum;
            if (i >= column) result.set(cta, first + i, first + column, sum);
        }
    }
    cta.sync();
    for (int half = BLOCK; half < CHUNK; half *= 2) {
        const int entries = CHUNK / (2 * half) * half * half;
        for (int index = thread; index < entries; index += THREADS) {
            const int first = index / (half * half) * 2 * half, i = index / half % half, j = index % half;
            float sum = 0.0f;
            for (int m = j; m < half; ++m) sum += strict.get(cta, first + half + i, first + m) * result.get(cta, first + m, first + j);
            work.set(cta, first + half + i, first + j, sum);
        }
        cta.sync();
        for (int index = thread; index < entries; index += THREADS) {
            const int first = index / (half * half) * 2 * half, i = index / half % half, j = index % half;
            float sum = 0.0f;
            for (int m = 0; m <= i; ++m)
                sum += result.get(cta, first + half + i, first + half + m) * work.get(cta, first + half + m, first + j);
            result.set(cta, first + half + i, first + j, -sum);
        }
        cta.sync();
    }
}

}  // namespace gdn
