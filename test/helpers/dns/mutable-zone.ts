/**
 * A zone over the real wire that a test changes as it goes on: names with their records, and CNAMEs that are
 * followed.
 *
 *     const world = await mutableZone(t)
 *     const app = await testDaemon(t, { zone: 'dns.servers', settings: { dns: { servers: [world.address] } } })
 *     world.set('dkim1._domainkey.c.test', { CNAME: 'elsewhere.test' })
 *     world.set('posthorn.c.test', 'SERVFAIL')
 */
import type { Test } from 'tap'
import { type DnsAnswer, type DnsRecord, type DnsServer, dnsServer } from './dns-server.js'

type NameRecords =
  | { readonly CNAME: string }
  | {
      readonly A?: readonly string[]
      readonly NS?: readonly string[]
      readonly TXT?: readonly string[]
      readonly MX?: readonly (readonly [number, string])[]
    }
type NameState = NameRecords | 'SERVFAIL' | 'silence' | null

export interface MutableZone extends Pick<DnsServer, 'address' | 'queries'> {
  /** Null: the name does not exist. */
  readonly set: (name: string, state: NameState) => void
  readonly get: (name: string) => NameState
}

export async function mutableZone(t: Test): Promise<MutableZone> {
  const names = new Map<string, NameState>()
  const server = await dnsServer((question) => {
    const [type = '', name = ''] = question.split(' ')
    return resolveName(names, type, name)
  })
  t.teardown(() => server.close())
  return {
    address: server.address,
    queries: server.queries,
    set: (name, state) => names.set(name, state),
    get: (name) => names.get(name) ?? null,
  }
}

function resolveName(names: ReadonlyMap<string, NameState>, type: string, asked: string): DnsAnswer {
  const answers: DnsRecord[] = []
  let name = asked
  for (;;) {
    const state = names.get(name) ?? null
    if (typeof state === 'string') return state
    if (state === null) return { answers, code: 'NXDOMAIN' }
    if (!('CNAME' in state) || type === 'CNAME') return [...answers, ...recordsOf(state, type, name)]
    answers.push({ type: 'CNAME', ttl: 60, name, value: state.CNAME })
    name = state.CNAME
  }
}

function recordsOf(state: NameRecords, type: string, name: string): readonly DnsRecord[] {
  const common = { ttl: 60, name }
  if ('CNAME' in state) return [{ ...common, type: 'CNAME', value: state.CNAME }]
  if (type === 'A') return (state.A ?? []).map((value) => ({ ...common, type: 'A', value }))
  if (type === 'NS') return (state.NS ?? []).map((value) => ({ ...common, type: 'NS', value }))
  if (type === 'MX')
    return (state.MX ?? []).map(([preference, value]) => ({ ...common, type: 'MX', preference, value }))
  if (type === 'TXT') return (state.TXT ?? []).map((text) => ({ ...common, type: 'TXT', strings: splitStrings(text) }))
  return []
}

/** Each holds 255 octets. */
function splitStrings(text: string): readonly string[] {
  return text.match(/.{1,255}/gs) ?? ['']
}
