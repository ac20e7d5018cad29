/**
 * Tells what DNS has now in the place of each record of a domain, and which servers answer for its zone. It changes
 * nothing, so a page can show it to its owner before a check.
 */
import type { LookupResult } from '../../../base/platform/dns/resolver.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { dkimKeysOf } from '../dkim/signing-keys.js'
import type { SendingDomain } from '../rows/sending-domains.js'
import { judgeDmarc, judgeRecords, type RecordsFinding } from './judge-records.js'
import { type DomainResolver, dmarcNameOf, lookUpRecords, type ZoneNames } from './look-up-records.js'
import { zoneNameOf } from './record-place.js'

interface ObserveDeps {
  readonly read: Read
  readonly resolver: DomainResolver
  readonly names: ZoneNames
}

export const observedStates = ['correct', 'other', 'missing', 'unanswered'] as const

interface ObservedRecord {
  readonly type: 'CNAME' | 'MX' | 'TXT'
  readonly name: string
  /** Empty if there is none, or if DNS did not answer. */
  readonly found: readonly string[]
  readonly state: (typeof observedStates)[number]
}

interface ObservedDns {
  /** Empty if they are not known. */
  readonly nameservers: readonly string[]
  readonly records: readonly ObservedRecord[]
}

/** Values that are shown of one name. */
const MAX_FOUND = 10
const MAX_LENGTH = 500

export async function observeRecords({ read, resolver, names }: ObserveDeps, row: SendingDomain): Promise<ObservedDns> {
  const { domain, workspace_id: workspaceId } = row
  const [answers, mx, nameservers, keys] = await Promise.all([
    lookUpRecords(resolver, row, names),
    resolver.resolveMx(domain),
    resolver.resolveRecords(zoneNameOf(domain), 'NS'),
    dkimKeysOf(read, { workspaceId, domain }),
  ])
  const hosts = listFound(mx).map(({ preference, exchange }) => `${preference} ${exchange || '.'}`)
  const isOurs = listFound(mx).some(({ exchange }) => exchange.toLowerCase() === names.inbound_mx_host)
  const policies = listFound(answers.dmarc)
  return {
    nameservers: listFound(nameservers).slice(0, MAX_FOUND),
    records: [
      ...judgeRecords(answers, row, keys, names).map(toObserved),
      { type: 'MX', name: domain, ...describe(mx, hosts, isOurs) },
      {
        type: 'TXT',
        name: dmarcNameOf(domain),
        ...describe(answers.dmarc, policies, judgeDmarc(answers.dmarc) === 'verified'),
      },
    ],
  }
}

const states = { verified: 'correct', awaited: 'missing', unknown: 'unanswered' } as const

function toObserved({ type, name, found, state }: RecordsFinding): ObservedRecord {
  const values = found === null ? [] : [found]
  const failed = found === null ? 'missing' : 'other'
  return { type, name, found: values, state: state === 'failed' ? failed : states[state] }
}

function describe(
  { kind }: LookupResult<unknown>,
  values: readonly string[],
  isCorrect: boolean,
): Pick<ObservedRecord, 'found' | 'state'> {
  const found = values.slice(0, MAX_FOUND).map((value) => value.slice(0, MAX_LENGTH))
  if (kind === 'failure') return { found, state: 'unanswered' }
  if (isCorrect) return { found, state: 'correct' }
  return { found, state: found.length === 0 ? 'missing' : 'other' }
}

function listFound<Found>(lookup: LookupResult<Found>): readonly Found[] {
  return lookup.kind === 'records' ? lookup.records : []
}
