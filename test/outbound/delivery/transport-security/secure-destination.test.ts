import t from 'tap'
import { parseDomainName } from '../../../../src/base/mail/address.js'
import type { JudgedLookup, MxRecord } from '../../../../src/base/platform/dns/resolver.js'
import type { Destination, Host } from '../../../../src/outbound/delivery/hosts/destination.js'
import { DestinationSecurer } from '../../../../src/outbound/delivery/transport-security/secure-destination.js'
import type { StsPolicy } from '../../../../src/outbound/delivery/transport-security/sts-policy.js'

const domain = parseDomainName('b.test')
const tlsa = `3 1 1 ${'ab'.repeat(32)}`
const policy: StsPolicy = { mode: 'enforce', patterns: ['mx1.b.test'], maxAge: 1 }

const host = (mx: string): Host => ({
  ...{ mx, address: '192.0.2.1', port: 25, tls: 'opportunistic', auth: null, final: true },
})

interface Case {
  readonly policy?: StsPolicy
  /** Hosts with TLSA records. */
  readonly dane?: readonly string[]
  readonly failing?: readonly string[]
  readonly isMxAuthentic?: boolean
  readonly isMxFailing?: boolean
  readonly settings?: { readonly dane?: 'off'; readonly mta_sts?: boolean }
}

async function secure(given: Case, destination?: Destination): Promise<Destination> {
  const { dane = [], failing = [], isMxAuthentic = true, settings = {} } = given
  const answer = <T>(lookup: JudgedLookup<T>['lookup'], isAuthentic: boolean): JudgedLookup<T> => ({
    ...{ lookup, isAuthentic, alias: null },
  })
  const securer = new DestinationSecurer({
    resolver: {
      judgeMx: async () =>
        given.isMxFailing === true
          ? answer<MxRecord>({ kind: 'failure', detail: 'TIMEOUT' }, false)
          : answer<MxRecord>({ kind: 'no-data' }, isMxAuthentic),
      judgeRecords: async (name, type) => {
        if (type === 'A') return answer<string>({ kind: 'records', records: ['192.0.2.1'] }, true)
        if (failing.some((mx) => name.endsWith(mx)))
          return answer<string>({ kind: 'failure', detail: 'SERVFAIL' }, false)
        const has = type === 'TLSA' && dane.some((mx) => name.endsWith(mx))
        return answer<string>(has ? { kind: 'records', records: [tlsa] } : { kind: 'no-data' }, true)
      },
    },
    stsPolicies: { find: async () => given.policy ?? null, size: 0 },
    settings: () => ({ dane: 'auto', mta_sts: true, ...settings }),
  })
  const hosts: Destination = { kind: 'hosts', hosts: [host('mx1.b.test'), host('mx2.b.test')] }
  return securer.secure(domain, Promise.resolve(destination ?? hosts))
}

async function rulesOf(given: Case): Promise<readonly unknown[]> {
  const found = await secure(given)
  return found.kind === 'hosts'
    ? found.hosts.map(({ security }) => [security?.rule.kind, security?.isNameTrusted, security?.applied.type])
    : []
}

const none = ['none', false, 'no-policy-found']
const known = ['none', true, 'no-policy-found']
const dane = ['dane', true, 'tlsa']

t.test('DANE goes before MTA-STS, host by host', async (t) => {
  const rows: readonly (readonly [what: string, given: Case, rules: readonly unknown[]])[] = [
    ['neither', { isMxAuthentic: false }, [none, none]],
    ['DNSSEC alone', {}, [known, known]],
    ['DANE', { dane: ['mx1.b.test', 'mx2.b.test'] }, [dane, dane]],
    ['DANE of one host', { dane: ['mx1.b.test'] }, [dane, known]],
    ['MX records outside DNSSEC', { dane: ['mx1.b.test'], isMxAuthentic: false }, [none, none]],
    [
      'MTA-STS',
      { policy, isMxAuthentic: false },
      [
        ['sts-enforce', true, 'sts'],
        ['refused', false, 'sts'],
      ],
    ],
    ['both', { policy, dane: ['mx2.b.test'] }, [['sts-enforce', true, 'sts'], dane]],
    [
      'MTA-STS in testing',
      { policy: { ...policy, mode: 'testing' }, isMxAuthentic: false },
      [
        ['sts-testing', true, 'sts'],
        ['sts-testing', false, 'sts'],
      ],
    ],
    [
      'a look-up that fails',
      { policy, failing: ['mx1.b.test'] },
      [
        ['refused', false, 'tlsa'],
        ['refused', true, 'sts'],
      ],
    ],
    ['DANE off', { dane: ['mx1.b.test'], settings: { dane: 'off' } }, [none, none]],
    ['MTA-STS off', { policy, isMxAuthentic: false, settings: { mta_sts: false } }, [none, none]],
  ]
  for (const [what, given, rules] of rows) t.same(await rulesOf(given), rules, what)
})

t.test('MX records that cannot be asked for again say nothing about DNSSEC: the mail waits', async (t) => {
  const response = 'the MX records of b.test cannot be looked up: TIMEOUT'
  t.match(await secure({ isMxFailing: true, dane: ['mx1.b.test'] }), { kind: 'temporary', reason: 'dns', response })
  t.match(await secure({ isMxFailing: true, settings: { dane: 'off' } }), { kind: 'hosts' })
})

t.test('the names of a certificate under an issuer are those of the host and of the domain', async (t) => {
  const found = await secure({ dane: ['mx1.b.test'] })
  t.match(found, {
    hosts: [
      { security: { rule: { base: 'mx1.b.test', names: ['mx1.b.test', 'b.test'] }, applied: { strings: [tlsa] } } },
    ],
  })
})

t.test('a destination without hosts stays as it is', async (t) => {
  const refusal: Destination = { kind: 'temporary', reason: 'dns', response: 'no answer' }
  t.equal(await secure({ policy }, refusal), refusal)
})
