/**
 * The classifier's memory has a bound: 200,000 tokens a workspace, and the last 10,000 messages.
 *
 * Over the bound, rare and old tokens go first: each time that a token was learned is worth 30
 * days, so that one seen once goes before one seen often, and yet a new one is not forgotten
 * before it can come again. Learning itself forgets in its own commit, so a workspace is never
 * more than one message above its bound; housekeeping does the same where a bound was lowered.
 *
 * Of a message that is forgotten the counts stay, and learned again it would count again.
 */
import { sql } from 'kysely'
import { prepareRead, prepareWrite, type Read } from '../../storage/prepared.js'
import type { Write } from '../../storage/writer/write.js'

export interface BayesLimits {
  readonly tokens: number
  readonly messages: number
}

const defaultLimits: BayesLimits = { tokens: 200_000, messages: 10_000 }

/** Rows of a kind that one step removes: at least what one message can bring. */
const BATCH_SIZE = 1000

const selectTokenCount = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db.selectFrom('bayes_counts').select('tokens').where('workspace_id', '=', slot('workspaceId')),
)

/** The newest message over the bound. */
const selectFirstExcess = prepareRead<{ workspaceId: string; kept: number }>()(({ db, slot }) =>
  db
    .selectFrom('bayes_learned')
    .select('seq')
    .where('workspace_id', '=', slot('workspaceId'))
    .orderBy('seq', 'desc')
    .limit(1)
    .offset(slot('kept')),
)

/** The order is that of an index, as the migration words it. */
const removeTokens = prepareWrite<{ workspaceId: string; rows: number }>(({ db, slot }) =>
  db
    .deleteFrom('bayes_tokens')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('token', 'in', (eb) =>
      eb
        .selectFrom('bayes_tokens as worth')
        .select('worth.token')
        .where('worth.workspace_id', '=', slot('workspaceId'))
        .orderBy(sql`last_learned + 30 * (spam + ham)`)
        .limit(slot('rows')),
    ),
)

const removeMessages = prepareWrite<{ workspaceId: string; upTo: number; rows: number }>(({ db, slot }) =>
  db
    .deleteFrom('bayes_learned')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('seq', 'in', (eb) =>
      eb
        .selectFrom('bayes_learned as old')
        .select('old.seq')
        .where('old.workspace_id', '=', slot('workspaceId'))
        .where('old.seq', '<=', slot('upTo'))
        .orderBy('old.seq')
        .limit(slot('rows')),
    ),
)

/** What a workspace has too much of, at most a step of it; none: it is within its bounds. */
export function expireBayesData(
  read: Read,
  workspaceId: string,
  limits: BayesLimits = defaultLimits,
): readonly Write[] {
  const tooMany = (selectTokenCount(read, { workspaceId })[0]?.tokens ?? 0) - limits.tokens
  const old = selectFirstExcess(read, { workspaceId, kept: limits.messages })[0]
  return [
    ...(tooMany > 0 ? [removeTokens({ workspaceId, rows: Math.min(tooMany, BATCH_SIZE) })] : []),
    ...(old === undefined ? [] : [removeMessages({ workspaceId, upTo: old.seq, rows: BATCH_SIZE })]),
  ]
}
