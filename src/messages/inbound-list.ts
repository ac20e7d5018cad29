/**
 * Inbound emails of a workspace, newest first, in pages.
 *
 * With a status or without, each read walks one index backwards and sorts nothing; the other
 * filters are looked up in the rows on the way. What comes before an offset is walked over in
 * steps with a breath between them, so that a place deep down holds nobody up.
 */
import { setImmediate as breath } from 'node:timers/promises'
import type { Compilable } from 'kysely'
import { type Read, select, statements } from '../storage/prepared.js'
import type { InboundStatus, SpamStatus } from '../storage/tables.js'
import type { InboundEmail } from './inbound-email.js'

/** Undefined: any. */
export interface InboundFilter {
  readonly workspaceId: string
  readonly status?: InboundStatus | undefined
  /** That the mail was written to. */
  readonly domain?: string | undefined
  /** Address of the From field, in any case. */
  readonly from?: string | undefined
  readonly spamStatus?: SpamStatus | undefined
  readonly since?: number | undefined
}

const listed = [
  'id',
  'from_email',
  'from_name',
  'to_emails',
  'cc_emails',
  'subject',
  'has_html',
  'has_text',
  'attachment_count',
  'received_at',
  'status',
  'spam_status',
  'spam_score',
] as const

export type ListedInbound = Pick<InboundEmail, (typeof listed)[number]>

type Place = Pick<InboundEmail, 'received_at' | 'id'>

const TOP: Place = { received_at: Number.MAX_SAFE_INTEGER, id: '' }
/** Rows that are walked over at once. */
const STEP = 10_000

export async function listInbound(
  read: Read,
  filter: InboundFilter,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<readonly ListedInbound[]> {
  let place = TOP
  for (let left = offset; left > 0; left -= STEP) {
    if (left < offset) await breath()
    const [next] = select(read, stepBelow(filter, place, Math.min(left, STEP) - 1))
    if (next === undefined) return []
    place = next
  }
  return select(read, pageBelow(filter, place, limit))
}

function pageBelow(filter: InboundFilter, place: Place, limit: number): Compilable<ListedInbound> {
  return below(filter, place).select(listed).limit(limit)
}

function stepBelow(filter: InboundFilter, place: Place, skip: number): Compilable<Place> {
  return below(filter, place).select(['received_at', 'id']).limit(1).offset(skip)
}

function below({ workspaceId, status, domain, from, spamStatus, since }: InboundFilter, { received_at, id }: Place) {
  return statements
    .selectFrom('inbound_emails')
    .where('workspace_id', '=', workspaceId)
    .where('kind', '=', 'mail')
    .$if(status !== undefined, (query) => query.where('status', '=', status ?? 'received'))
    .$if(domain !== undefined, (query) => query.where('domain', '=', domain ?? ''))
    .$if(from !== undefined, (query) =>
      query.where(({ fn }) => fn<string>('lower', ['from_email']), '=', (from ?? '').toLowerCase()),
    )
    .$if(spamStatus !== undefined, (query) => query.where('spam_status', '=', spamStatus ?? 'clean'))
    .$if(since !== undefined, (query) => query.where('received_at', '>=', since ?? 0))
    .where((eb) => eb(eb.refTuple('received_at', 'id'), '<', eb.tuple(received_at, id)))
    .orderBy('received_at', 'desc')
    .orderBy('id', 'desc')
}
