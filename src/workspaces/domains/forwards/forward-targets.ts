/**
 * External addresses to which a workspace forwards. We forward nothing to an address before its owner has agreed by
 * a link in a mail. The same link withdraws the agreement. So no workspace can send its mail to an address that did
 * not ask for it.
 *
 * An address in a verified domain of the workspace needs no agreement. An agreement is valid for all rules of the
 * workspace.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Selectable } from 'kysely'
import { sql } from 'kysely'
import { type Address, domainOf, toLowerCaseAddress } from '../../../base/mail/address.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { uuidv7 } from '../../../base/platform/ids.js'
import { DAY } from '../../../base/platform/time-units.js'
import { isListedIn } from '../../../base/storage/db/dialect.js'
import { prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { Timestamp } from '../../../base/storage/tables/columns.js'
import type { Tables } from '../../../base/storage/tables/tables.js'
import { domainByName } from '../rows/sending-domains.js'

export type ForwardTarget = Selectable<Tables['forward_targets']>

/** Addresses of a workspace. They count whether their owners have agreed or not. */
const MAX_ADDRESSES = 1_000
/** Requests for agreement that a workspace may send in a day. */
const MAX_REQUESTS_PER_DAY = 50
/** Requests that an address may get without answering. */
const MAX_REQUESTS = 3

const insertTarget = prepareWrite<ForwardTarget>(({ db, slot }) =>
  db
    .insertInto('forward_targets')
    .values({
      workspace_id: slot('workspace_id'),
      address_key: slot('address_key'),
      id: slot('id'),
      address: slot('address'),
      requested_at: slot('requested_at'),
      requests: slot('requests'),
      confirmed_at: slot('confirmed_at'),
    })
    .onConflict((conflict) => conflict.columns(['workspace_id', 'address_key']).doNothing()),
)

const setRequested = prepareWrite<{ id: string; at: Timestamp }>(({ db, slot }) =>
  db
    .updateTable('forward_targets')
    .set((eb) => ({ requested_at: slot('at'), requests: eb('requests', '+', 1) }))
    .where('id', '=', slot('id')),
)

const setConfirmed = prepareWrite<{ id: string; at: Timestamp | null; requests: number }>(({ db, slot }) =>
  db
    .updateTable('forward_targets')
    .set({ confirmed_at: slot('at'), requests: slot('requests') })
    .where('id', '=', slot('id')),
)

/** A null `at` means that the owner of the address withdraws. Then we do not ask again. */
export function changeAgreement(id: string, at: Timestamp | null): Write {
  return setConfirmed({ id, at, requests: at === null ? MAX_REQUESTS : 0 })
}

const targetByKey = prepareRead<{ workspaceId: string; key: string }>()(({ db, slot }) =>
  db
    .selectFrom('forward_targets')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('address_key', '=', slot('key')),
)

export const targetById = prepareRead<{ id: string }>()(({ db, slot }) =>
  db
    .selectFrom('forward_targets')
    .innerJoin('workspaces', 'workspaces.id', 'forward_targets.workspace_id')
    .select(['forward_targets.id', 'address', 'confirmed_at', 'workspaces.name as workspace'])
    .where('forward_targets.id', '=', slot('id')),
)

const countTargets = prepareRead<{ workspaceId: string; since: Timestamp }>()(({ db, slot }) =>
  db
    .selectFrom('forward_targets')
    .select((eb) => [
      eb.fn.countAll<number>().as('all'),
      // We never asked addresses in an own domain, which agreed at once.
      sql<number>`count(*) filter (where requested_at > ${slot('since')} and confirmed_at is distinct from requested_at)`.as(
        'recent',
      ),
    ])
    .where('workspace_id', '=', slot('workspaceId')),
)

/** Finds addresses that no rule names. It spares one that we stopped asking: a new rule would ask it again. `lower` is ASCII. */
const isUnused = () =>
  sql<boolean>`requests < ${sql.lit(MAX_REQUESTS)} and address_key = lower(address) and not ${isListedIn(
    { table: 'forward_rules', column: 'targets' },
    { key: 'address_key', workspaceId: 'forward_targets.workspace_id' },
  )}`

