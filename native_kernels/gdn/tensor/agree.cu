// Does the emulated matrix unit agree with a card's own, bit for bit? Prints one line of JSON per comparison.
//
//   agree TILES SEED
//
// Part 1: random products by mma.sync (m16n8k16 bf16 and fp16, m16n8k8 tf32), 128 sums a tile, against the emulator on the host and the
// software unit on the card. Part 2: the kernels of check_kernels.h by the backends sm90 and software, against the emulator.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "check_kernels.h"
#include "cuda_launch.h"
#include "sm90.h"
#include "software.h"

using namespace tensor;

void emulated_tile(int format, int m, int n, int k, const uint32_t* a, const uint32_t* b, uint32_t* d);
bool emulated_kernel(int index, const check::Operands& operands);

namespace {

constexpr int M = 16, N = 8, SUMS = M * N;

void require(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

// One tile a warp. Operands are one value a word: a[16][K], b[K][8], d[16][8]; out: what mma.sync gives; software: what unit.h gives.
template <class T>
__global__ void products(const uint32_t* a, const uint32_t* b, const uint32_t* d, uint32_t* out, uint32_t* software, int tiles) {
    constexpr Format FORMAT = FormatOf<T>::VALUE;
    constexpr int K = sizeof(T) == 4 ? 8 : 16;
    const int tile = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32, group = lane / 4, pair = lane % 4;
    if (tile >= tiles) return;
    a += tile * M * K;
    b += tile * K * N;
    d += tile * SUMS;
    out += tile * SUMS;
    software += tile * SUMS;
    uint32_t left[4], right[2];
    float sums[4];
    for (int i = 0; i < 4; ++i) {
        const int row = group + i % 2 * 8;
        if constexpr (K == 8) {
            left[i] = a[row * K + pair + i / 2 * 4];
        } else {
            const int k = 2 * pair + i / 2 * 8;
            left[i] = a[row * K + k] | a[row * K + k + 1] << 16;
        }
        sums[i] = __uint_as_float(d[(group + i / 2 * 8) * N + 2 * pair + i % 2]);
    }
    for (int i = 0; i < 2; ++i) {
        if constexpr (K == 8) {
            right[i] = b[(pair + 4 * i) * N + group];
        } else {
            const int k = 2 * pair + 8 * i;
            right[i] = b[k * N + group] | b[(k + 1) * N + group] << 16;
        }
    }
    sm90::multiply<T>(sums, left, right);
    for (int i = 0; i < 4; ++i) out[(group + i / 2 * 8) * N + 2 * pair + i % 2] = __float_as_uint(sums[i]);
    for (int i = lane; i < SUMS; i += 32) {
        unit::Element x[K], y[K];
        for (int k = 0; k < K; ++k) {
            x[k] = unit::decoded(FORMAT, a[i / N * K + k]);
            y[k] = unit::decoded(FORMAT, b[k * N + i % N]);
        }
        software[i] = unit::sum_of_products(x, y, d[i]);
    }
}

enum Recipe { NORMAL, CLOSE, WIDE, FINITE, ANY, TINY, RECIPES };
const char* const RECIPE_NAMES[] = {"normal", "close exponents", "wide exponents", "any finite", "any encoding", "tiny"};

// A random stored value: bits of a format with so many exponent and fraction bits.
uint32_t draw(Recipe recipe, int exponent_bits, int fraction_bits, std::mt19937_64& random) {
    const uint32_t top = (1u << exponent_bits) - 1, bias = top >> 1, fraction = static_cast<uint32_t>(random()) & ((1u << fraction_bits) - 1);
    const uint32_t sign = static_cast<uint32_t>(random() & 1) << (exponent_bits + fraction_bits);
    const auto between = [&](int low, int high) { return static_cast<uint32_t>(std::uniform_int_distribution<int>(low, high)(random)); };
    const int spread = recipe == CLOSE ? 2 : exponent_bits == 5 ? 12 : 30;
    switch (recipe) {
        case NORMAL: {
            const float x = std::normal_distribution<float>()(random);
            return fraction_bits == 23   ? float_bits(x)
                   : exponent_bits == 5 ? static_cast<uint32_t>(rounded<Fp16>(x).bits)
                                        : static_cast<uint32_t>(rounded<Bf16>(x).bits);
        }
        case CLOSE:
        case WIDE: return sign | between(static_cast<int>(bias) - spread, static_cast<int>(bias) + spread) << fraction_bits | fraction;
        case FINITE: return sign | between(0, static_cast<int>(top) - 1) << fraction_bits | fraction;
        case ANY: return sign | between(0, static_cast<int>(top)) << fraction_bits | fraction;
        default: return sign | between(0, random() % 2 ? 2 : static_cast<int>(bias)) << fraction_bits | fraction;
    }
}

template <class T>
void compare_products(const char* kind, int tiles, uint64_t seed) {
    constexpr int K = sizeof(T) == 4 ? 8 : 16;
    constexpr int EXPONENT = FormatOf<T>::VALUE == Format::FP16 ? 5 : 8, FRACTION = sizeof(T) == 4 ? 23 : 15 - EXPONENT;
    const size_t a_size = static_cast<size_t>(tiles) * M * K, b_size = static_cast<size_t>(tiles) * K * N,
                 d_size = static_cast<size_t>(tiles) * SUMS;
    uint32_t *a, *b, *d, *out, *software;
    for (auto [pointer, size] : {std::pair{&a, a_size}, {&b, b_size}, {&d, d_size}, {&out, d_size}, {&software, d_size}})
        require(cudaMallocManaged(pointer, size * sizeof(uint32_t)), "memory");
    for (int recipe = 0; recipe < RECIPES; ++recipe) {
        std::mt19937_64 random(seed * 1000 + recipe * 10 + static_cast<int>(FormatOf<T>::VALUE));
        const auto fill = [&](uint32_t* x, size_t size, int exponent_bits, int fraction_bits, bool zeros) {
            for (size_t i = 0; i < size; ++i)
                x[i] = zeros && random() % 2 ? 0 : draw(static_cast<Recipe>(recipe), exponent_bits, fraction_bits, random);
        };
        fill(a, a_size, EXPONENT, FRACTION, false);
        fill(b, b_size, EXPONENT, FRACTION, false);
        fill(d, d_size, 8, 23, true);
        products<T><<<(tiles + 3) / 4, 128>>>(a, b, d, out, software, tiles);
        require(cudaGetLastError(), "launch");
        require(cudaDeviceSynchronize(), "products");
        size_t differ = 0, differ_tiny = 0, software_differs = 0;
        char example[160] = "";
        std::vector<uint32_t> expected(SUMS);
        for (int tile = 0; tile < tiles; ++tile) {
            memcpy(expected.data(), d + static_cast<size_t>(tile) * SUMS, SUMS * sizeof(uint32_t));
            emulated_tile(static_cast<int>(FormatOf<T>::VALUE), M, N, K, a + static_cast<size_t>(tile) * M * K,
                          b + static_cast<size_t>(tile) * K * N, expected.data());
            for (int i = 0; i < SUMS; ++i) {
                const uint32_t got = out[static_cast<size_t>(tile) * SUMS + i];
                software_differs += software[static_cast<size_t>(tile) * SUMS + i] != expected[i];
                if (got == expected[i]) continue;
                // Where every term lies below 2^-120, published models of the unit disagree with each other: counted apart.
                const bool tiny = (got & 0x7FFFFFFFu) < (7u << 23) && (expected[i] & 0x7FFFFFFFu) < (7u << 23);
                ++(tiny ? differ_tiny : differ);
                if (!example[0] && !tiny)
                    snprintf(example, sizeof(example), "tile %d sum %d: card 0x%08x, emulator 0x%08x", tile, i, got, expected[i]);
            }
        }
        printf(
            "{\"part\": \"products\", \"kind\": \"%s\", \"inputs\": \"%s\", \"compared\": %zu, \"differ\": %zu, "
            "\"differ_below_2^-120\": %zu, \"software_differs\": %zu, \"example\": \"%s\"}\n",
            kind, RECIPE_NAMES[recipe], d_size, differ, differ_tiny, software_differs, example);
        fflush(stdout);
    }
    for (uint32_t* pointer : {a, b, d, out, software}) cudaFree(pointer);
}

template <class Kernel, class Cta>
void run_on_card(const check::Operands& operands) {
    uint32_t* scratch = nullptr;
    require(cudaMalloc(&scratch, scratch_bytes<Cta>(dim3(1))), "scratch");
    require((launch<Kernel, Cta>(operands, dim3(1), nullptr, scratch)), "launch");
    require(cudaDeviceSynchronize(), "kernel");
    cudaFree(scratch);
}

void compare_kernels(uint64_t seed) {
    int index = 0;
    check::for_each_kernel([&](const char* name, auto kernel) {
        using Kernel = decltype(kernel);
        constexpr int SIZE = 128 * 128;
        float* memory;
        require(cudaMallocManaged(&memory, 9 * SIZE * sizeof(float)), "memory");
        std::mt19937_64 random(seed + index);
        for (int i = 0; i < 3 * SIZE; ++i) memory[i] = std::normal_distribution<float>()(random);
        memset(memory + 3 * SIZE, 0, 6 * SIZE * sizeof(float));
        const auto operands = [&](int which) {
            return check::Operands{memory, memory + SIZE, memory + 2 * SIZE, memory + (3 + 2 * which) * SIZE, memory + (4 + 2 * which) * SIZE};
        };
        const bool clean = emulated_kernel(index++, operands(0));
        run_on_card<Kernel, sm90::Cta>(operands(1));
        run_on_card<Kernel, software::Cta>(operands(2));
        int differ[2] = {0, 0};
        for (int which = 1; which <= 2; ++which)
            for (int i = 0; i < 2 * SIZE; ++i)
                differ[which - 1] += float_bits(memory[3 * SIZE + i]) != float_bits(memory[(3 + 2 * which) * SIZE + i]);
        printf("{\"part\": \"kernels\", \"kernel\": \"%s\", \"emulator_clean\": %s, \"sm90_differs\": %d, \"software_differs\": %d}\n", name,
               clean ? "true" : "false", differ[0], differ[1]);
        fflush(stdout);
        cudaFree(memory);
    });
}

}  // namespace

int main(int count, char** arguments) {
    const int tiles = count > 1 ? atoi(arguments[1]) : 2048;
    const uint64_t seed = count > 2 ? strtoull(arguments[2], nullptr, 10) : 1;
    compare_products<Bf16>("bf16", tiles, seed);
    compare_products<Fp16>("fp16", tiles, seed);
    compare_products<Tf32>("tf32", tiles, seed);
    compare_kernels(seed);
    return 0;
}
