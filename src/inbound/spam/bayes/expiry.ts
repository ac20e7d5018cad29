/**
 * Bounds the classifier's memory: 200,000 tokens of a workspace, and its last 10,000 messages.
 *
 * Over the bound, rare and old tokens are removed first. Each time that a token was learned is worth 30 days, so a
 * token seen once is removed before one seen often, but a new one stays long enough to come again. Learning
 * removes in its own commit, so a workspace never exceeds its bound by more than one message; housekeeping does
 * the same after a bound was lowered.
 *
 * The counts of a forgotten message stay, and if it is learned again it counts again.
 */
import { sql } from 'kysely'
import { prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'

export interface BayesLimits {
  readonly tokens: number
  readonly messages: number
}

const defaultLimits: BayesLimits = { tokens: 200_000, messages: 10_000 }

/** Rows of one kind that a step removes. That is at least as many as one message can add. */
const BATCH_SIZE = 1000

const selectTokenCount = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('bayes_counts')
    .select((eb) => eb.fn.sum<number | null>('tokens').as('tokens'))
    .where('workspace_id', '=', slot('workspaceId')),
)

/** The newest message that exceeds the bound. */
const selectFirstExcess = prepareRead<{ workspaceId: string; maxMessages: number }>()(({ db, slot }) =>
  db
    .selectFrom('bayes_learned')
    .select('seq')
    .where('workspace_id', '=', slot('workspaceId'))
    .orderBy('seq', 'desc')
    .limit(1)
    .offset(slot('maxMessages')),
)

/** The conditions stand in the order of the index, worded as in `storage/schema/spam.ts`. */
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

/** Writes that remove what exceeds the workspace's bounds, at most one step of them. Empty if nothing does. */
export async function expireBayesData(
  read: Read,
  workspaceId: string,
  limits: BayesLimits = defaultLimits,
): Promise<readonly Write[]> {
  const tooMany = ((await selectTokenCount(read, { workspaceId }))[0]?.tokens ?? 0) - limits.tokens
  const old = (await selectFirstExcess(read, { workspaceId, maxMessages: limits.messages }))[0]
  return [
    ...(tooMany > 0 ? [removeTokens({ workspaceId, rows: Math.min(tooMany, BATCH_SIZE) })] : []),
    ...(old === undefined ? [] : [removeMessages({ workspaceId, upTo: old.seq, rows: BATCH_SIZE })]),
  ]
}
