/**
 * The rows of the classifier: reads of counts, and the writes of learning and unlearning.
 *
 * - A message is in the counts exactly if it is in `bayes_learned`, which is unique by fingerprint: learning it
 *   twice misses. The oldest messages are forgotten there and stay counted.
 * - The counted tokens are stored with the message. Tokenizing it again might give others: a later version may
 *   find different tokens, and the message may be deleted.
 * - A token that was forgotten and came again counts only what was learned since (`since`), so unlearning an older
 *   message leaves it alone: counts never include messages that are not in them.
 *
 * Every statement takes the workspace's id.
 */
import { sql } from 'kysely'
import { dayOf } from '../../../base/platform/time-units.js'
import { prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { BayesVerdict } from '../../../base/storage/tables/inbound-tables.js'
import type { Tables } from '../../../base/storage/tables/tables.js'
import { buildDayCount, learningDayOf, subtractDayCount } from './days.js'
import type { TokenCount } from './score.js'
import { hashWordToken, packKeys, unpackKeys } from './token-keys.js'

/** One message of one workspace. */
export interface MessageRef {
  readonly workspaceId: string
  readonly fingerprint: string
}

export interface LearnInput extends MessageRef {
  readonly verdict: BayesVerdict
  readonly tokens: readonly string[]
  /** When the message was received, as far as is known. This decides whether it counts as recent mail. */
  readonly dated: number
  readonly at: number
}

interface LearnedMessage extends MessageRef {
  readonly seq: number
  readonly verdict: BayesVerdict
  readonly keys: readonly number[]
  /** The day that it counts on. */
  readonly day: number
}

/** Keys in one statement. */
const KEYS_PER_READ = 128
type KeyQuery = { workspaceId: string } & Record<`key${number}`, number>
const keySlots = Array.from({ length: KEYS_PER_READ }, (_, at): `key${number}` => `key${at}`)

const selectTokenCounts = prepareRead<KeyQuery>()(({ db, slot }) =>
  db
    .selectFrom('bayes_tokens')
    .select(['token', 'spam', 'ham'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('token', 'in', keySlots.map(slot)),
)

const selectMessageCounts = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db.selectFrom('bayes_messages').select(['verdict', 'count']).where('workspace_id', '=', slot('workspaceId')),
)

export async function countLearnedMessages(read: Read, workspaceId: string): Promise<TokenCount> {
  const counts = new Map(
    (await selectMessageCounts(read, { workspaceId })).map(({ verdict, count }) => [verdict, count]),
  )
  return { spam: counts.get('spam') ?? 0, ham: counts.get('ham') ?? 0 }
}

/** The workspace's counts of these tokens, in one read for each 128. Keys are distinct. */
export async function readTokenCounts(
  read: Read,
  workspaceId: string,
  keys: readonly number[],
): Promise<ReadonlyMap<number, TokenCount>> {
  const counts = new Map<number, TokenCount>()
  for (let from = 0; from < keys.length; from += KEYS_PER_READ) {
    // The last key fills the remaining slots.
    const asked = keySlots.map((place, at) => [place, keys[Math.min(from + at, keys.length - 1)]])
    for (const { token, spam, ham } of await selectTokenCounts(read, { workspaceId, ...Object.fromEntries(asked) })) {
      counts.set(token, { spam, ham })
    }
  }
  return counts
}

/** Returns them in the order of their keys. */
export const readTokensAfter = prepareRead<{ workspaceId: string; after: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('bayes_tokens')
    .select(['token', 'spam', 'ham'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('token', '>', slot('after'))
    .orderBy('token')
    .limit(slot('limit')),
)

const selectState = prepareRead<{ workspaceId: string }>()(({ db, slot }) => {
  const learned = (verdict: BayesVerdict) =>
    db
      .selectFrom('bayes_messages')
      .select('count')
      .where('workspace_id', '=', slot('workspaceId'))
      .where('verdict', '=', verdict)
  return db.selectNoFrom([
    db
      .selectFrom('bayes_learned')
      .select('seq')
      .where('workspace_id', '=', slot('workspaceId'))
      .orderBy('seq', 'desc')
      .limit(1)
      .as('newest'),
    db
      .selectFrom('bayes_counts')
      .select((eb) => eb.fn.sum<number | null>('tokens').as('tokens'))
      .where('workspace_id', '=', slot('workspaceId'))
      .as('words'),
    learned('spam').as('spam'),
    learned('ham').as('ham'),
  ])
})

/** Another one whenever something was learned. */
export interface LearnedState {
  /** The number of the message that was learned last, or 0 if there is none. */
  readonly newest: number
  readonly words: number
  readonly messages: TokenCount
}

export async function readLearnedState(read: Read, workspaceId: string): Promise<LearnedState> {
  const [row] = await selectState(read, { workspaceId })
  return {
    newest: row?.newest ?? 0,
    words: row?.words ?? 0,
    messages: { spam: row?.spam ?? 0, ham: row?.ham ?? 0 },
  }
}

const selectLearned = prepareRead<MessageRef>()(({ db, slot }) =>
  db
    .selectFrom('bayes_learned')
    .select(['seq', 'verdict', 'tokens', 'dated_on'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('fingerprint', '=', slot('fingerprint')),
)

export async function findLearned(
  read: Read,
  { workspaceId, fingerprint }: MessageRef,
): Promise<LearnedMessage | null> {
  const [row] = await selectLearned(read, { workspaceId, fingerprint })
  if (row === undefined) return null
  const { seq, verdict, tokens, dated_on: day } = row
  return { workspaceId, fingerprint, seq, verdict, keys: unpackKeys(tokens), day }
}

const insertLearned = prepareWrite<Omit<Tables['bayes_learned'], 'seq'>>(
  ({ db, slot }) =>
    db
      .insertInto('bayes_learned')
      .values({
        workspace_id: slot('workspace_id'),
        fingerprint: slot('fingerprint'),
        verdict: slot('verdict'),
        tokens: slot('tokens'),
        learned_at: slot('learned_at'),
        dated_on: slot('dated_on'),
      })
      .onConflict((conflict) => conflict.columns(['workspace_id', 'fingerprint']).doNothing()),
  1,
)

const countMessage = prepareWrite<{ workspaceId: string; verdict: BayesVerdict }>(
  ({ db, slot }) =>
    db
      .insertInto('bayes_messages')
      .values({ workspace_id: slot('workspaceId'), verdict: slot('verdict'), count: 1 })
      .onConflict((conflict) =>
        conflict
          .columns(['workspace_id', 'verdict'])
          .doUpdateSet((eb) => ({ count: eb('bayes_messages.count', '+', 1) })),
      ),
  1,
)

interface LearnedToken extends MessageRef {
  readonly key: number
  readonly spam: 0 | 1
  readonly ham: 0 | 1
  readonly day: number
}

const countToken = prepareWrite<LearnedToken>(({ db, slot }) =>
  db
    .insertInto('bayes_tokens')
    .values((eb) => ({
      workspace_id: slot('workspaceId'),
      token: slot('key'),
      spam: slot('spam'),
      ham: slot('ham'),
      since: eb
        .selectFrom('bayes_learned')
        .select('seq')
        .where('workspace_id', '=', slot('workspaceId'))
        .where('fingerprint', '=', slot('fingerprint')),
      last_learned: slot('day'),
    }))
    .onConflict((conflict) =>
      conflict.columns(['workspace_id', 'token']).doUpdateSet((eb) => ({
        spam: eb('bayes_tokens.spam', '+', slot('spam')),
        ham: eb('bayes_tokens.ham', '+', slot('ham')),
        last_learned: slot('day'),
      })),
    ),
)

/** Counts a message; misses if it is already learned. */
export function buildLearnWrites({
  workspaceId,
  fingerprint,
  verdict,
  tokens,
  dated,
  at,
}: LearnInput): readonly Write[] {
  const keys = [...new Set(tokens.map(hashWordToken))]
  const counted = { workspaceId, ...toUnitCount(verdict) }
  const today = dayOf(at)
  const day = learningDayOf(dated, at)
  const packed = packKeys(keys)
  return [
    insertLearned({ workspace_id: workspaceId, fingerprint, verdict, tokens: packed, learned_at: at, dated_on: day }),
    countMessage({ workspaceId, verdict }),
    ...buildDayCount({ ...counted, day }, today),
    ...keys.map((key) => countToken({ ...counted, fingerprint, key, day: today })),
  ]
}

function toUnitCount(verdict: BayesVerdict): { readonly spam: 0 | 1; readonly ham: 0 | 1 } {
  return verdict === 'spam' ? { spam: 1, ham: 0 } : { spam: 0, ham: 1 }
}

const removeLearned = prepareWrite<Pick<LearnedMessage, 'workspaceId' | 'seq'>>(
  ({ db, slot }) =>
    db.deleteFrom('bayes_learned').where('workspace_id', '=', slot('workspaceId')).where('seq', '=', slot('seq')),
  1,
)

const uncountMessage = prepareWrite<{ workspaceId: string; verdict: BayesVerdict }>(
  ({ db, slot }) =>
    db
      .updateTable('bayes_messages')
      .set((eb) => ({ count: eb('count', '-', 1) }))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('verdict', '=', slot('verdict')),
  1,
)

interface UnlearnedToken {
  readonly workspaceId: string
  readonly seq: number
  readonly key: number
  readonly spam: 0 | 1
  readonly ham: 0 | 1
}

const uncountToken = prepareWrite<UnlearnedToken>(({ db, slot }) =>
  db
    .updateTable('bayes_tokens')
    .set((eb) => ({ spam: eb('spam', '-', slot('spam')), ham: eb('ham', '-', slot('ham')) }))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('token', '=', slot('key'))
    .where('since', '<=', slot('seq')),
)

const removeToken = prepareWrite<{ workspaceId: string; key: number }>(({ db, slot }) =>
  db
    .deleteFrom('bayes_tokens')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('token', '=', slot('key'))
    .where(sql<boolean>`spam + ham = 0`),
)

/** Takes a message out of the counts. It misses if the message was unlearned, or learned again, in the meantime. */
export function buildUnlearnWrites({ workspaceId, seq, verdict, keys, day }: LearnedMessage): readonly Write[] {
  const counted = { workspaceId, ...toUnitCount(verdict) }
  return [
    removeLearned({ workspaceId, seq }),
    uncountMessage({ workspaceId, verdict }),
    subtractDayCount({ ...counted, day }),
    ...keys.flatMap((key) => [uncountToken({ ...counted, seq, key }), removeToken({ workspaceId, key })]),
  ]
}
