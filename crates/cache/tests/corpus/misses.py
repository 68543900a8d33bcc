"""Misses of eight policies by libcachesim 0.3.5 (PyPI) on the traces of tests/all/traces.rs.

Prints the rows of tests/all/libcachesim.rs: trace, blocks of cache, misses of fifo, lru, clock,
2q, arc, lirs, s3fifo, tinylfu, belady. 
"""

import libcachesim as lcs

ACCESSES = 100_000
# Multiples of 500: elsewhere the segments of its W-TinyLFU do not add up to its main part, and a
# hit makes it give up a block.
CAPACITIES = (500, 1000, 1500, 3000)
MASK = (1 << 64) - 1


def draws(seed):
    state = seed
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) & MASK
        yield state >> 33


def skewed():
    for _, drawn in zip(range(ACCESSES), draws(1)):
        place = drawn % 20_000
        yield place * place // 20_000


def steep():
    for _, drawn in zip(range(ACCESSES), draws(2)):
        place = drawn % 20_000
        yield place * place // 20_000 * place // 20_000 * place // 20_000


def scanned():
    drawn = draws(3)
    for at in range(ACCESSES):
        if at % 2_000 < 500:
            yield 1_000_000 + at
        else:
            place = next(drawn) % 4_000
            yield place * place // 4_000


def moving():
    for at, drawn in zip(range(ACCESSES), draws(4)):
        place = drawn % 3_000
        yield at // 10_000 * 1_500 + place * place // 3_000


def looping():
    drawn = draws(5)
    for at in range(ACCESSES):
        yield at * 7 % 1_500 if at % 3 else 10_000 + next(drawn) % 2_000


TRACES = {t.__name__: list(t()) for t in (skewed, steep, scanned, moving, looping)}


def misses(cache, blocks):
    request = lcs.Request()
    request.obj_size = 1
    count = 0
    for block in blocks:
        request.obj_id = block
        count += not cache.get(request)
    return count


def next_uses(blocks):
    latest, uses = {}, [0] * len(blocks)
    for at in range(len(blocks) - 1, -1, -1):
        uses[at] = latest.get(blocks[at], (1 << 63) - 1)
        latest[blocks[at]] = at + 1
    return uses


def belady(capacity, blocks):
    cache = lcs.Belady(cache_size=capacity)
    request = lcs.Request()
    request.obj_size = 1
    count = 0
    for block, use in zip(blocks, next_uses(blocks)):
        request.obj_id = block
        request.next_access_vtime = use
        count += not cache.get(request)
    return count


POLICIES = (lcs.FIFO, lcs.LRU, lcs.Clock, lcs.TwoQ, lcs.ARC, lcs.LIRS, lcs.S3FIFO, lcs.WTinyLFU)

if __name__ == "__main__":
    for name, blocks in TRACES.items():
        for capacity in CAPACITIES:
            row = [misses(policy(cache_size=capacity), blocks) for policy in POLICIES]
            row.append(belady(capacity, blocks))
            print(f'    ("{name}", {capacity}, {row}),', flush=True)
