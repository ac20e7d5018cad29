/** NS and CAA records of a real server, and the data of CAA records that is cut off. */
import t from 'tap'
import { readCaa } from '../../../../src/base/platform/dns/records.js'
import { openResolver } from '../../../../src/base/platform/dns/resolver.js'
import { openZoneServer, ZONE } from '../../../helpers/dns/zone-server.js'

t.test('the name servers of a zone', async (t) => {
  const { port } = await openZoneServer(t)
  const ended = new AbortController()
  t.teardown(() => ended.abort())
  const settings = { servers: [{ address: '127.0.0.1', port }], timeout: 2_000, tries: 2, cacheSize: 0 }
  const resolver = openResolver(settings, () => 0, ended.signal)
  t.same(await resolver.resolveRecords(ZONE, 'NS'), { kind: 'records', records: [`ns.${ZONE}`] })
  t.same(await resolver.resolveRecords(ZONE, 'CAA'), { kind: 'no-data' })
})

t.test('CAA records', async (t) => {
  const read = (data: Buffer, end = data.length): string =>
    readCaa(data, { owner: '', type: 257, class: 1, ttl: 0, start: 0, end })
  const data = Buffer.concat([Buffer.of(0, 5), Buffer.from('issueca.test')])
  t.equal(read(data), '0 issue "ca.test"')
  t.equal(read(Buffer.concat([Buffer.of(128, 5), Buffer.from('issue')])), '128 issue ""')
  for (const length of [0, 1, 2, 6]) t.throws(() => read(data.subarray(0, length)), RangeError, `${length}`)
})
