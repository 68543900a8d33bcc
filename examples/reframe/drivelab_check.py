# A ReFrame check (https://reframe-hpc.readthedocs.io): a storage target of a site, measured by
# drivelab on every system where ReFrame runs. Each cell becomes a performance variable; ReFrame
# keeps the history over systems, and judges by the references that a site writes below.
#
#   reframe -c examples/reframe/drivelab_check.py -r --performance-report
#   reframe -c examples/reframe/drivelab_check.py -r -S DrivelabCheck.target=/scratch
#
# The record of each run stays in its stage directory, as run.json: `drivelab show run.json`,
# `drivelab compare node1/run.json node2/run.json`.

import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ


@rfm.simple_test
class DrivelabCheck(rfm.RunOnlyRegressionTest):
    descr = 'rates of a storage target, each until its interval is narrow'
    valid_systems = ['*']
    valid_prog_environs = ['*']
    executable = 'drivelab'

    # What is measured. A directory gets a scratch file, which is removed.
    target = variable(str, value='.')
    method = variable(str, value='quick')
    # More words for `drivelab run`, such as ['--max-time', '1m'].
    words = variable(typ.List[str], value=[])

    # Such as {'cluster:compute': {'sync-write-4K': (9000, -0.1, None, 'IOPS')}}.
    reference = {}

    @run_before('run')
    def set_words(self):
        self.executable_opts = [
            'run', self.target, '--method', self.method, '--quiet',
            '--store', 'history.db', '--json', 'run.json', *self.words,
        ]
        # A run that was cut short has no verdict.
        self.keep_files = ['run.json']

    def record(self):
        with open(os.path.join(self.stagedir, 'run.json'), encoding='utf-8') as file:
            return json.load(file)

    @sanity_function
    def every_cell_was_measured(self):
        record = self.record()
        failed = [cell['name'] for cell in record['cells'] if cell['total']['errors']]
        return sn.all([
            sn.assert_eq(record['state'], 'complete', msg='the run is {0}'),
            sn.assert_true(record['cells'], msg='no cell was measured'),
            sn.assert_false(failed, msg=f'requests failed in {failed}'),
        ])

    @run_before('performance')
    def take_rates(self):
        # Large blocks are told in bytes, as drivelab's own table does.
        self.perf_variables = {}
        for cell in self.record()['cells']:
            large = (cell['block_bytes'] or 0) >= 64 << 10
            rate = cell['bytes_per_s'] / 1e6 if large else cell['iops']
            unit = 'MB/s' if large else 'IOPS'
            self.perf_variables[cell['name']] = sn.make_performance_function(
                sn.defer(rate), unit)
