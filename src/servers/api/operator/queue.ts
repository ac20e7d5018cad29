/** The routes of the queue for the operator: totals, entries, acts on named entries and on all that match a filter. */
import { z } from 'zod'
import { providerGroups } from '../../../base/mail/mailbox-providers.js'
import type { Store } from '../../../base/storage/db/database.js'
import { type ChangedEntries, changeEntries, queueActs } from '../../../records/messages/queue/change-entries.js'
import { type ListedEntry, listEntries, type QueueFilter } from '../../../records/messages/queue/queue-admin.js'
import type { QueueCensus } from '../../../records/messages/queue/queue-census.js'
import { readQueuePage } from '../../../records/messages/queue/queue-pages.js'
import { queueStatuses } from '../../../records/messages/queue/queue-status.js'
import type { QueueWork } from '../../../records/messages/queue/queue-work.js'
import { waitReasons } from '../../../records/messages/queue/wait-reason.js'
import type { Actor } from '../../../workspaces/accounts/access/audit-log.js'
import { json, noContent } from '../http/answer.js'
import { idCursor, limit, toCursor } from '../http/input/paging.js'
import { domainName } from '../http/input/values.js'
import { type Route, sessionRoute } from '../http/route/route.js'
import { censusView, entryPage, showCensus, showEntry, showWork, workView } from './queue-views.js'

export interface QueueRouteDeps extends Store {
  readonly readCensus: () => Promise<QueueCensus>
  readonly queueWork: QueueWork
  /** Call it after a change. The queue runner reads its entries again. */
  readonly onQueueChanged: () => Promise<void>
}

const tag = 'Operator'
/** Ids of one request. */
const MAX_IDS = 100

const workspaceId = z.string('allowed: the id of a workspace').max(100, 'allowed: the id of a workspace')
const status = z.enum(queueStatuses, `allowed: ${queueStatuses.join(', ')}`)
// Pages pass on the words in their address: the types of the dashboard take any text for these two.
const provider = z
  .string()
  .pipe(z.enum(providerGroups, 'allowed: the id of a mailbox provider, such as google, or other'))
const reason = z.string().pipe(z.enum(waitReasons, 'allowed: a reason as entries have it, such as greylisted'))
const filterFields = {
  domain: domainName.optional(),
  provider: provider.optional(),
  status: status.optional(),
  reason: reason.optional(),
  workspace_id: workspaceId.optional(),
}
const act = z.enum(queueActs, `allowed: ${queueActs.join(', ')}`)

const listQuery = z.strictObject({ limit, cursor: idCursor, ...filterFields })
const actRequest = z
  .strictObject({
    act,
    ids: z
      .array(z.uuid('allowed: the id of an entry'), 'allowed: ids of entries')
      .min(1, 'allowed: at least 1 id')
      .max(MAX_IDS, `allowed: at most ${MAX_IDS} ids`),
  })
  .meta({ id: 'QueueAct', example: { act: 'retry', ids: ['01a1ff35-3880-7ef5-bbba-0d7e1de2529c'] } })
const workRequest = z
  .strictObject({ act, ...filterFields })
  .refine(
    ({ act: _, ...filter }) => Object.values(filter).some((value) => value !== undefined),
    `one of ${Object.keys(filterFields).join(', ')} is required`,
  )
  .meta({ id: 'QueueWorkRequest', example: { act: 'retry', domain: 'example.com' } })
const actAnswer = z.strictObject({
  changed: z.array(z.string()).meta({ description: 'Ids of the entries that were changed.' }),
  missed: z.array(z.string()).meta({
    description: 'Ids of those that were not: they are being sent, settled, or not in a state that the act changes.',
  }),
})

export function queueRoutes(deps: QueueRouteDeps): readonly Route[] {
  return [censusRoute(deps), entriesRoute(deps), actRoute(deps), startRoute(deps), workRoute(deps), stopRoute(deps)]
}

function censusRoute({ readCensus }: QueueRouteDeps): Route {
  return sessionRoute({
    method: 'GET',
    path: '/operator/queue',
    area: 'operator',
    tag,
    summary: 'Count the queue of all workspaces, by state, recipient domain, mailbox provider and reason',
    description: 'While a long queue is counted, `complete` is false and the numbers are those of the part so far.',
    answers: { 200: { description: 'The counts; the largest 100 groups of each kind.', schema: censusView } },
    refusals: [],
    run: async () => json(200, showCensus(await readCensus())),
  })
}

