/**
 * What the content of a message says, as far as it can be told without the database: made in the
 * process that takes the message apart (`messages/mime/mime-parts`), so that no rule and no word list
 * ever holds up the daemon, whatever a stranger has written.
 */
import type { MimeParts } from '../messages/mime/mime-parts-protocol.js'
import type { SpamContribution } from '../storage/tables/inbound-tables.js'
import { tokenizeMessage } from './bayes/tokens.js'
import { buildSpamMessage, type SpamContext } from './spam-input.js'
import type { SpamMessage } from './spam-message.js'
import { scoreByRules } from './spam-report.js'

export interface ContentAnalysis {
  /** Of the rules that hold. */
  readonly rules: readonly SpamContribution[]
  /** What the classifier looks up. */
  readonly tokens: readonly string[]
}

/** A `Study` of messages/mime/mime-parts-protocol: `facts` are `SpamCircumstances`. */
export function analyzeContent(raw: Buffer, parts: MimeParts, facts: unknown): ContentAnalysis {
  return analyzeMessage(buildSpamMessage(raw, parts, facts as SpamContext))
}

export function analyzeMessage(message: SpamMessage): ContentAnalysis {
  return { rules: scoreByRules(message).contributions, tokens: tokenizeMessage(message) }
}

/** This module, for the processes. */
export const analysisModule = new URL(import.meta.url)
