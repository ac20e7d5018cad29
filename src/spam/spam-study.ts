/**
 * What the content of a message says, as far as it can be told without the database: made in the
 * process that takes the message apart (`messages/mime/mime-parts`), so that no rule and no word list
 * ever holds up the daemon, whatever a stranger has written.
 */
import type { MimeParts } from '../messages/mime/mime-parts-protocol.js'
import { bayesTokens } from './bayes/tokens.js'
import { type SpamCircumstances, spamMessage } from './spam-input.js'
import type { SpamMessage } from './spam-message.js'
import { type SpamContribution, spamReport } from './spam-report.js'

export interface SpamStudy {
  /** Of the rules that hold. */
  readonly rules: readonly SpamContribution[]
  /** What the classifier looks up. */
  readonly tokens: readonly string[]
}

/** A `Study` of messages/mime/mime-parts-protocol: `facts` are `SpamCircumstances`. */
export function study(raw: Buffer, parts: MimeParts, facts: unknown): SpamStudy {
  return studyOf(spamMessage(raw, parts, facts as SpamCircumstances))
}

export function studyOf(message: SpamMessage): SpamStudy {
  return { rules: spamReport(message).contributions, tokens: bayesTokens(message) }
}

/** This module, for the processes. */
export const studyModule = new URL(import.meta.url)
