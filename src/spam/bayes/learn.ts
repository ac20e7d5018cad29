/**
 * Learns one message as spam or ham. A message counts once, however often it is learned, and the last verdict
 * counts.
 *
 * An earlier, opposite verdict is unlearned in the same commit. If other commits come in between, the commit
 * misses and is tried again on the new state.
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
  /** Default: those of `expiry.ts`. */
  readonly limits?: BayesLimits
}

interface LearnRequest extends MessageRef {
  readonly verdict: BayesVerdict
  /** Its `receivedAt` decides whether it counts as recent mail. */
  readonly message: SpamMessage
  readonly at: number
}

/** Made from the bytes as stored, so a message has one fingerprint whether it comes from the database or from a file. */
export function messageFingerprintOf(raw: Uint8Array): string {
  return createHash('sha256').update(raw).digest('hex')
}

/** Resolves to false if the message was already learned with this verdict. */
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
