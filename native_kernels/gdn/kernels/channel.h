// Keys and queries of a chunk under a channel gate, as operands whose decay has no exponent above 0.
//
// exp(c_i - c_j) does not split into a factor of i and one of j that are both bounded. For the rows of a block of 16 and the rows before it
// it does: exp(c_i - r) exp(r - c_j), with r the sums at the row before the block. So each row decays from the row before its own block
// (LATER), and all keys before a block decay to the row before it (EARLIER). What lies inside a block is summed term by term.
#pragma once

#include "tokens.h"

namespace gdn {

template <class C>
struct ChannelKeys {
    using Tile = Pieces<typename C::Operand, C::VALUES, CHUNK, C::K>;
    uint32_t queries, keys, earlier_keys;  // offsets

    KC_FN Tile q() const { return {queries}; }
    KC_FN Tile k() const { return {keys}; }
    KC_FN Tile earlier() const { return {earlier_keys}; }

    // Decay of row i, channel d, from the row before its block.
    KC_FN static float later(const Tokens<C>& tokens, int i, int d) {
        const int first = i / BLOCK * BLOCK;
        return first ? exponential(tokens.sum(i, d) - tokens.sum(first - 1, d)) : 0.0f;
    }

    // Decay of row j, channel d, to the row before a block; 0 for rows that are not before it.
    KC_FN static float earlier(const Tokens<C>& tokens, int j, int d, int block) {
        return j < block * BLOCK ? exponential(tokens.sum(block * BLOCK - 1, d) - tokens.sum(j, d)) : 0.0f;
    }

    template <class Cta>
    KC_FN void fill_later(Cta& cta, const Tokens<C>& tokens) const {
        bool bad = false;
        fill(cta, q(), [&](int row, int c, float(&x)[8]) { scaled(tokens, tokens.call.q, row, c, x, bad); });
        fill(cta, k(), [&](int row, int c, float(&x)[8]) { scaled(tokens, tokens.call.k, row, c, x, bad); });
    }

    template <class Cta>
    KC_FN void fill_earlier(Cta& cta, const Tokens<C>& tokens, int block) const {
        bool bad = false;
        fill(cta, earlier(), [&](int row, int c, float(&x)[8]) {
            tokens.keys(tokens.call.k, row, c, x, bad);
            KC_UNROLL
            for (int d = 0; d < 8; ++d) x[d] *= earlier(tokens, row, c + d, block);
        });
    }

private:
    KC_FN static void scaled(const Tokens<C>& tokens, const typename C::In* source, int row, int c, float (&x)[8], bool& bad) {
        tokens.keys(source, row, c, x, bad);
        KC_UNROLL
        for (int d = 0; d < 8; ++d) x[d] *= later(tokens, row, c + d);
    }
};

}  // namespace gdn
