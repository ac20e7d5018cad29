/**
 * Finds the domains of a workspace, or of all, that cannot send because of their DNS records, or will soon not be
 * able to.
 */
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'
import { ROW_STEP, waitForStep } from '../../base/storage/db/stepped-walk.js'
import type { Timestamp } from '../../base/storage/tables/columns.js'
import type { SendingDomain } from './rows/sending-domains.js'
import { GRACE_PERIOD } from './verification/check-outcome.js'

/** Domains that one read looks at, the oldest first. */
const MAX_LOOKED_AT = 5_000

interface Position {
  readonly workspaceId: string
  readonly afterTime: number
  readonly afterId: string
  readonly limit: number
}

const nextDomains = prepareRead<Position>()(({ db, slot }) =>
  db
    .selectFrom('domains')
    .select(['id', 'domain', 'status', 'unproved_since', 'verified_at', 'created_at'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where((eb) => eb(eb.refTuple('created_at', 'id'), '>', eb.tuple(slot('afterTime'), slot('afterId'))))
    .orderBy('created_at')
    .orderBy('id')
    .limit(slot('limit')),
)

interface TroubledDomain extends Pick<SendingDomain, 'id' | 'domain' | 'status'> {
  /** The moment at which sending stops from a verified domain whose records are missing. */
  readonly failsAt: Timestamp | null
  /** Mail was sent from it before. */
  readonly wasVerified: boolean
}

/** The domains whose records are missing, failed, or were never published. It returns at most `limit`, oldest first. */
export async function readTroubledDomains(
  read: Read,
  workspaceId: string,
  limit: number,
): Promise<readonly TroubledDomain[]> {
  const troubled: TroubledDomain[] = []
  let position: Position = { workspaceId, afterTime: 0, afterId: '', limit: ROW_STEP }
  for (let lookedAt = 0; lookedAt < MAX_LOOKED_AT && troubled.length < limit; lookedAt += ROW_STEP) {
    if (lookedAt > 0) await waitForStep()
    const rows = await nextDomains(read, position)
    for (const { id, domain, status, unproved_since: since, verified_at: verifiedAt } of rows) {
      const one = { id, domain, status, wasVerified: verifiedAt !== null }
      if (status !== 'verified') troubled.push({ ...one, failsAt: null })
      else if (since !== null) troubled.push({ ...one, failsAt: since + GRACE_PERIOD })
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < ROW_STEP) break
    position = { ...position, afterTime: last.created_at, afterId: last.id }
  }
  return troubled.slice(0, limit)
}

const domainsById = prepareRead<{ after: string; limit: number }>()(({ db, slot }) =>
  db.selectFrom('domains').selectAll().where('id', '>', slot('after')).orderBy('id').limit(slot('limit')),
)

/** The domains of all workspaces, the newest last. It reads at most `MAX_LOOKED_AT`. */
export async function* readDomainsInSteps(read: Read): AsyncGenerator<readonly SendingDomain[]> {
  for (let lookedAt = 0, after = ''; lookedAt < MAX_LOOKED_AT; lookedAt += ROW_STEP) {
    if (lookedAt > 0) await waitForStep()
    const page = await domainsById(read, { after, limit: ROW_STEP })
    yield page
    const last = page.at(-1)
    if (last === undefined || page.length < ROW_STEP) return
    after = last.id
  }
}

type DomainTrouble =
  | { readonly kind: 'none' }
  | { readonly kind: 'failed' }
  /** The domain is verified, but its records are missing. */
  | { readonly kind: 'grace'; readonly failsAt: Timestamp }

/** A domain that waits for its first verification is in no trouble. */
export function describeTrouble({
  status,
  unproved_since: since,
}: Pick<SendingDomain, 'status' | 'unproved_since'>): DomainTrouble {
  if (status === 'failed') return { kind: 'failed' }
  return status === 'verified' && since !== null ? { kind: 'grace', failsAt: since + GRACE_PERIOD } : { kind: 'none' }
}
