/**
 * Fails queued mail of a sending domain that was removed.
 *
 * It walks the workspace's part of the queue in the order of an index, a small page at a time, and yields to the event
 * loop between two pages, however long the queue is. It may miss entries that are being attempted or that move behind
 * the walk. They fail at their next attempt, because no key signs for them, so you may also abort the walk between two
 * pages.
 */
import { type DomainName, domainOf } from '../../../base/mail/address.js'
import type { Store } from '../../../base/storage/db/database.js'
import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import { type Commit, tryCommit } from '../../../base/storage/db/write.js'
import { allHolds, type Hold } from '../../../base/storage/tables/hold.js'
import { deleteEntry, type RemovedEntry } from './queue-admin.js'
import { listQueueNodes } from './queue-nodes.js'

const PAGE_SIZE = 200

interface QueueCursor {
  readonly node: string
  readonly workspaceId: string
  readonly held: Hold
  readonly afterTime: number
  readonly afterId: string
}

const pageOfQueue = prepareRead<QueueCursor>()(({ db, slot }) =>
  db
    .selectFrom('queue')
    .innerJoin('recipients', 'recipients.id', 'queue.id')
    .innerJoin('emails', 'emails.id', 'queue.email_id')
    .select(['queue.id', 'queue.email_id', 'queue.workspace_id', 'queue.recipient', 'queue.last_response'])
    .select(['queue.next_attempt_at', 'emails.created_at'])
    .select(['recipients.status as recipient_status', 'emails.from_email', 'emails.subject', 'emails.tags'])
    .where('queue.node', '=', slot('node'))
    .where('queue.workspace_id', '=', slot('workspaceId'))
    .where('queue.held', '=', slot('held'))
    .where((eb) =>
      eb(eb.refTuple('queue.next_attempt_at', 'queue.id'), '>', eb.tuple(slot('afterTime'), slot('afterId'))),
    )
    .orderBy('queue.next_attempt_at')
    .orderBy('queue.id')
    .limit(PAGE_SIZE),
)

export interface DeletedDomain {
  readonly workspaceId: string
  readonly domain: DomainName
  /** When the domain was removed. Later mail belongs to a domain that was registered again. */
  readonly at: number
}

/** Resolves to the number of failed recipients. Rejects with the reason of `signal` if it is aborted. */
export async function failMailOfDomain(
  { read, commit }: Store,
  gone: DeletedDomain,
  signal?: AbortSignal,
): Promise<number> {
  let failed = 0
  for (const node of await listQueueNodes(read)) {
    for (const held of allHolds) {
      for await (const page of walkQueue(read, { workspaceId: gone.workspaceId, node, held }, signal)) {
        const ours = page.filter(
          ({ from_email, created_at }) => created_at <= gone.at && domainOf(from_email) === gone.domain,
        )
        failed += await failEntries(commit, ours, gone.at)
      }
    }
  }
  return failed
}

async function* walkQueue(
  read: Read,
  of: Pick<QueueCursor, 'workspaceId' | 'node' | 'held'>,
  signal?: AbortSignal,
): AsyncGenerator<Awaited<ReturnType<typeof pageOfQueue>>> {
  for (let cursor: QueueCursor | null = { ...of, afterTime: -1, afterId: '' }; cursor !== null; ) {
    signal?.throwIfAborted()
    const page: Awaited<ReturnType<typeof pageOfQueue>> = await pageOfQueue(read, cursor)
    yield page
    const last = page.length < PAGE_SIZE ? undefined : page.at(-1)
    cursor = last === undefined ? null : { ...cursor, afterTime: last.next_attempt_at, afterId: last.id }
  }
}

/** Fails each entry in a separate commit, so that one that is being attempted stops no other. */
async function failEntries(commit: Commit, entries: readonly RemovedEntry[], at: number): Promise<number> {
  // This never resolves in the same turn of the event loop, even if there is nothing to do.
  const outcomes = await Promise.all([
    new Promise<false>((resolve) => setImmediate(resolve, false)),
    ...entries.map((entry) => tryCommit(commit(deleteEntry(entry, at, 'domain-deleted')))),
  ])
  return outcomes.filter(Boolean).length
}