const countUnused = prepareRead<{ workspaceId: string; before: Timestamp }>()(({ db, slot }) =>
  db
    .selectFrom('forward_targets')
    .select((eb) => eb.fn.countAll<number>().as('unused'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('requested_at', '<', slot('before'))
    .where(isUnused()),
)

const removeUnused = prepareWrite<{ workspaceId: string; before: Timestamp }>(({ db, slot }) =>
  db
    .deleteFrom('forward_targets')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('requested_at', '<', slot('before'))
    .where(isUnused()),
)

/** Tells whether the workspace may forward mail to the address. */
export async function isConfirmed(read: Read, workspaceId: string, address: Address): Promise<boolean> {
  const [row] = await targetByKey(read, { workspaceId, key: toLowerCaseAddress(address) })
  return row !== undefined && row.confirmed_at !== null
}

/** What a rule with these addresses needs. */
interface TargetRequests {
  readonly writes: readonly Write[]
  /** The addresses that get a mail with a link now. */
  readonly asked: readonly Pick<ForwardTarget, 'id' | 'address'>[]
}

/**
 * We ask an address again after a day at the earliest, and a few times in total. Throws a Refusal `rate-limited` or
 * `invalid-parameter`.
 */
export async function requestTargets(
  read: Read,
  workspaceId: string,
  addresses: readonly Address[],
  now: number,
): Promise<TargetRequests> {
  const writes: Write[] = []
  const asked: Pick<ForwardTarget, 'id' | 'address'>[] = []
  for (const address of addresses) {
    const key = toLowerCaseAddress(address)
    const [known] = await targetByKey(read, { workspaceId, key })
    if (known === undefined) {
      const confirmed = await isOwnDomain(read, workspaceId, address)
      const row = {
        workspace_id: workspaceId,
        address_key: key,
        id: uuidv7(now),
        address,
        requested_at: now,
        requests: 1,
      }
      writes.push(insertTarget({ ...row, confirmed_at: confirmed ? now : null }))
      if (!confirmed) asked.push(row)
    } else if (isToBeAskedAgain(known, now)) {
      writes.push(setRequested({ id: known.id, at: now }))
      asked.push(known)
    }
  }
  const room = await makeRoom(read, workspaceId, { added: writes.length, asked: asked.length, now })
  return { writes: [...room, ...writes], asked }
}

function isToBeAskedAgain(
  { confirmed_at: confirmedAt, requested_at: requestedAt, requests }: ForwardTarget,
  now: number,
) {
  return confirmedAt === null && requests < MAX_REQUESTS && requestedAt < now - DAY
}

interface Demand {
  readonly added: number
  readonly asked: number
  readonly now: number
}

/** Removes addresses that no rule names, to make room. */
async function makeRoom(read: Read, workspaceId: string, { added, asked, now }: Demand): Promise<readonly Write[]> {
  if (added === 0) return []
  const [count] = await countTargets(read, { workspaceId, since: now - DAY })
  if (asked > 0 && (count?.recent ?? 0) + asked > MAX_REQUESTS_PER_DAY) {
    const message = `a workspace may ask ${MAX_REQUESTS_PER_DAY} addresses a day whether they take forwarded mail`
    throw new Refusal('rate-limited', message)
  }
  const excess = (count?.all ?? 0) + added - MAX_ADDRESSES
  if (excess <= 0) return []
  const place = { workspaceId, before: now - DAY }
  if (((await countUnused(read, place))[0]?.unused ?? 0) >= excess) return [removeUnused(place)]
  const message = `to: a workspace may forward to ${MAX_ADDRESSES} addresses`
  throw new Refusal('invalid-parameter', message, { field: 'to' })
}

async function isOwnDomain(read: Read, workspaceId: string, address: Address): Promise<boolean> {
  const [row] = await domainByName(read, { workspaceId, domain: domainOf(address) })
  return row?.status === 'verified'
}

/** Builds the token of the link in the mail. Its holder may agree and withdraw. */
export function buildTargetToken(secret: KeyObject, id: string): string {
  return `${id}.${signatureOf(secret, id)}`
}

/** The id of the address. It is null if the token is not ours. */
export function parseTargetToken(secret: KeyObject, token: string): string | null {
  const [, id, signature] = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([\w-]{43})$/.exec(token) ?? []
  if (id === undefined || signature === undefined) return null
  return timingSafeEqual(Buffer.from(signature), Buffer.from(signatureOf(secret, id))) ? id : null
}

/** Signs a JSON text with its purpose, so that no other signed link has the same text. */
function signatureOf(secret: KeyObject, id: string): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify(['forward target', id]))
    .digest('base64url')
}
