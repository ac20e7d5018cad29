/** Shows what a workspace has taught the classifier, in numbers. */
import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import { knowsRecentMail } from './classifier-limits.js'
import { countRecentlyLearned } from './days.js'
import { countLearnedMessages } from './records.js'
import type { TokenCount } from './score.js'

const selectWords = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('bayes_counts')
    .select((eb) => eb.fn.sum<number | null>('tokens').as('tokens'))
    .where('workspace_id', '=', slot('workspaceId')),
)

interface TrainingState {
  /** Messages. */
  readonly learned: TokenCount
  /** The learned messages that were received in the last 180 days. */
  readonly recent: TokenCount
  readonly words: number
  /** False if too few recent messages were learned for its full weight. */
  readonly seasoned: boolean
}

export async function readTrainingState(read: Read, workspaceId: string, now: number): Promise<TrainingState> {
  const recent = await countRecentlyLearned(read, workspaceId, now)
  return {
    learned: await countLearnedMessages(read, workspaceId),
    recent,
    words: (await selectWords(read, { workspaceId }))[0]?.tokens ?? 0,
    seasoned: knowsRecentMail(recent),
  }
}
