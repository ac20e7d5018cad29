/** Records that DNS lacks, has with another value, or says nothing about. */
import t from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import { findMissingRecords } from '../../../src/workspaces/domains/missing-records.js'
import { buildDomain } from '../../../src/workspaces/domains/new-domain.js'
import type { PublishedRecord } from '../../../src/workspaces/domains/zone/publication.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { zoneResolver } from '../../helpers/dns/zone-resolver.js'

const base = { ttl: 60, required: true, set_by: '', purpose: '' }
const key = `v=DKIM1; k=rsa; p=${'A'.repeat(300)}`
const records: readonly PublishedRecord[] = [
  { ...base, type: 'A', name: 'right.test', value: '192.0.2.1' },
  { ...base, type: 'A', name: 'wrong.test', value: '192.0.2.1' },
  { ...base, type: 'A', name: 'absent.test', value: '192.0.2.1' },
  { ...base, type: 'A', name: 'silent.test', value: '192.0.2.1' },
  { ...base, type: 'MX', name: 'wrong.test', value: '10 mx.test' },
  { ...base, type: 'TXT', name: 'spf.test', value: 'v=spf1 ip4:192.0.2.1 -all' },
  { ...base, type: 'TXT', name: 'other.test', value: 'v=spf1 ip4:192.0.2.1 -all' },
  { ...base, type: 'TXT', name: 'key.test', value: key },
  { ...base, type: 'A', name: 'optional.test', value: '192.0.2.1', required: false },
  { ...base, type: 'CNAME', name: 'dkim1._domainkey.c.test', value: 'x.zone.test' },
]

t.test('a record with another value is told from one that is missing, and from one that nobody answers', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read } = database
  const request = { workspaceId: 'ws_1', domain: parseDomainName('c.test'), forced: false, inbound: false, now: 0 }
  const { row } = await buildDomain(read, request)
  const resolver = zoneResolver({
    'right.test': { addresses: ['192.0.2.1'] },
    'wrong.test': { addresses: ['192.0.2.7', '192.0.2.8'], mx: [[10, 'other.test']] },
    'silent.test': 'failure',
    'spf.test': { TXT: ['unrelated', 'v=spf1 -all'] },
    'other.test': { TXT: ['unrelated'] },
    'key.test': { TXT: [`v=DKIM1; k=rsa; p=${'B'.repeat(300)}`] },
    'dkim1._domainkey.c.test': { CNAME: ['elsewhere.test'] },
  })
  const names = { zone: 'zone.test', inbound_mx_host: 'mx.zone.test' }
  const found = await findMissingRecords({ read, resolver, names }, row, records)
  t.match(
    found.map(({ record, unanswered, found }) => [record.type, record.name, unanswered, found]),
    [
      ['A', 'wrong.test', false, '192.0.2.7, 192.0.2.8'],
      ['A', 'absent.test', false, null],
      ['A', 'silent.test', true, null],
      ['MX', 'wrong.test', false, '10 other.test'],
      ['TXT', 'spf.test', false, 'v=spf1 -all'],
      ['TXT', 'other.test', false, null],
      ['TXT', 'key.test', false, /^v=DKIM1; k=rsa; p=B{50,}\.\.\.$/],
      ['CNAME', 'dkim1._domainkey.c.test', false, 'elsewhere.test'],
    ],
  )
  t.equal(found.length, 8)
})
