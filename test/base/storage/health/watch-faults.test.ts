/** The watch for outages: what begins and ends one besides commits. */
import t from 'tap'
import { StorageFault } from '../../../../src/base/storage/db/write.js'
import { watchFaults } from '../../../../src/base/storage/health/watch-faults.js'
import { waitUntil } from '../../../helpers/wait-until.js'

t.test('a fault that the database tells of begins an outage, which ends when reads work too', async (t) => {
  const said: string[] = []
  let isReadable = false
  let probes = 0
  const { recordFault, stop } = watchFaults(() => Promise.resolve(), {
    onOutageStart: ({ code }) => void said.push(code),
    onOutageEnd: () => void said.push('end'),
    buildProbe: () => ({ sql: 'probe', parameters: [] }),
    probeReads: async () => {
      probes += 1
      if (!isReadable) throw new StorageFault('away', 'no server')
    },
    interval: 5,
  })
  t.teardown(stop)
  recordFault(new StorageFault('first', 'no server'))
  recordFault(new StorageFault('second', 'no server'))
  await waitUntil('it is probed', () => probes >= 3)
  t.same(said, ['first'])
  isReadable = true
  await waitUntil('it ends', () => said.length > 1)
  t.same(said, ['first', 'end'])
})
