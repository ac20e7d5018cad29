import t from 'tap'
import { judgeDnssec } from '../../../../src/operations/doctor/checks/dnssec-checks.js'

const root = { kind: 'records', records: ['a.root-servers.net'] } as const

t.test('DANE needs a resolver that validates', async (t) => {
  t.match(judgeDnssec({ lookup: root, isAuthentic: true, alias: null }), { state: 'ok' })
  t.match(judgeDnssec({ lookup: root, isAuthentic: false, alias: null }), { state: 'warn', text: /^off, / })
  const silent = { kind: 'failure', detail: 'TIMEOUT' } as const
  t.match(judgeDnssec({ lookup: silent, isAuthentic: false, alias: null }), { state: 'warn', undecided: true })
})
