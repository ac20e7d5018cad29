/**
 * Learning one message as spam or ham: once, however often it is said, and the last word counts.
 *
 * The verdict before, if another one, is unlearned in the same commit. What others commit in
 * between makes the commit miss, and it is tried again on what is there then.
 */
import { createHash } from 'node:crypto'
import type { Store } from '../../storage/database.js'
import type { BayesVerdict } from '../../storage/tables/inbound-tables.js'
import { tryCommit } from '../../storage/writer/write.js'
import type { SpamMessage } from '../spam-message.js'
import { type BayesLimits, expireBayesData } from './expiry.js'
import { buildLearnWrites, buildUnlearnWrites, findLearned, type MessageRef } from './records.js'
import { tokenizeMessage } from './tokens.js'

export interface BayesDeps extends Store {
  /** Absent: the usual ones. */
  readonly limits?: BayesLimits
}

export interface LearnRequest extends MessageRef {
  readonly verdict: BayesVerdict
  /** Counts as recent mail by the moment that it came. */
  readonly message: SpamMessage
  readonly at: number
}

/** Of the bytes as they are filed: the same message is the same whether it comes from there or from a file. */
export function messageFingerprintOf(raw: Uint8Array): string {
  return createHash('sha256').update(raw).digest('hex')
}

/** Resolves to whether anything changed: false when it was learned so before. */
export async function learnMessage({ read, commit, limits }: BayesDeps, lesson: LearnRequest): Promise<boolean> {
  const { message, ...rest } = lesson
  const writes = buildLearnWrites({ ...rest, tokens: tokenizeMessage(message), dated: message.receivedAt })
  for (;;) {
    const before = findLearned(read, lesson)
    if (before?.verdict === lesson.verdict) return false
    const made = commit([
      ...(before === null ? [] : buildUnlearnWrites(before)),
      ...expireBayesData(read, lesson.workspaceId, limits),
      ...writes,
    ])
    if (await tryCommit(made)) return true
  }
}

/** Takes back what was learned of a message; resolves to whether there was anything. */
export async function unlearnMessage({ read, commit }: BayesDeps, message: MessageRef): Promise<boolean> {
  for (;;) {
    const before = findLearned(read, message)
    if (before === null) return false
    if (await tryCommit(commit(buildUnlearnWrites(before)))) return true
  }
}
