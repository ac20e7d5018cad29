/**
 * Learning one message as spam or ham: once, however often it is said, and the last word counts.
 *
 * The verdict before, if another one, is unlearned in the same commit. What others commit in
 * between makes the commit miss, and it is tried again on what is there then.
 */
import { createHash } from 'node:crypto'
import type { Read } from '../../storage/prepared.js'
import { unlessMissed } from '../../storage/writer/unless-missed.js'
import type { Commit } from '../../storage/writer/write.js'
import type { SpamMessage } from '../spam-message.js'
import { type BayesLimits, forgetting } from './forgetting.js'
import { type BayesVerdict, type Learnable, learnedBefore, learning, unlearning } from './records.js'
import { bayesTokens } from './tokens.js'

export interface BayesDeps {
  readonly read: Read
  readonly commit: Commit
  /** Absent: the usual ones. */
  readonly limits?: BayesLimits
}

export interface BayesLesson extends Learnable {
  readonly verdict: BayesVerdict
  /** Counts as recent mail by the moment that it came. */
  readonly message: SpamMessage
  readonly at: number
}

/** Of the bytes as they are filed: the same message is the same whether it comes from there or from a file. */
export function messageFingerprint(raw: Uint8Array): string {
  return createHash('sha256').update(raw).digest('hex')
}

/** Resolves to whether anything changed: false when it was learned so before. */
export async function learnMessage({ read, commit, limits }: BayesDeps, lesson: BayesLesson): Promise<boolean> {
  const { message, ...rest } = lesson
  const writes = learning({ ...rest, tokens: bayesTokens(message), dated: message.receivedAt })
  for (;;) {
    const before = learnedBefore(read, lesson)
    if (before?.verdict === lesson.verdict) return false
    const made = commit([
      ...(before === null ? [] : unlearning(before)),
      ...forgetting(read, lesson.workspaceId, limits),
      ...writes,
    ])
    if (await unlessMissed(made)) return true
  }
}

/** Takes back what was learned of a message; resolves to whether there was anything. */
export async function unlearnMessage({ read, commit }: BayesDeps, message: Learnable): Promise<boolean> {
  for (;;) {
    const before = learnedBefore(read, message)
    if (before === null) return false
    if (await unlessMissed(commit(unlearning(before)))) return true
  }
}
