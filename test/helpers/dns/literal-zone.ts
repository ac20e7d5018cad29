/** A service zone that is a literal: for tests of the listener that need no database. */

import { parseDomainName } from '../../../src/base/mail/address.js'
import type { ServiceZone } from '../../../src/workspaces/domains/zone/zone.js'
import {
  buildSoaRecord,
  type RecordData,
  type SoaRecord,
  type ZoneRecord,
} from '../../../src/workspaces/domains/zone/zone-records.js'

/** A text as long as the record of our keys. */
export const largeKey = `v=DKIM1; k=rsa; p=${'A'.repeat(392)}`

const records: readonly (readonly [name: string, data: RecordData])[] = [
  ['z.test', { type: 'NS', host: 'ns.z.test' }],
  ['z.test', { type: 'NS', host: 'ns.elsewhere.test' }],
  ['z.test', { type: 'CAA', issuer: 'ca.test' }],
  ['z.test', { type: 'MX', preference: 10, host: 'mx.z.test' }],
  ['mx.z.test', { type: 'A', address: '192.0.2.1' }],
  ['mx.z.test', { type: 'AAAA', address: '2001:db8::1' }],
  ['ns.z.test', { type: 'A', address: '192.0.2.1' }],
  ['dkim1.0123456789abcdef0123._domainkey.z.test', { type: 'TXT', text: largeKey }],
  ['large.z.test', { type: 'TXT', text: 'x'.repeat(2000) }],
]

/** `serial` may change during a transfer. */
export function literalZone(readSerial: () => number = () => 7): ServiceZone {
  const settings = {
    zone: 'z.test',
    hostname: 'z.test',
    linkHost: '',
    mxHost: '',
    mailDomain: parseDomainName('z.test'),
    addresses: [],
    sendingAddresses: [],
    sendingHosts: [],
    nameservers: ['ns.z.test'],
    issuers: [],
    policyId: null,
    ttl: 3600,
  }
  const readSoa = async (): Promise<SoaRecord> => buildSoaRecord(settings, readSerial())
  const all: ZoneRecord[] = records.map(([name, data]) => ({ name, ttl: 3600, data }))
  return {
    name: 'z.test',
    readSerial: async () => readSerial(),
    readSoa,
    findRecords: async (name) => {
      const there = [...(name === 'z.test' ? [await readSoa()] : []), ...all.filter((record) => record.name === name)]
      return there.length > 0 || all.some((record) => record.name.endsWith(`.${name}`)) ? there : null
    },
    async *readPages() {
      yield all.slice(0, 4)
      yield all.slice(4)
    },
  }
}
