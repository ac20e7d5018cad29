/**
 * The contacts of a workspace or of one audience, newest first, in pages.
 *
 * Each read walks one index backwards (`contacts_of_workspace` or `contacts_of_audience`) without sorting, because
 * ids begin with their time. Totals come from stored counts. A read skips the rows before an offset along the index,
 * in steps (`base/storage/db/stepped-walk.ts`), so that an offset of a million does not block the event loop.
 */
import type { Address } from '../../base/mail/address.js'
import { MAX_ID, type PageSlice, seekOffset } from '../../base/storage/db/paging.js'
import { prepareLongRead, prepareRead, type Read } from '../../base/storage/db/prepared.js'
import { waitForStep } from '../../base/storage/db/stepped-walk.js'
import { type Contact, contactIdsByKey } from './contacts.js'

export interface ContactFilter {
  readonly workspaceId: string
  /** Null selects all contacts of the workspace. */
  readonly audienceId: string | null
}

export async function countContacts(read: Read, { workspaceId, audienceId }: ContactFilter): Promise<number> {
  return (await selectCount(read, { workspaceId, list: audienceId ?? 'all' }))[0]?.count ?? 0
}

export async function listContacts(
  read: Read,
  filter: ContactFilter,
  { after, offset, limit }: PageSlice,
): Promise<readonly Contact[]> {
  if (offset >= (await countContacts(read, filter))) return []
  const place = await seekOffset(
    after ?? MAX_ID,
    offset,
    async (before, skip) => (await skipContacts(read, filter, before, skip))[0]?.id,
  )
  return place === null ? [] : await listContactsBefore(read, filter, place, limit)
}

/** The ids of contacts with one address, newest first. Each audience has at most one. */
export async function findContactIds(
  read: Read,
  { workspaceId, audienceId }: ContactFilter,
  email: Address,
): Promise<readonly string[]> {
  return (await contactIdsByKey(read, { workspaceId, key: email.toLowerCase() }))
    .filter(({ audience_id }) => audienceId === null || audience_id === audienceId)
    .map(({ id }) => id)
    .sort()
    .reverse()
}

/** Reads the whole list in pages of `limit`, without contacts that are added while it reads. */
export async function* readContactPages(
  read: Read,
  filter: ContactFilter,
  limit: number,
): AsyncGenerator<readonly Contact[]> {
  let before = MAX_ID
  for (;;) {
    const page = await listContactsBefore(read, filter, before, limit)
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    before = last.id
    await waitForStep()
  }
}

async function skipContacts(read: Read, { workspaceId, audienceId }: ContactFilter, before: string, skip: number) {
  return audienceId === null
    ? await skipInWorkspace(read, { workspaceId, before, skip })
    : await skipInAudience(read, { workspaceId, audienceId, before, skip })
}

/** Newest first. */
export async function listContactsBefore(
  read: Read,
  { workspaceId, audienceId }: ContactFilter,
  before: string,
  limit: number,
): Promise<readonly Contact[]> {
  return audienceId === null
    ? await pageOfWorkspace(read, { workspaceId, before, limit })
    : await pageOfAudience(read, { workspaceId, audienceId, before, limit })
}

const selectCount = prepareRead<{ workspaceId: string; list: string }>()(({ db, slot }) =>
  db
    .selectFrom('contact_counts')
    .select((eb) => eb.fn.sum<number | null>('count').as('count'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('list', '=', slot('list')),
)

interface PageQuery {
  workspaceId: string
  before: string
}

const pageOfWorkspace = prepareRead<PageQuery & { limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('contacts')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('id', '<', slot('before'))
    .orderBy('id', 'desc')
    .limit(slot('limit')),
)

const pageOfAudience = prepareRead<PageQuery & { audienceId: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('contacts')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('audience_id', '=', slot('audienceId'))
    .where('id', '<', slot('before'))
    .orderBy('id', 'desc')
    .limit(slot('limit')),
)

const skipInWorkspace = prepareLongRead<PageQuery & { skip: number }>()(({ db, slot }) =>
  db
    .selectFrom('contacts')
    .select('id')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('id', '<', slot('before'))
    .orderBy('id', 'desc')
    .limit(1)
    .offset(slot('skip')),
)

const skipInAudience = prepareLongRead<PageQuery & { audienceId: string; skip: number }>()(({ db, slot }) =>
  db
    .selectFrom('contacts')
    .select('id')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('audience_id', '=', slot('audienceId'))
    .where('id', '<', slot('before'))
    .orderBy('id', 'desc')
    .limit(1)
    .offset(slot('skip')),
)
