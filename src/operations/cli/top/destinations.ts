/** Counts the latest attempts by provider or host, with their outcomes and the most frequent reason of deferral. */
import { providerOfHost } from '../../../base/mail/mailbox-providers.js'
import type { Reason } from '../../../base/mail/reasons.js'
import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import { ROW_STEP } from '../../../base/storage/db/stepped-walk.js'

/** Portions of attempts that are read: 5,000 attempts. */
const MAX_PORTIONS = 20
const MAX_AGE = 600_000
const MAX_DESTINATIONS = 20

export interface BusyDestination {
  /** Id of a provider, name of a host, or `no host`. */
  readonly destination: string
  readonly attempts: number
  readonly delivered: number
  readonly deferred: number
  readonly bounced: number
  /** The most frequent reason of its deferrals, or null if there are none. */
  readonly reason: Reason | null
}

interface Destinations {
  /** The oldest attempt that was read: ten minutes ago, or later where there were many. Null if there is none. */
  readonly since: number | null
  /** Most attempts first. */
  readonly destinations: readonly BusyDestination[]
}

const latestAttempts = prepareRead<{ before: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('attempts')
    .select(['seq', 'at', 'mx', 'outcome', 'reason'])
    .where('seq', '<', slot('before'))
    .orderBy('seq', 'desc')
    .limit(slot('limit')),
)

type Attempt = Awaited<ReturnType<typeof latestAttempts>>[number]

export async function readDestinations(read: Read, now: number): Promise<Destinations> {
  const attempts = await readLatest(read, now - MAX_AGE)
  const groups = Map.groupBy(attempts, ({ mx }) => (mx === null ? 'no host' : (providerOfHost(mx) ?? mx)))
  const destinations = [...groups].map(([destination, group]) => describeGroup(destination, group))
  return {
    since: attempts.at(-1)?.at ?? null,
    destinations: destinations.sort((one, other) => other.attempts - one.attempts).slice(0, MAX_DESTINATIONS),
  }
}

async function readLatest(read: Read, since: number): Promise<readonly Attempt[]> {
  const found: Attempt[] = []
  let before = Number.MAX_SAFE_INTEGER
  for (let portion = 0; portion < MAX_PORTIONS; portion += 1) {
    const page = await latestAttempts(read, { before, limit: ROW_STEP })
    const recent = page.filter(({ at }) => at >= since)
    found.push(...recent)
    if (recent.length < ROW_STEP) break
    before = page.at(-1)?.seq ?? 0
  }
  return found
}

function describeGroup(destination: string, group: readonly Attempt[]): BusyDestination {
  const countOf = (...outcomes: readonly Attempt['outcome'][]): number =>
    group.filter(({ outcome }) => outcomes.includes(outcome)).length
  return {
    destination,
    attempts: group.length,
    delivered: countOf('delivered', 'sent'),
    deferred: countOf('deferred'),
    bounced: countOf('bounced', 'failed'),
    reason: findMostFrequent(
      group.flatMap(({ outcome, reason }) => (outcome === 'deferred' && reason !== null ? [reason] : [])),
    ),
  }
}

function findMostFrequent(reasons: readonly Reason[]): Reason | null {
  const counts = new Map<Reason, number>()
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0] ?? null
}
