/**
 * Learns one message as spam or ham. A message counts once, however often it is learned, and the last verdict
 * counts.
 *
 * An earlier, opposite verdict is unlearned in the same commit. If other commits come in between, the commit
 * misses and is tried again on the new state.
 */
import type { Store } from '../../../base/storage/db/database.js'
import { takeTurn, tryCommit } from '../../../base/storage/db/write.js'
import { type BayesLimits, expireBayesData } from './expiry.js'
import { buildLearnWrites, buildUnlearnWrites, findLearned, type LearnInput } from './records.js'

export interface BayesDeps extends Store {
  /** If it is absent, the limits are those of `expiry.ts`. */
  readonly limits?: BayesLimits
}

/** Resolves to false if the message was already learned with this verdict. */
export async function learnMessage({ read, commit, limits }: BayesDeps, lesson: LearnInput): Promise<boolean> {
  const writes = buildLearnWrites(lesson)
  for (;;) {
    const before = await findLearned(read, lesson)
    if (before?.verdict === lesson.verdict) return false
    const all = [
      ...(before === null ? [] : buildUnlearnWrites(before)),
      ...(await expireBayesData(read, lesson.workspaceId, limits)),
      ...writes,
    ]
    // Another message may have the same tokens in another order.
    if (await tryCommit(commit(takeTurn(`spam filter of ${lesson.workspaceId}`, all)))) return true
  }
}