function entriesRoute({ read }: QueueRouteDeps): Route {
  return sessionRoute({
    method: 'GET',
    path: '/operator/queue/entries',
    area: 'operator',
    tag,
    summary: 'List the queue of all workspaces, oldest first',
    description:
      'One page looks through at most 5,000 entries, so it may have fewer than `limit` while there are more.',
    query: listQuery,
    answers: { 200: { description: 'A page.', schema: entryPage } },
    refusals: [],
    run: async ({ query: { limit, cursor, ...filter } }) => {
      const { entries, next } = await readQueuePage(read, { filter: toFilter(filter), after: cursor ?? '', limit })
      return json(200, { data: entries.map(showEntry), has_more: next !== null, next_cursor: toCursor(next) })
    },
  })
}

interface GivenFilter extends Pick<QueueFilter, 'domain' | 'provider' | 'status' | 'reason'> {
  readonly workspace_id?: string | undefined
}

function toFilter({ workspace_id: workspaceId, ...filter }: GivenFilter): QueueFilter {
  return { ...filter, workspaceId }
}

/** A session has no key. */
function actorOfSession(userId: string): Actor {
  return { id: userId, keyId: null }
}

function actRoute({ read, commit, onQueueChanged }: QueueRouteDeps): Route {
  return sessionRoute({
    method: 'POST',
    path: '/operator/queue/acts',
    area: 'operator',
    tag,
    summary: 'Hold, release, retry or delete entries of the queue',
    body: actRequest,
    answers: { 200: { description: 'What was changed; each change is in the audit log.', schema: actAnswer } },
    refusals: [],
    run: async ({ session: { userId }, body: { act, ids }, now }) => {
      const entries: readonly ListedEntry[] = await listEntries(read, { ids, after: '', limit: MAX_IDS })
      const outcome = await changeEntries(commit, entries, { act, actor: actorOfSession(userId), now })
      if (outcome.changed.length > 0) await onQueueChanged()
      return json(200, withAbsent(outcome, ids))
    },
  })
}

/** Entries that are not in the queue count as missed too. */
function withAbsent({ changed, missed }: ChangedEntries, ids: readonly string[]): ChangedEntries {
  const known = new Set([...changed, ...missed])
  return { changed, missed: [...missed, ...new Set(ids.filter((id) => !known.has(id)))] }
}

function startRoute({ queueWork }: QueueRouteDeps): Route {
  return sessionRoute({
    method: 'POST',
    path: '/operator/queue/work',
    area: 'operator',
    tag,
    summary: 'Hold, release, retry or delete all entries that match a filter',
    description:
      'They are changed in portions. A restart of the service interrupts the work; what it did not reach is unchanged.',
    body: workRequest,
    answers: { 202: { description: 'The work has begun.', schema: workView } },
    refusals: ['conflict'],
    run: async ({ session: { userId }, body: { act, ...filter } }) =>
      json(202, showWork(await queueWork.start(act, toFilter(filter), actorOfSession(userId)))),
  })
}

function workRoute({ queueWork }: QueueRouteDeps): Route {
  return sessionRoute({
    method: 'GET',
    path: '/operator/queue/work',
    area: 'operator',
    tag,
    summary: 'Show how far the act on matching entries is',
    answers: {
      200: {
        description: 'The present or the last one since the start of the service, or the one that it interrupted.',
        schema: z.strictObject({ work: workView.nullable() }),
      },
    },
    refusals: [],
    run: () => {
      const state = queueWork.show()
      return json(200, { work: state === null ? null : showWork(state) })
    },
  })
}

function stopRoute({ queueWork }: QueueRouteDeps): Route {
  return sessionRoute({
    method: 'DELETE',
    path: '/operator/queue/work',
    area: 'operator',
    tag,
    summary: 'Stop the act on matching entries',
    answers: { 204: { description: 'It has stopped after a portion; what it has changed stays changed.' } },
    refusals: [],
    run: async () => {
      await queueWork.stop()
      return noContent
    },
  })
}
