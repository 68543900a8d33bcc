"""Misses of LRU caches by libcachesim (PyPI) on the accesses of `skewed` in tests/all/reuse.rs.

Prints what that test holds drivelab's one pass against.
"""

import libcachesim as lcs

ACCESSES = 50_000


def blocks():
    state = 1
    for _ in range(ACCESSES):
        state = (state * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
        drawn = (state >> 33) % 2000
        yield drawn * drawn // 1000


for power in range(13):
    cache = lcs.LRU(cache_size=1 << power)
    misses = 0
    for block in blocks():
        request = lcs.Request()
        request.obj_id = block
        request.obj_size = 1
        misses += not cache.get(request)
    print(f"({1 << power}, {misses}),")
