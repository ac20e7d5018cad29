import t from 'tap'
import type { Destination, Host } from '../../../../src/outbound/delivery/hosts/destination.js'
import {
  type HostSecurity,
  noPolicy,
  noSecurity,
  type TlsRule,
} from '../../../../src/outbound/delivery/hosts/host-security.js'
import { parseTlsa } from '../../../../src/outbound/delivery/hosts/tlsa-record.js'
import { applyMessageDemand } from '../../../../src/outbound/delivery/transport-security/message-demand.js'

const security = (rule: TlsRule, isNameTrusted = false): HostSecurity => ({ rule, isNameTrusted, applied: noPolicy })
const record = parseTlsa(`3 1 1 ${'ab'.repeat(32)}`)
const dane = security(
  { kind: 'dane', base: 'a.test', names: ['a.test'], records: record === null ? [] : [record] },
  true,
)
const encrypted = security({ kind: 'dane', base: 'a.test', names: ['a.test'], records: [] }, true)
const enforce = security({ kind: 'sts-enforce' }, true)
const testing = security({ kind: 'sts-testing', isListed: true }, true)
const signed = security({ kind: 'none' }, true)
const unlisted = security({ kind: 'refused', reason: 'tls', text: 'is not listed', failure: 'validation-failure' })
const bogus = security({ kind: 'refused', reason: 'dns', text: 'SERVFAIL', failure: 'dnssec-invalid' })

function host(mx: string, over: HostSecurity | undefined): Host {
  const plain = { mx, address: '192.0.2.1', port: 25, tls: 'opportunistic', auth: null, final: true } as const
  return over === undefined ? plain : { ...plain, security: over }
}

function apply(
  securities: readonly (HostSecurity | undefined)[],
  tlsRequired: 'yes' | 'no' | null,
  returnPath = 'x@sender.test',
): { readonly destination: Destination; readonly refused: readonly string[] } {
  const refused: string[] = []
  const hosts = securities.map((one, at) => host(`mx${at}.test`, one))
  const message = { domain: 'b.test', tlsRequired, returnPath }
  const destination = applyMessageDemand(message, { kind: 'hosts', hosts }, ({ mx }) => refused.push(mx))
  return { destination, refused }
}

const rules = ({ destination }: ReturnType<typeof apply>): unknown =>
  destination.kind === 'hosts' ? destination.hosts.map(({ mx, security: one }) => [mx, one?.rule.kind]) : destination

t.test('a message without a wish: hosts that policies rule out are left out', async (t) => {
  t.same(rules(apply([dane, unlisted, noSecurity, bogus, undefined], null)), [
    ['mx0.test', 'dane'],
    ['mx2.test', 'none'],
    ['mx4.test', undefined],
  ])
  t.same(apply([dane, unlisted, bogus], null).refused, ['mx1.test', 'mx2.test'], 'they are reported')
})

t.test('if none is left, the message waits, and the reason names each host', async (t) => {
  t.match(apply([unlisted, bogus], null).destination, {
    kind: 'temporary',
    reason: 'dns',
    response: 'no mail host of b.test may be called: mx0.test: is not listed; mx1.test: SERVFAIL',
  })
  t.match(apply([unlisted], null).destination, { kind: 'temporary', reason: 'tls', status: /^4\.7\./ })
})

t.test('TLS-Required: No sets the policies aside', async (t) => {
  t.same(rules(apply([dane, unlisted, bogus], 'no')), [
    ['mx0.test', undefined],
    ['mx1.test', undefined],
    ['mx2.test', undefined],
  ])
})

t.test('REQUIRETLS: hosts that a certificate proves', async (t) => {
  t.same(rules(apply([dane, enforce, testing, encrypted, signed, noSecurity, undefined], 'yes')), [
    ['mx0.test', 'dane'],
    ['mx1.test', 'sts-enforce'],
    ['mx2.test', 'verified'],
    ['mx3.test', 'verified'],
    ['mx4.test', 'verified'],
    ['mx6.test', 'verified'],
  ])
  t.match(apply([noSecurity], 'yes').destination, { kind: 'refused', status: '5.7.30', recipientsFault: false })
  t.match(apply([unlisted], 'yes').destination, { kind: 'temporary' })
  t.same(rules(apply([noSecurity], 'yes', '')), [['mx0.test', 'none']], 'a notification is not lost for it')
})
